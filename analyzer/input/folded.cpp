// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/folded.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "analyzer/input/line_faults.hpp"
#include "analyzer/input/profile_import.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kEvent = "samples";
constexpr std::string_view kJit = "[jit]";
constexpr std::string_view kKernel = "[kernel.kallsyms]";

std::optional<std::uint64_t> count_of(std::string_view text) {
    // Some writers print whole numbers with a fraction of zeros.
    const auto dot = text.find('.');
    if (dot != std::string_view::npos) {
        if (text.find_first_not_of('0', dot + 1) != std::string_view::npos) return std::nullopt;
        text = text.substr(0, dot);
    }
    return parse_number<std::uint64_t>(text);
}

// The last number of the line, and what stands before it.
std::optional<std::uint64_t> take_count(std::string_view& line) {
    const auto blank = line.find_last_of(" \t");
    if (blank == std::string_view::npos) return std::nullopt;
    const auto count = count_of(line.substr(blank + 1));
    if (count) line = trim(line.substr(0, blank));
    return count;
}

// "name-1234", "name-1234/1235", "name-?/1235": what collapsing with pids or tids makes of a thread's name.
std::string_view without_ids(std::string_view comm) {
    const auto dash = comm.rfind('-');
    if (dash == std::string_view::npos || dash == 0 || dash + 1 == comm.size()) return comm;
    const auto ids = comm.substr(dash + 1);
    return ids.find_first_not_of("0123456789/?") == std::string_view::npos ? comm.substr(0, dash) : comm;
}

// A name with the mark that tells where it belongs: "_[k]" kernel, "_[j]" JIT, "_[i]" inlined, "_[w]" waker.
struct Marked {
    std::string_view name;
    char mark = 0;
};
Marked without_mark(std::string_view name) {
    constexpr std::size_t kSize = 4;
    if (name.size() <= kSize || name[name.size() - kSize] != '_' || name[name.size() - 3] != '[' ||
        name.back() != ']') {
        return {.name = name};
    }
    const char mark = name[name.size() - 2];
    if (mark != 'k' && mark != 'j' && mark != 'i' && mark != 'w') return {.name = name};
    return {.name = name.substr(0, name.size() - kSize), .mark = mark};
}

class Reader {
public:
    void take(std::string_view line, std::uint64_t number);
    [[nodiscard]] Result<Profile> finish(const TextLines& lines);

private:
    [[nodiscard]] std::uint32_t function_of(std::string_view piece, bool idle_task);
    void put_first_pieces_back(Profile& profile) const;

    ProfileImport profile_;
    LineFaults faults_;
    std::vector<std::uint32_t> functions_;
    std::uint64_t stacks_ = 0;
    std::uint64_t differences_ = 0;  // lines with two counts
    bool first_is_comm_ = false;
    bool marked_ = false;
};

std::uint32_t Reader::function_of(std::string_view piece, bool idle_task) {
    const auto [name, mark] = without_mark(piece);
    if (mark != 0) marked_ = true;
    switch (mark) {
        case 'k':
        case 'w': return profile_.function(name, kKernel, true);
        case 'j': return profile_.function(name, kJit, false);
        default: break;
    }
    // "[libc.so.6]": the binary stands for a function without a name.
    if (name.size() > 2 && name.front() == '[' && name.back() == ']' && name != "[unknown]") {
        return profile_.function("[unknown]", name.substr(1, name.size() - 2), false);
    }
    return idle_task ? profile_.function(name, kKernel, true) : profile_.function(name, {}, false);
}

void Reader::take(std::string_view line, std::uint64_t number) {
    if (is_folded_comment(line)) return;
    const FoldedLine folded = parse_folded_line(line);
    if (folded.stack.empty()) return faults_.add(number, line);
    if (folded.two_counts) ++differences_;
    std::string_view rest = folded.stack;
    const auto comm = next_piece(rest, ';');
    const bool idle_task = is_idle_comm(without_ids(comm));
    first_is_comm_ |=
        idle_task || (without_ids(comm).size() != comm.size() && comm.find('/') != std::string_view::npos);
    functions_.clear();
    while (!rest.empty()) {
        const auto piece = next_piece(rest, ';');
        if (!piece.empty()) functions_.push_back(function_of(piece, idle_task && !marked_));
    }
    std::ranges::reverse(functions_);
    const auto event = profile_.event(kEvent);
    profile_.count({.event = event.value_or(0),
                    .context = profile_.context(without_ids(comm)),
                    .functions = functions_,
                    .idle_task = idle_task,
                    .samples = folded.count,
                    .weight = folded.count,
                    .time = {}});
    ++stacks_;
}

// Without a sign that the first piece is a thread's name it is the outermost function.
void Reader::put_first_pieces_back(Profile& profile) const {
    Profile whole;
    whole.events = profile.events;
    ProfileTables tables;
    const std::uint32_t nobody = tables.context({.comm = {}, .unit = {}, .container = {}});
    for (const auto& function : profile.functions) {
        (void)tables.function(function.name, function.dso, function.kernel, function.reason);
    }
    std::vector<std::uint32_t> roots;
    for (const auto& context : profile.contexts) {
        roots.push_back(tables.function(context.comm, {}, false, UnknownReason::kNone));
    }
    std::vector<std::uint32_t> functions;
    for (const auto& sample : profile.samples) {
        const auto& stack = profile.stacks[sample.stack];
        functions = stack.functions;
        functions.push_back(roots[sample.context]);
        tables.count(sample.event, tables.stack(functions, stack.flags), nobody, sample.idle, sample.samples,
                     sample.weight);
    }
    tables.hand_over(whole);
    profile.functions = std::move(whole.functions);
    profile.stacks = std::move(whole.stacks);
    profile.contexts = std::move(whole.contexts);
    profile.samples = std::move(whole.samples);
    std::erase_if(profile.warnings, [](const std::string& warning) { return warning.ends_with("no function."); });
}

Result<Profile> Reader::finish(const TextLines& lines) {
    if (stacks_ == 0) {
        const auto fault = faults_.first();
        return fail(ErrorCode::kInvalid, fmt::format("no folded stack in {} lines{}", lines.number(),
                                                     fault.empty() ? std::string() : "; the first of them: " + fault));
    }
    if (differences_ * 2 > stacks_) {
        return fail(ErrorCode::kUnsupported,
                    "its lines have two counts each: it is the difference of two profiles; give perfvigil diff the two "
                    "files it was made from");
    }
    if (faults_.count() != 0) profile_.warn(faults_.sentence());
    if (lines.failure()) {
        profile_.warn(fmt::format("Reading ended after line {}: {}.", lines.number(), lines.failure()->message));
    }
    Profile profile = profile_.finish();
    if (!first_is_comm_ && !marked_) put_first_pieces_back(profile);
    return profile;
}

}  // namespace

bool is_folded_comment(std::string_view line) {
    line = trim(line);
    return line.empty() || line.starts_with("# ") || line == "#" || line.starts_with("//");
}

FoldedLine parse_folded_line(std::string_view line) {
    line = trim(line);
    FoldedLine folded;
    const auto count = take_count(line);
    if (!count || line.empty()) return folded;
    folded.count = *count;
    folded.stack = line;
    // One name may end in a number ("RegExp 12"); where most lines do, it is a count.
    const auto separator = line.rfind(';');
    if (separator == std::string_view::npos) return folded;
    const auto last = line.substr(separator + 1);
    const auto blank = last.find_last_of(" \t");
    folded.two_counts = blank != std::string_view::npos && blank != 0 && count_of(last.substr(blank + 1)).has_value();
    return folded;
}

Result<Profile> read_folded(TextLines& lines) {
    Reader reader;
    std::string_view line;
    while (lines.next(line)) reader.take(line, lines.number());
    return reader.finish(lines);
}

}  // namespace perfvigil::analyzer
