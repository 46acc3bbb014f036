// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/script_line.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kRecordPrefix = "PERF_RECORD_";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }
bool all_hex(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_hex); }

std::string_view trim_left(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}
std::string_view trim_right(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// The first word; `text` is moved past it and the blanks behind it.
std::string_view first_word(std::string_view& text) {
    text = trim_left(text);
    std::size_t size = 0;
    while (size < text.size() && !is_blank(text[size])) ++size;
    const auto word = text.substr(0, size);
    text = trim_left(text.substr(size));
    return word;
}

// The last word; `text` keeps what is left of it.
std::string_view last_word(std::string_view& text) {
    text = trim_right(text);
    std::size_t start = text.size();
    while (start > 0 && !is_blank(text[start - 1])) --start;
    const auto word = text.substr(start);
    text = trim_right(text.substr(0, start));
    return word;
}

std::optional<std::int32_t> parse_id(std::string_view text) { return parse_number<std::int32_t>(text); }

bool take_cpu(std::string_view word, ScriptHeader& header) {
    if (word.size() < 3 || word.front() != '[' || word.back() != ']') return false;
    const auto cpu = parse_number<std::uint32_t>(word.substr(1, word.size() - 2));
    if (!cpu) return false;
    header.cpu = CpuId{*cpu};
    return true;
}

bool take_tid(std::string_view word, ScriptHeader& header) {
    const auto slash = word.find('/');
    const auto tid = parse_id(slash == std::string_view::npos ? word : word.substr(slash + 1));
    if (!tid) return false;
    if (slash != std::string_view::npos) {
        const auto pid = parse_id(word.substr(0, slash));
        if (!pid) return false;
        header.pid = Pid{*pid};
    }
    header.tid = Tid{*tid};
    return true;
}

// Columns of letters between CPU and time: the sample's mode (-F misc), a tracepoint's latency flags (d..2.).
bool is_flags(std::string_view word) {
    return word.size() <= 6 &&
           std::ranges::all_of(word,
                               [](char c) {
                                   return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '#' ||
                                          c == '-' || is_digit(c);
                               }) &&
           !all_digits(word);
}

// "COMM PID/TID [CPU] FLAGS", what stands left of the time.
bool take_who(std::string_view who, ScriptHeader& header) {
    auto word = last_word(who);
    if (is_flags(word) && !word.empty()) {
        auto before = who;
        const auto next = last_word(before);
        ScriptHeader probe;
        if (take_cpu(next, probe) || take_tid(next, probe)) word = last_word(who);
    }
    if (take_cpu(word, header)) word = last_word(who);
    if (!take_tid(word, header)) return false;
    header.comm = trim_left(who);
    return true;
}

std::optional<Nanoseconds> parse_time(std::string_view seconds, std::string_view fraction) {
    constexpr std::size_t kDigits = 9;
    const auto whole = parse_number<std::int64_t>(seconds);
    if (!whole || *whole > std::numeric_limits<std::int64_t>::max() / 4'000'000'000 || fraction.size() > kDigits) {
        return std::nullopt;
    }
    std::int64_t ns = 0;
    for (std::size_t i = 0; i < kDigits; ++i) ns = ns * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
    return Nanoseconds(*whole * 1'000'000'000 + ns);
}

// "PERIOD EVENT: REST", what stands right of the time.
bool take_event(std::string_view tail, ScriptHeader& header) {
    const auto whole = trim_left(tail);
    std::string_view rest = whole;
    auto word = first_word(rest);
    if (word.empty()) return true;
    if (all_digits(word)) {
        const auto period = parse_number<std::uint64_t>(word);
        auto after = rest;
        const auto next = first_word(after);
        const bool names_event = next.size() > 1 && next.back() == ':';
        if (next.empty() || names_event || looks_like_frame(rest)) {
            if (!period) return false;
            header.period = period;
            if (!names_event) {
                header.rest = rest;
                return true;
            }
            word = next;
            rest = after;
        }
    }
    if (word.size() > 1 && word.back() == ':') {
        header.event = word.substr(0, word.size() - 1);
        header.rest = rest;
        return true;
    }
    if (word.starts_with(kRecordPrefix)) {
        header.event = word;
        header.rest = rest;
        return true;
    }
    header.rest = whole;
    return looks_like_frame(whole);
}

// `colon` ends "SECONDS.FRACTION:"; what is left of it goes to `who`.
std::optional<Nanoseconds> time_before(std::string_view line, std::size_t colon, std::string_view& who) {
    std::size_t dot = colon;
    while (dot > 0 && is_digit(line[dot - 1])) --dot;
    if (dot == colon || dot == 0 || line[dot - 1] != '.') return std::nullopt;
    --dot;
    std::size_t start = dot;
    while (start > 0 && is_digit(line[start - 1])) --start;
    if (start == dot || (start > 0 && !is_blank(line[start - 1]))) return std::nullopt;
    who = line.substr(0, start);
    return parse_time(line.substr(start, dot - start), line.substr(dot + 1, colon - dot - 1));
}

std::optional<ScriptHeader> header_with_time(std::string_view line) {
    std::optional<ScriptHeader> longer;
    for (auto colon = line.rfind(':'); colon != std::string_view::npos && colon > 0;
         colon = line.rfind(':', colon - 1)) {
        if (!is_digit(line[colon - 1]) || (colon + 1 < line.size() && !is_blank(line[colon + 1]))) continue;
        std::string_view who;
        const auto time = time_before(line, colon, who);
        if (!time) continue;
        ScriptHeader header;
        header.time = time;
        // -F without comm, pid and tid.
        if (!trim_left(who).empty() && !take_who(who, header)) continue;
        if (!take_event(line.substr(colon + 1), header)) continue;
        if (header.comm.size() <= kMostCommBytes) return header;
        longer = header;
    }
    return longer;
}

// A name with two colons inside is a tracepoint's, whose text is free.
bool is_tracepoint(std::string_view event) {
    const auto colon = event.find(':');
    return colon != std::string_view::npos &&
           event.find_first_not_of("ukhGHIDSWpPeb", colon + 1) != std::string_view::npos;
}

// The last number before an event is its period where a tid or a CPU stands before it; else it is the tid.
void take_period(std::string_view& before, ScriptHeader& header) {
    auto left = before;
    const auto number = last_word(left);
    auto further = left;
    const auto next = last_word(further);
    ScriptHeader probe;
    if (!all_digits(number) || (!take_cpu(next, probe) && !take_tid(next, probe))) return;
    header.period = parse_number<std::uint64_t>(number);
    before = left;
}

std::optional<ScriptHeader> header_without_time(std::string_view line) {
    std::string_view rest = line;
    while (!rest.empty()) {
        const auto word = first_word(rest);
        if (word.size() < 2 || word.back() != ':') continue;
        ScriptHeader header;
        header.event = word.substr(0, word.size() - 1);
        header.rest = rest;
        if (!rest.empty() && !is_tracepoint(header.event) && !looks_like_frame(rest)) continue;
        auto before = line.substr(0, static_cast<std::size_t>(word.data() - line.data()));
        take_period(before, header);
        if (take_who(before, header) && header.comm.size() <= kMostCommBytes) return header;
    }
    return std::nullopt;
}

// Where the group in parentheses that ends the text begins; npos where none does.
std::size_t last_group(std::string_view text) {
    if (text.empty() || text.back() != ')') return std::string_view::npos;
    std::size_t depth = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
        if (text[i] == ')') ++depth;
        if (text[i] != '(' || --depth != 0) continue;
        return i > 0 && is_blank(text[i - 1]) ? i : std::string_view::npos;
    }
    const auto open = text.rfind(" (");
    return open == std::string_view::npos ? open : open + 1;
}

// "name+0x1f" without its offset, which may be any number.
std::string_view without_offset(std::string_view text) {
    std::size_t start = text.size();
    while (start > 0 && is_hex(text[start - 1])) --start;
    if (start == text.size() || start < 3 || text.substr(start - 3, 3) != "+0x") return text;
    return text.substr(0, start - 3);
}

}  // namespace

std::optional<ScriptHeader> parse_script_header(std::string_view line) {
    if (auto header = header_with_time(line)) return header;
    return header_without_time(line);
}

ScriptHeader parse_bare_script_header(std::string_view line) {
    ScriptHeader header;
    auto left = line;
    const auto last = last_word(left);
    if (last.size() > 1 && last.back() == ':') {
        header.event = last.substr(0, last.size() - 1);
        line = left;
        take_period(line, header);
    }
    if (!take_who(line, header)) header.comm = trim_left(trim_right(line));
    return header;
}

bool is_record_line(const ScriptHeader& header) { return header.event.starts_with(kRecordPrefix); }

ScriptFrame parse_script_symbol(std::string_view text) {
    text = trim_right(text);
    ScriptFrame frame;
    const auto group = last_group(text);
    if (group != std::string_view::npos && group > 0) {
        frame.dso = without_offset(text.substr(group + 1, text.size() - group - 2));
        text = text.substr(0, group);
    }
    frame.inlined = frame.dso == "inlined";
    if (frame.inlined) frame.dso = {};
    frame.symbol = trim_left(without_offset(trim_right(text)));
    return frame;
}

std::string_view after_frame_address(std::string_view line) {
    std::size_t at = 0;
    while (at < line.size() && is_blank(line[at])) ++at;
    const std::size_t start = at;
    while (at < line.size() && is_hex(line[at])) ++at;
    if (at == start || start == 0 || at == line.size() || !is_blank(line[at])) return {};
    return line.substr(at + 1);
}

bool looks_like_frame(std::string_view text) {
    const auto address = first_word(text);
    if (!all_hex(address) || text.empty()) return false;
    const auto symbol = trim_right(text);
    return symbol.back() == ')' ? last_group(symbol) != std::string_view::npos
                                : address.size() > 2 && without_offset(symbol).size() != symbol.size();
}

}  // namespace perfvigil::analyzer
