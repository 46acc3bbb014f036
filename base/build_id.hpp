// SPDX-License-Identifier: GPL-2.0-or-later
// The identity of one link result (.note.gnu.build-id): 1..20 bytes kept, empty where unknown.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace perfvigil {

class BuildId {
public:
    static constexpr std::size_t kMaxSize = 20;

    BuildId() = default;
    // The first 20 bytes at most (the kernel records no more).
    explicit BuildId(Bytes bytes);
    [[nodiscard]] static std::optional<BuildId> from_hex(std::string_view hex);

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] Bytes bytes() const { return {bytes_.data(), size_}; }
    [[nodiscard]] std::string hex() const;

    friend auto operator<=>(const BuildId&, const BuildId&) = default;
    friend std::size_t hash_value(const BuildId& id) noexcept;

private:
    std::array<std::byte, kMaxSize> bytes_{};  // zero beyond size_
    std::uint8_t size_ = 0;
};

// The NT_GNU_BUILD_ID note in a block of ELF notes (/sys/kernel/notes, PT_NOTE); empty where there is none.
[[nodiscard]] BuildId build_id_from_notes(Bytes notes, Endian endian = Endian::kNative);

}  // namespace perfvigil
