// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/capture_foreign.hpp"

#include <algorithm>
#include <bit>

#include "collector/capture_header.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;

constexpr std::uint64_t kMagic2 = 0x32454c4946524550;
constexpr std::uint64_t kMagic1 = 0x454c494646524550;
constexpr std::size_t kHeaderSize = 104;

std::uint64_t mirror_bytes(std::uint64_t flags) {
    std::uint64_t out = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
        if ((flags >> bit & 1U) != 0) out |= std::uint64_t{1} << (bit / 8 * 8 + 7 - bit % 8);
    }
    return out;
}

}  // namespace

std::vector<std::byte> ForeignCapture::u64s(std::initializer_list<std::uint64_t> numbers) const {
    std::vector<std::byte> out;
    for (const auto n : numbers) ByteWriter(out).u64(endian_ == Endian::kNative ? n : byte_swap(n));
    return out;
}

std::vector<std::byte> ForeignCapture::u32s(std::initializer_list<std::uint32_t> numbers) const {
    std::vector<std::byte> out;
    for (const auto n : numbers) ByteWriter(out).u32(endian_ == Endian::kNative ? n : byte_swap(n));
    return out;
}

std::vector<std::byte> ForeignCapture::text(std::string_view text, std::size_t size) const {
    std::vector<std::byte> out;
    ByteWriter(out).text(text);
    out.resize(size);
    return out;
}

void ForeignCapture::add_user_record(std::uint32_t type, const std::vector<std::byte>& payload) {
    const auto size = static_cast<std::uint16_t>(8 + payload.size());
    append(data, u32s({type}));
    ByteWriter to(data);
    to.u16(0);
    to.u16(endian_ == Endian::kNative ? size : byte_swap(size));
    to.bytes(payload);
}

std::vector<std::byte> ForeignCapture::attr_bytes(const EventAttr& attr, std::uint64_t size) const {
    std::vector<std::byte> native;
    encode_attr(attr, native);
    ByteWriter(native).patch(4, static_cast<std::uint32_t>(size));
    if (endian_ == Endian::kSwapped) {
        // The layout of the attr: which fields have four or two bytes (uapi/linux/perf_event.h).
        const auto swap_at = [&](std::size_t at, std::size_t width) {
            std::reverse(native.begin() + static_cast<std::ptrdiff_t>(at),
                         native.begin() + static_cast<std::ptrdiff_t>(at + width));
        };
        ByteReader in(Bytes(native).subspan(40));
        ByteWriter(native).patch(40, mirror_bytes(in.u64()));
        for (const std::size_t at : {0U, 4U, 48U, 52U, 88U, 92U, 104U, 112U}) {
            if (at < native.size()) swap_at(at, 4);
        }
        for (const std::size_t at : {8U, 16U, 24U, 32U, 40U, 56U, 64U, 72U, 80U, 96U}) swap_at(at, 8);
        swap_at(108, 2);
    }
    native.resize(size);
    return native;
}

void ForeignCapture::add_names() {
    std::vector<std::byte> out = u32s({static_cast<std::uint32_t>(events_.size()), 112});
    for (const Event& event : events_) {
        append(out, attr_bytes(event.attr, 112));
        append(out, u32s({static_cast<std::uint32_t>(event.ids.size()), 64}));
        append(out, text(event.name, 64));
        for (const auto id : event.ids) append(out, u64s({id}));
    }
    add_feature(kFeatureEventDescription, out);
}

std::vector<std::byte> ForeignCapture::file(std::uint64_t attr_size) const {
    const std::uint64_t entry = attr_size + 16;
    std::uint64_t ids_at = kHeaderSize;
    std::vector<std::byte> ids;
    std::vector<std::byte> attrs;
    for (const Event& event : events_) {
        append(attrs, attr_bytes(event.attr, attr_size));
        append(attrs, u64s({ids_at + ids.size(), event.ids.size() * 8}));
        for (const auto id : event.ids) append(ids, u64s({id}));
    }
    const std::uint64_t attrs_at = ids_at + ids.size();
    const std::uint64_t data_at = attrs_at + attrs.size();
    std::vector<std::byte> out =
        u64s({kMagic2, kHeaderSize, entry, attrs_at, attrs.size(), data_at, data.size(), 0, 0});
    std::uint64_t bits[4] = {};
    for (const auto& [bit, content] : features_) bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
    append(out, u64s({bits[0], bits[1], bits[2], bits[3]}));
    append(out, ids);
    append(out, attrs);
    append(out, data);
    std::uint64_t at = out.size() + features_.size() * 16;
    for (const auto& [bit, content] : features_) {
        append(out, u64s({at, content.size()}));
        at += content.size();
    }
    for (const auto& [bit, content] : features_) append(out, content);
    return out;
}

std::vector<std::byte> ForeignCapture::version1_file() const {
    auto out = file(72);
    // One magic in both orders.
    ByteWriter(out).patch(0, kMagic1);
    return out;
}

std::vector<std::byte> ForeignCapture::pipe() const {
    std::vector<std::byte> out = u64s({kMagic2, 16});
    ForeignCapture records(endian_);
    for (const Event& event : events_) {
        auto payload = attr_bytes(event.attr, 112);
        for (const auto id : event.ids) append(payload, u64s({id}));
        records.add_user_record(kRecordHeaderAttr, payload);
    }
    for (const auto& [bit, content] : features_) {
        auto payload = u64s({bit});
        append(payload, content);
        records.add_user_record(kRecordHeaderFeature, payload);
    }
    append(out, records.data);
    append(out, data);
    return out;
}

}  // namespace perfvigil::test
