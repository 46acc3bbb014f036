// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_attr.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace perfvigil::collector {
namespace {

constexpr std::size_t kAttrSizeVer0 = 64;  // up to config1; every kernel's attr has at least this

// The kernel declares the flag word as C bitfields: a little-endian ABI fills it from bit 0 upwards, a big-endian one
// from bit 63 downwards. Within a field of several bits the order of its own bits is mirrored too.
std::uint64_t mirror_flags(std::uint64_t word) {
    std::uint64_t mirrored = 0;
    for (unsigned bit = 0; bit < 64; ++bit) mirrored |= ((word >> bit) & 1U) << (63 - bit);
    const std::uint64_t precise = (mirrored >> kFlagPreciseIp) & 3U;
    const std::uint64_t turned = ((precise & 1U) << 1) | (precise >> 1);
    return (mirrored & ~(std::uint64_t{3} << kFlagPreciseIp)) | (turned << kFlagPreciseIp);
}

bool stored_big_endian(Endian endian) {
    return (std::endian::native == std::endian::big) != (endian == Endian::kSwapped);
}

}  // namespace

Result<EventAttr> decode_attr(Bytes bytes, Endian endian) {
    if (bytes.size() < kAttrSizeVer0) {
        return fail(ErrorCode::kTruncated,
                    "an attr of " + std::to_string(bytes.size()) + " bytes, at least 64 expected");
    }
    ByteReader head(bytes, endian);
    EventAttr attr;
    attr.type = head.u32();
    std::uint32_t size = head.u32();
    if (size == 0) size = kAttrSizeVer0;
    if (size < kAttrSizeVer0) {
        return fail(ErrorCode::kInvalid,
                    "an attr that claims " + std::to_string(size) + " bytes, at least 64 expected");
    }

    // Fields beyond the stored size read as zero, which is what the kernel takes them for.
    ByteReader in(bytes.first(std::min<std::size_t>(size, bytes.size())), endian);
    in.skip(8);
    attr.config = in.u64();
    attr.sample_period_or_freq = in.u64();
    attr.sample_type = in.u64();
    attr.read_format = in.u64();
    const std::uint64_t flags = in.u64();
    attr.flags = stored_big_endian(endian) ? mirror_flags(flags) : flags;
    attr.wakeup = in.u32();
    attr.bp_type = in.u32();
    attr.config1 = in.u64();
    attr.config2 = in.u64();
    attr.branch_sample_type = in.u64();
    attr.sample_regs_user = in.u64();
    attr.sample_stack_user = in.u32();
    attr.clockid = in.i32();
    attr.sample_regs_intr = in.u64();
    attr.aux_watermark = in.u32();
    attr.sample_max_stack = in.u16();
    in.skip(2);
    attr.aux_sample_size = in.u32();
    return attr;
}

void encode_attr(const EventAttr& attr, std::vector<std::byte>& out) {
    const std::size_t start = out.size();
    ByteWriter to(out);
    to.u32(attr.type);
    to.u32(kStoredAttrSize);
    to.u64(attr.config);
    to.u64(attr.sample_period_or_freq);
    to.u64(attr.sample_type);
    to.u64(attr.read_format);
    to.u64(stored_big_endian(Endian::kNative) ? mirror_flags(attr.flags) : attr.flags);
    to.u32(attr.wakeup);
    to.u32(attr.bp_type);
    to.u64(attr.config1);
    to.u64(attr.config2);
    to.u64(attr.branch_sample_type);
    to.u64(attr.sample_regs_user);
    to.u32(attr.sample_stack_user);
    to.i32(attr.clockid);
    to.u64(attr.sample_regs_intr);
    to.u32(attr.aux_watermark);
    to.u16(attr.sample_max_stack);
    to.u16(0);
    to.u32(attr.aux_sample_size);
    to.zeros(start + kStoredAttrSize - to.size());
}

}  // namespace perfvigil::collector
