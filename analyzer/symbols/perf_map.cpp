// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/perf_map.hpp"

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// perf's parser is strtoull with base 16: "0x" is allowed.
std::optional<std::uint64_t> hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    return parse_number<std::uint64_t>(text, 16);
}

}  // namespace

PerfMap PerfMap::parse(std::string_view text, const PerfMapLimits& limits) {
    PerfMap map;
    // What follows the last newline may still be growing.
    text = text.substr(0, text.rfind('\n') + 1);
    while (!text.empty()) map.add(next_piece(text, '\n'), limits);
    map.names_.shrink_to_fit();
    return map;
}

void PerfMap::add(std::string_view line, const PerfMapLimits& limits) {
    if (trim(line).empty()) return;
    const auto start = hex(next_piece(line, ' '));
    const auto size = hex(next_piece(line, ' '));
    if (!start || !size || line.empty() || *size == 0 || *start + *size < *start) {
        ++malformed_;
        return;
    }
    const auto name = escape(line.substr(0, limits.name_length));
    if (ranges_.size() >= limits.functions || names_.size() + name.size() > limits.name_bytes) {
        cut_ = true;
        return;
    }
    clear(*start, *start + *size);
    Range range;
    range.end = *start + *size;
    range.start_of_function = *start;
    range.size_of_function = *size;
    range.name = static_cast<std::uint32_t>(names_.size());
    range.name_size = static_cast<std::uint32_t>(name.size());
    names_ += name;
    ranges_.emplace(*start, range);
}

// Takes [start, end) away from whatever holds it.
void PerfMap::clear(std::uint64_t start, std::uint64_t end) {
    auto at = ranges_.lower_bound(start);
    if (at != ranges_.begin()) {
        const auto before = std::prev(at);
        const Range range = before->second;
        if (range.end > start) {
            before->second.end = start;
            if (range.end > end) at = ranges_.emplace(end, range).first;
        }
    }
    while (at != ranges_.end() && at->first < end) {
        const Range range = at->second;
        at = ranges_.erase(at);
        if (range.end > end) at = ranges_.emplace(end, range).first;
    }
}

std::optional<PerfMap::Function> PerfMap::find(RuntimeAddress address) const {
    const auto after = ranges_.upper_bound(address.value);
    if (after == ranges_.begin()) return std::nullopt;
    const Range& range = std::prev(after)->second;
    if (address.value >= range.end) return std::nullopt;
    return Function{.name = std::string_view(names_).substr(range.name, range.name_size),
                    .start = RuntimeAddress{range.start_of_function},
                    .size = range.size_of_function};
}

std::size_t PerfMap::bytes() const {
    constexpr std::size_t kNode = sizeof(Range) + 48;  // with the tree's own links
    return ranges_.size() * kNode + names_.capacity();
}

}  // namespace perfvigil::analyzer
