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
    PerfMap map(limits);
    map.append(text);
    return map;
}

std::size_t PerfMap::append(std::string_view text) {
    // What follows the last newline may still be growing.
    const auto whole = text.rfind('\n') + 1;
    std::string_view lines = text.substr(0, whole);
    if (in_long_line_ && whole > 0) {
        (void)next_piece(lines, '\n');
        in_long_line_ = false;
    }
    while (!lines.empty()) add(next_piece(lines, '\n'));
    if (text.size() - whole <= limits_.line_length) return whole;
    if (!in_long_line_) ++malformed_;
    in_long_line_ = true;
    return text.size();
}

void PerfMap::add(std::string_view line) {
    if (trim(line).empty()) return;
    const auto start = hex(next_piece(line, ' '));
    const auto size = hex(next_piece(line, ' '));
    if (!start || !size || line.empty() || *size == 0 || *start + *size < *start) {
        ++malformed_;
        return;
    }
    const auto name = escape(line.substr(0, limits_.name_length));
    if (ranges_.size() >= limits_.functions || names_.bytes() + name.size() > limits_.name_bytes) {
        cut_ = true;
        return;
    }
    clear(*start, *start + *size);
    ranges_.emplace(
        *start,
        Range{
            .end = *start + *size, .start_of_function = *start, .size_of_function = *size, .name = names_.keep(name)});
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
    return Function{
        .name = range.name, .start = RuntimeAddress{range.start_of_function}, .size = range.size_of_function};
}

std::size_t PerfMap::bytes() const {
    constexpr std::size_t kNode = sizeof(Range) + 48;  // with the tree's own links
    return ranges_.size() * kNode + names_.bytes();
}

}  // namespace perfvigil::analyzer
