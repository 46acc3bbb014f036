// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/perf_script.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "analyzer/input/line_faults.hpp"
#include "analyzer/input/perf_comments.hpp"
#include "analyzer/input/script_cpus.hpp"
#include "analyzer/input/script_frames.hpp"
#include "analyzer/input/script_line.hpp"
#include "analyzer/selection_remarks.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// What a sample is counted under where its line names no event.
constexpr std::string_view kNoEvent = "samples";

// "cpu-clock:ppp", but neither "cpu-clock:u" nor "task-clock".
bool is_whole_clock(std::string_view event) {
    const auto colon = event.find(':');
    if (event.substr(0, colon) != "cpu-clock") return false;
    return colon == std::string_view::npos || event.find_first_of("uk", colon) == std::string_view::npos;
}

class Reader {
public:
    explicit Reader(const ScriptOptions& options)
        : profile_(options.slice_length), filter_(options.samples, options.span) {}

    void take(std::string_view line, std::uint64_t number) {
        number_ = number;
        if (line.empty()) return end_of_block();
        if (line.front() == '\t') {
            if (open_ && !pending_ && frames_.add_known_line(line)) {
                in_block_ = true;
                return;
            }
            if (const auto text = after_frame_address(line); !text.empty()) {
                take_frame(text);
                return frames_.remember_line(line);
            }
        }
        take_other(line);
    }
    [[nodiscard]] Result<Profile> finish(const TextLines& lines);
    [[nodiscard]] std::optional<SampleSpan> span();

private:
    struct Event {
        std::uint64_t with_period = 0;
        std::uint64_t without_period = 0;
        std::uint64_t last_period = 0;
        bool same_periods = true;
        std::uint64_t left_out_samples = 0;
        std::uint64_t left_out_weight = 0;
    };
    // A line that is nothing by itself: the front of a header that a thread's name breaks in two, or a header that
    // lacks what would show it to be one.
    struct Pending {
        std::string text;
        std::uint64_t number = 0;
        bool may_be_header = false;  // of the frames behind it
    };

    void take_frame(std::string_view text);
    void take_other(std::string_view line);
    void take_indented(std::string_view line);
    void take_header(const ScriptHeader& header);
    void take_record(const ScriptHeader& header);
    void take_unknown(std::string_view line);
    void open_sample(const ScriptHeader& header);
    void end_of_block();
    void count_sample();
    void leave_out();
    [[nodiscard]] bool is_clock(std::uint32_t event);
    void give_up_pending();
    [[nodiscard]] std::uint32_t event_of(std::string_view name);
    [[nodiscard]] std::uint32_t context_of(std::string_view comm, const SampleMarks& marks);
    void describe_events();
    void warn_of_periods();
    void add_cpus(Profile& profile) const;
    void add_selection(Profile& profile) const;

    ProfileImport profile_;
    SampleFilter filter_;
    ScriptCpus cpus_;
    std::optional<std::uint32_t> clock_;  // the event that cpus_ is made of
    ScriptFrames frames_{profile_};
    PerfComments comments_;
    LineFaults faults_;
    std::vector<Event> events_;
    std::uint64_t number_ = 0;
    std::uint64_t samples_ = 0;
    std::uint64_t lost_ = 0;
    std::string last_event_name_;
    std::uint32_t last_event_ = 0;
    ProfileContext last_context_;
    std::optional<std::uint32_t> last_context_number_;
    SampleMarks marks_;  // of sample_
    ImportedSample sample_;
    bool open_ = false;       // a header was read whose sample is not counted yet
    bool in_block_ = false;   // no blank line since
    bool in_record_ = false;  // a PERF_RECORD line may go on in indented ones
    std::optional<Pending> pending_;
};

void Reader::take_frame(std::string_view text) {
    if (in_record_) return;
    if (pending_ && pending_->may_be_header) {
        const Pending front = *std::exchange(pending_, std::nullopt);
        take_header(parse_bare_script_header(front.text));
    }
    give_up_pending();
    // A blank line between a header and its first frame does not part them.
    if (!open_) return faults_.add(number_, text);
    in_block_ = true;
    frames_.add(text);
}

void Reader::take_other(std::string_view line) {
    if (trim(line).empty()) return end_of_block();
    if (auto header = parse_script_header(line)) {
        std::string joined;
        if (pending_) {
            if (pending_->text.size() + 1 + header->comm.size() <= kMostCommBytes) {
                joined = fmt::format("{}\n{}", std::exchange(pending_, std::nullopt)->text, header->comm);
                header->comm = joined;
            }
            give_up_pending();
        }
        return is_record_line(*header) ? take_record(*header) : take_header(*header);
    }
    if (line.front() == '#') return comments_.take(line);
    if (line.front() == ' ' || line.front() == '\t') return take_indented(line);
    take_unknown(line);
}

void Reader::take_indented(std::string_view line) {
    if (in_record_) return;
    const auto text = trim(line);
    if (const auto symbol = after_frame_address(line); !symbol.empty()) return take_frame(symbol);
    // -F without sym and dso.
    if (open_ && text.find_first_not_of("0123456789abcdef") == std::string_view::npos) return take_frame("[unknown]");
    if (open_ && in_block_ && !frames_.empty()) {
        // -F +srcline: "file.c:12" behind its frame; branch stacks: "0x1/0x2/P/-/-/0".
        const auto colon = text.rfind(':');
        if (colon != std::string_view::npos && parse_number<std::uint32_t>(text.substr(colon + 1))) return;
        if (text.starts_with("0x") && text.find('/') != std::string_view::npos) return;
    }
    // Other tools' texts have a word where the address is; a symbol and its DSO still make a frame.
    const auto blank = text.find(' ');
    if (open_ && blank != std::string_view::npos) {
        const auto symbol = text.substr(blank + 1);
        if (const auto frame = parse_script_symbol(symbol); !frame.dso.empty() && !frame.symbol.empty()) {
            return take_frame(symbol);
        }
    }
    faults_.add(number_, line);
}

void Reader::take_unknown(std::string_view line) {
    give_up_pending();
    in_record_ = false;
    if (in_block_ && line.size() > kMostCommBytes) return faults_.add(number_, line);
    constexpr std::size_t kMostBytes = 4096;
    pending_ = {.text = std::string(line.substr(0, kMostBytes)), .number = number_, .may_be_header = !in_block_};
}

void Reader::give_up_pending() {
    if (const auto given_up = std::exchange(pending_, std::nullopt)) faults_.add(given_up->number, given_up->text);
}

void Reader::take_record(const ScriptHeader& header) {
    count_sample();
    in_record_ = true;
    if (!header.event.starts_with("PERF_RECORD_LOST")) return;
    std::string_view rest = trim(header.rest);
    if (next_piece(rest, ' ') != "lost") return;
    const auto lost = parse_number<std::uint64_t>(trim(rest)).value_or(0);
    lost_ += lost;
    if (header.cpu) cpus_.lose(*header.cpu, lost);
}

void Reader::take_header(const ScriptHeader& header) {
    count_sample();
    in_record_ = false;
    open_sample(header);
    if (!looks_like_frame(header.rest)) return;
    const std::string line = "\t" + std::string(header.rest);
    if (const auto text = after_frame_address(line); !text.empty()) frames_.add(text);
}

void Reader::open_sample(const ScriptHeader& header) {
    const std::uint32_t number = event_of(header.event.empty() ? kNoEvent : header.event);
    Event& event = events_[number];
    if (header.period) {
        event.same_periods &= event.with_period == 0 || event.last_period == *header.period;
        event.last_period = *header.period;
        ++event.with_period;
    } else {
        ++event.without_period;
    }
    marks_ = {.cpu = header.cpu, .pid = header.pid, .tid = header.tid};
    if (header.time) marks_.time = MonotonicTime(*header.time);
    sample_ = {.event = number,
               .context = context_of(header.comm, marks_),
               .idle_task = header.tid.value_or(Tid{0}) == Tid{0} && is_idle_comm(header.comm),
               .samples = 1,
               .weight = header.period.value_or(1),
               .time = header.time};
    open_ = true;
    in_block_ = true;
}

std::uint32_t Reader::event_of(std::string_view name) {
    if (!events_.empty() && name == last_event_name_) return last_event_;
    const auto number = profile_.event(name);
    if (!number) return 0;  // beyond a thousand events: a text that nobody printed
    if (*number >= events_.size()) events_.resize(*number + 1);
    last_event_name_ = name;
    last_event_ = *number;
    return *number;
}

std::uint32_t Reader::context_of(std::string_view comm, const SampleMarks& marks) {
    const SampleSelection& apart = filter_.selection();
    ProfileContext& context = last_context_;
    const bool same = last_context_number_ && comm == context.comm && (!apart.by_pid || marks.pid == context.pid) &&
                      (!apart.by_tid || marks.tid == context.tid) && (!apart.by_cpu || marks.cpu == context.cpu);
    if (same) return *last_context_number_;
    context.comm = comm;
    if (apart.by_pid) context.pid = marks.pid;
    if (apart.by_tid) context.tid = marks.tid;
    if (apart.by_cpu) context.cpu = marks.cpu;
    last_context_number_ = profile_.context(context);
    return *last_context_number_;
}

void Reader::end_of_block() {
    in_record_ = false;
    give_up_pending();
    if (!frames_.empty()) count_sample();
    in_block_ = false;
}

void Reader::count_sample() {
    if (!std::exchange(open_, false)) return;
    ++samples_;
    frames_.end();
    if (filter_.takes(marks_)) {
        sample_.functions = frames_.functions();
        const auto mode = profile_.count(sample_);
        if (is_clock(sample_.event)) cpus_.add(marks_, mode, sample_.idle_task);
    } else {
        leave_out();
    }
    frames_.clear();
}

void Reader::leave_out() {
    Event& event = events_[sample_.event];
    ++event.left_out_samples;
    event.left_out_weight += std::min(sample_.weight, ProfileImport::kMostWeight - event.left_out_weight);
    if (is_clock(sample_.event)) cpus_.leave_out(marks_, sample_.idle_task);
    if (!marks_.time) return;
    const auto& range = filter_.range();
    const bool inside = !filter_.selection().time || (range && *marks_.time >= range->from && *marks_.time < range->to);
    if (inside) profile_.leave_out(sample_.event, *sample_.time);
}

// The first clock that saw user and kernel code.
bool Reader::is_clock(std::uint32_t event) {
    if (!clock_ && is_whole_clock(profile_.event_at(event).name)) clock_ = event;
    return clock_ == event;
}

void Reader::describe_events() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        const Event& facts = events_[i];
        ProfileEvent& event = profile_.event_at(i);
        if (facts.with_period == 0) continue;
        event.unit = unit_of_event(event.name);
        if (event.unit != WeightUnit::kNanoseconds || !facts.same_periods || facts.last_period == 0 ||
            facts.last_period > 1'000'000'000'000) {
            continue;
        }
        event.nominal_period = Nanoseconds(static_cast<std::int64_t>(facts.last_period));
        event.frequency_mode = true;
        event.rate = (1'000'000'000 + facts.last_period / 2) / facts.last_period;
    }
}

void Reader::warn_of_periods() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        const Event& facts = events_[i];
        const std::string& name = profile_.event_at(i).name;
        if (facts.with_period != 0 && facts.without_period != 0) {
            profile_.warn(fmt::format("{} of the {} samples of {} have no period: each of them weighs 1.",
                                      facts.without_period, facts.without_period + facts.with_period, name));
        } else if (facts.with_period == 0) {
            profile_.warn(fmt::format("The samples of {} have no periods: each counts the same.", name));
        }
    }
}

Result<Profile> Reader::finish(const TextLines& lines) {
    give_up_pending();
    count_sample();
    if (samples_ == 0) {
        const auto fault = faults_.first();
        return fail(ErrorCode::kInvalid,
                    fmt::format("no sample of perf script in {} lines{}", lines.number(),
                                fault.empty() ? std::string() : "; the first that could not be read is " + fault));
    }
    if (faults_.count() != 0) profile_.warn(faults_.sentence());
    if (lines.cut_lines() != 0) profile_.warn(fmt::format("{} lines of more than 1 MiB were cut.", lines.cut_lines()));
    if (lines.failure()) {
        profile_.warn(fmt::format("Reading ended after line {}: {}.", lines.number(), lines.failure()->message));
    }
    describe_events();
    warn_of_periods();
    Profile profile = profile_.finish();
    comments_.add_to(profile);
    add_cpus(profile);
    add_selection(profile);
    for (const auto& [module, count] : frames_.module_inlines()) {
        profile.host.settings.emplace_back("module_inlines." + module, std::to_string(count));
    }
    if (lost_ != 0) {
        ProfileEvent& event = profile.events.front();
        event.lost += lost_;
        event.lost_is_shared = true;
    }
    return profile;
}

void Reader::add_cpus(Profile& profile) const {
    if (!clock_ || !keeps_cpus(filter_.selection())) return;
    const ProfileEvent& clock = profile.events[*clock_];
    if (cpus_.more_than_due(clock.nominal_period)) {
        profile.warnings.push_back(
            fmt::format("The text holds more samples of {} than its period allows for: two events of one name are "
                        "counted together, "
                        "and how busy the CPUs were is not known.",
                        clock.name));
    }
    profile.cpus = cpus_.build(clock.nominal_period);
}

void Reader::add_selection(Profile& profile) const {
    const SampleSelection& selection = filter_.selection();
    profile.filter = selection.text();
    add_selection_remarks(profile, filter_, SampleFilter::Source::kScript);
    if (!selection.selects()) return;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        ProfileEvent& event = profile.events[i];
        event.whole_samples = event.samples + events_[i].left_out_samples;
        event.whole_weight = event.weight + events_[i].left_out_weight;
    }
}

std::optional<SampleSpan> Reader::span() {
    give_up_pending();
    count_sample();
    if (!profile_.has_times()) return std::nullopt;
    return SampleSpan{MonotonicTime(profile_.first_time()), MonotonicTime(profile_.last_time())};
}

}  // namespace

std::optional<SampleSpan> script_span(TextLines& lines) {
    Reader reader{ScriptOptions{}};
    std::string_view line;
    while (lines.next(line)) reader.take(line, lines.number());
    return reader.span();
}

Result<Profile> read_perf_script(TextLines& lines, const ScriptOptions& options) {
    Reader reader(options);
    std::string_view line;
    while (lines.next(line)) reader.take(line, lines.number());
    if (lines.number() == 0)
        return fail(ErrorCode::kInvalid, lines.failure() ? lines.failure()->message : "it is empty");
    return reader.finish(lines);
}

}  // namespace perfvigil::analyzer
