// SPDX-License-Identifier: GPL-2.0-or-later
// Steps through the records of a stretch of memory or of a stream, by their size alone.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

class RecordInput {
public:
    struct Next {
        RecordHeader header;
        Bytes bytes;               // whole; more than header.size where simpleperf keeps a longer size elsewhere
        std::uint64_t offset = 0;  // in the file or stream
    };
    struct Stop {
        enum class Reason : std::uint8_t {
            kEnd,        // behind the last whole record
            kTruncated,  // within a record, or within what was skipped
            kDamaged,    // a size that no record has
            kIo,
        };
        Reason reason = Reason::kEnd;
        std::uint64_t offset = 0;
        std::string cause;  // a sentence's second half; empty for kEnd
    };

    // Of memory that stays as it is. `offset`: where it begins in the file.
    RecordInput(Bytes region, std::uint64_t offset, Endian endian);
    // Of a stream (blocking reads), `read` of which was taken already. Records live until the next call of next().
    RecordInput(UniqueFd stream, std::vector<std::byte> read, std::uint64_t offset, Endian endian);

    [[nodiscard]] std::expected<Next, Stop> next();
    // Passes over bytes that follow the last record without being one.
    void skip(std::uint64_t bytes) { skip_ += bytes; }
    // What lies in memory before the end (all of it for memory, the read part of a stream).
    [[nodiscard]] Bytes rest() const { return window_; }
    [[nodiscard]] bool stable() const { return !stream_; }

private:
    // Makes the window hold `size` bytes if the stream has them.
    bool want(std::size_t size);
    void advance(std::size_t size) {
        window_ = window_.subspan(size);
        offset_ += size;
    }
    [[nodiscard]] bool pass_skipped();
    [[nodiscard]] std::unexpected<Stop> stop(Stop::Reason reason, std::string cause) const;
    [[nodiscard]] std::size_t size_of(const RecordHeader& header);

    Bytes window_;  // unread
    std::uint64_t offset_;
    Endian endian_;
    std::uint64_t skip_ = 0;
    UniqueFd stream_;
    std::vector<std::byte> buffer_;
    int read_error_ = 0;
};

}  // namespace perfvigil::collector
