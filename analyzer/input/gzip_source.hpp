// SPDX-License-Identifier: GPL-2.0-or-later
// What a gzip file holds (RFC 1952), as it is read: several members follow one another as `cat` joins them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analyzer/input/byte_source.hpp"

struct z_stream_s;

namespace perfvigil::analyzer {

[[nodiscard]] bool is_gzip(Bytes start);

class GzipSource final : public ByteSource {
public:
    explicit GzipSource(std::unique_ptr<ByteSource> inner);
    ~GzipSource() override;
    // Damage, and a file that ends early, are errors after everything before them has been read.
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;

private:
    [[nodiscard]] Result<bool> refill();

    std::unique_ptr<ByteSource> inner_;
    std::unique_ptr<z_stream_s> stream_;  // null: no memory for it
    std::vector<std::byte> packed_;
    std::optional<Error> failure_;  // said once everything before it has been read
    bool in_member_ = true;
    bool ended_ = false;
};

}  // namespace perfvigil::analyzer
