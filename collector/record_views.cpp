// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of record.hpp that need no decoder: layouts and what is read through views.
#include <bit>

#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

std::size_t words_of(std::uint64_t bits) { return static_cast<std::size_t>(std::popcount(bits)); }

}  // namespace

RecordLayout RecordLayout::of(const EventAttr& attr, Endian endian) {
    return {.sample_type = attr.sample_type,
            .read_format = attr.read_format,
            .branch_sample_type = attr.branch_sample_type,
            .regs_user = attr.sample_regs_user,
            .regs_intr = attr.sample_regs_intr,
            .sample_id_all = attr.flag(kFlagSampleIdAll),
            .endian = endian};
}

std::size_t ReadView::size() const {
    if (!group) return members.empty() ? 0 : 1;
    return members.size() / member_size(read_format);
}

CounterValue ReadView::operator[](std::size_t i) const {
    ByteReader in(members, endian);
    CounterValue out;
    if (group) in.skip(i * member_size(read_format));
    out.value = in.u64();
    if (!group) in.skip(8 * words_of(read_format & (kReadTotalTimeEnabled | kReadTotalTimeRunning)));
    if ((read_format & kReadId) != 0) out.id = EventId{in.u64()};
    if ((read_format & kReadLost) != 0) out.lost = in.u64();
    return out;
}

std::size_t ReadView::member_size(std::uint64_t read_format) {
    return 8 * (1 + words_of(read_format & (kReadId | kReadLost)));
}

std::optional<std::uint64_t> RegistersView::operator[](unsigned number) const {
    if (abi == 0 || number >= 64 || ((mask >> number) & 1U) == 0) return std::nullopt;
    ByteReader in(values, endian);
    in.skip(8 * words_of(mask & ((std::uint64_t{1} << number) - 1)));
    const std::uint64_t value = in.u64();
    if (!in.ok()) return std::nullopt;
    return value;
}

const SampleId& sample_id_of(const Record& record) {
    return std::visit([](const auto& r) -> const SampleId& { return r.sample; }, record);
}

}  // namespace perfvigil::collector
