// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/perf_comments.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostEvents = 1024;
constexpr std::size_t kMostBytes = 4096;  // of a value that is kept

// The number behind `key`, as in "{ sample_period, sample_freq } = 999, …".
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    text = text.substr(at + key.size());
    return parse_number<std::uint64_t>(text.substr(0, text.find_first_not_of("0123456789")));
}

}  // namespace

void PerfComments::take(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto key = trim(line.substr(0, colon));
    const auto value = trim(line.substr(colon + 1)).substr(0, kMostBytes);
    const auto text = [&](std::string& field) {
        if (field.empty()) field = value;
        empty_ = false;
    };
    if (key == "hostname") text(host_.hostname);
    if (key == "os release") text(host_.os_release);
    if (key == "arch") text(host_.architecture);
    if (key == "cpudesc") text(host_.cpu_description);
    if (key == "cmdline") text(command_line_);
    if (key == "perf version" && host_.recorder.empty()) host_.recorder = "perf " + std::string(value);
    if (key == "nrcpus online") host_.cpus_online = parse_number<std::uint32_t>(value).value_or(0);
    if (key == "Total Lost Samples") lost_ = parse_number<std::uint64_t>(value).value_or(0);
    if (key == "event") take_event(value);
}

void PerfComments::take_event(std::string_view description) {
    constexpr std::string_view kName = "name = ";
    if (!description.starts_with(kName) || events_.size() >= kMostEvents) return;
    description.remove_prefix(kName.size());
    Event event;
    event.name = trim(description.substr(0, description.find(", ")));
    event.rate = number_behind(description, "sample_freq } = ").value_or(0);
    event.frequency_mode = number_behind(description, ", freq = ") == std::uint64_t{1};
    events_.push_back(std::move(event));
}

void PerfComments::add_to(Profile& profile) const {
    profile.host = host_;
    if (!command_line_.empty()) profile.notes.push_back("Recorded by: " + command_line_);
    for (ProfileEvent& event : profile.events) {
        const auto known = std::ranges::find(events_, event.name, &Event::name);
        if (known == events_.end() || known->rate == 0) continue;
        event.rate = known->rate;
        event.frequency_mode = known->frequency_mode;
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const auto same = [&](const Event& other) { return other.name == events_[i].name; };
        const auto first = std::ranges::find_if(events_, same);
        if (first != events_.begin() + static_cast<std::ptrdiff_t>(i)) {
            profile.warnings.push_back(fmt::format(
                "The recording held two events called {}, which its text does not tell apart: their samples are "
                "counted together.",
                events_[i].name));
            break;
        }
    }
    if (lost_ == 0 || profile.events.empty()) return;
    profile.events.front().lost = lost_;
    profile.events.front().lost_is_shared = profile.events.size() > 1;
}

}  // namespace perfvigil::analyzer
