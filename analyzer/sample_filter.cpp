// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/sample_filter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace perfvigil::analyzer {
namespace {

template <class Id>
bool among(const std::vector<Id>& ids, Id id) {
    return std::ranges::binary_search(ids, id);
}

Nanoseconds nanoseconds(double seconds) { return Nanoseconds(static_cast<std::int64_t>(seconds * 1e9 + 0.5)); }

}  // namespace

SampleFilter::SampleFilter(SampleSelection selection, std::optional<SampleSpan> span)
    : selection_(std::move(selection)) {
    std::ranges::sort(selection_.cpus);
    std::ranges::sort(selection_.pids);
    std::ranges::sort(selection_.tids);
    if (selection_.time && span) resolve(*span);
}

void SampleFilter::resolve(SampleSpan span) {
    const TimeRange& asked = *selection_.time;
    const double seconds = to_seconds(span.last - span.first);
    const bool percent = asked.unit == TimeRange::Unit::kPercent;
    const auto after = [&](double bound) { return span.first + nanoseconds(percent ? bound / 100 * seconds : bound); };
    range_.emplace();
    range_->from = after(asked.from);
    // The last sample is the end of the whole, so the whole has it.
    if (asked.to && !(percent && *asked.to >= 100)) range_->to = after(*asked.to);
}

bool SampleFilter::takes(const SampleMarks& sample) {
    const auto in_list = [](const auto& wanted, const auto& id, std::uint64_t& without) {
        if (wanted.empty()) return true;
        if (!id) ++without;
        return id && among(wanted, *id);
    };
    if (selection_.time) {
        if (!sample.time) {
            ++without_time_;
            return false;
        }
        if (!range_ && selection_.time->unit == TimeRange::Unit::kSeconds) resolve({*sample.time, *sample.time});
        if (!range_ || *sample.time < range_->from || *sample.time >= range_->to) return false;
    }
    if (selection_.cgroup) {
        if (sample.cgroup.empty()) ++without_cgroup_;
        if (!selection_.cgroup->takes(sample.cgroup)) return false;
    }
    return in_list(selection_.cpus, sample.cpu, without_cpu_) && in_list(selection_.pids, sample.pid, without_pid_) &&
           in_list(selection_.tids, sample.tid, without_tid_);
}

std::vector<std::string> SampleFilter::sentences(Source source) const {
    std::vector<std::string> all;
    const auto say = [&](std::uint64_t samples, std::string_view what, std::string_view option) {
        if (samples == 0) return;
        const auto remedy = source == Source::kRecording
                                ? std::string("record with it")
                                : fmt::format("print it (perf script -F +{})", option.substr(2));
        all.push_back(fmt::format("{} {} not say {}, so {} left them out: {} to select by it.", samples,
                                  samples == 1 ? "sample does" : "samples do", what, option, remedy));
    };
    say(without_time_, "when they were taken", "--time");
    say(without_cpu_, "on which CPU they were taken", "--cpu");
    say(without_pid_, "whose process they are", "--pid");
    say(without_tid_, "whose thread they are", "--tid");
    say(without_cgroup_, "in which control group they were taken", "--cgroup");
    return all;
}

SampleMarks marks_of(const collector::SampleId& sample, std::optional<CpuId> cpu) {
    SampleMarks marks{.cpu = cpu};
    if (sample.has(collector::kSampleTime)) marks.time = sample.time;
    if (sample.has(collector::kSampleTid)) {
        marks.pid = sample.pid;
        marks.tid = sample.tid;
    }
    return marks;
}

}  // namespace perfvigil::analyzer
