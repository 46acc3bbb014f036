// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/build_id.hpp"

#include "base/text.hpp"

namespace perfvigil {

BuildId::BuildId(Bytes bytes) {
    size_ = static_cast<std::uint8_t>(std::min(bytes.size(), kMaxSize));
    std::copy_n(bytes.begin(), size_, bytes_.begin());
}

std::optional<BuildId> BuildId::from_hex(std::string_view hex) {
    if (hex.empty() || hex.size() % 2 != 0 || hex.size() > 2 * kMaxSize) return std::nullopt;
    std::array<std::byte, kMaxSize> bytes{};
    for (std::size_t i = 0; i < hex.size() / 2; ++i) {
        const auto value = parse_number<std::uint8_t>(hex.substr(2 * i, 2), 16);
        if (!value) return std::nullopt;
        bytes[i] = std::byte{*value};
    }
    return BuildId(Bytes(bytes).first(hex.size() / 2));
}

std::string BuildId::hex() const { return to_hex(bytes()); }

std::size_t hash_value(const BuildId& id) noexcept {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(id.bytes_.data()), id.size_});
}

BuildId build_id_from_notes(Bytes notes, Endian endian) {
    constexpr std::uint32_t kNtGnuBuildId = 3;
    const auto align4 = [](std::uint32_t n) { return (std::uint64_t{n} + 3) & ~std::uint64_t{3}; };
    ByteReader reader(notes, endian);
    while (reader.remaining() >= 12) {
        const auto name_size = reader.u32();
        const auto desc_size = reader.u32();
        const auto type = reader.u32();
        const auto name = reader.take(align4(name_size));
        // The last note may lack its padding.
        const auto desc = reader.take(std::min<std::uint64_t>(align4(desc_size), reader.remaining()));
        if (!reader.ok() || desc.size() < desc_size) return {};
        const bool gnu = name_size == 4 && std::memcmp(name.data(), "GNU", 4) == 0;
        if (gnu && type == kNtGnuBuildId) return BuildId(desc.first(desc_size));
    }
    return {};
}

}  // namespace perfvigil
