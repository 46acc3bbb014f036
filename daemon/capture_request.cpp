// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_request.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "collector/recording_rate.hpp"
#include "config/call_graph.hpp"
#include "config/values.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace parameter = protocol::parameter;

constexpr std::size_t kMostPids = 64;
constexpr std::size_t kMostEvents = 16;
constexpr std::size_t kLongestCgroup = 1024;
constexpr std::uint32_t kHighestFrequency = 20000;

Result<void> invalid(std::string_view name, const config::Complaint& complaint) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: {}{}{}", name, complaint.why,
                                                 complaint.suggestion.empty() ? "" : "; ", complaint.suggestion));
}
Result<void> invalid(std::string_view name, std::string_view why) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: {}", name, why));
}

// An option written as in the configuration file.
template <class Format, class Target>
Result<void> read(std::string_view name, const std::string& text, const Format& format, Target& target) {
    auto parsed = format.parse(text);
    if (!parsed) return invalid(name, parsed.error());
    target = std::move(*parsed);
    return {};
}

Result<void> read_pids(std::string_view name, const std::string& text, CaptureRequest& request) {
    for (const auto piece : split(text, ',')) {
        const auto pid = parse_number<std::int32_t>(piece);
        if (!pid || *pid <= 0) return invalid(name, "\"" + escape(piece) + "\" is no process's number");
        request.pids.push_back(Pid{*pid});
    }
    if (request.pids.size() > kMostPids) return invalid(name, fmt::format("more than {} processes", kMostPids));
    return {};
}

Result<void> read_events(std::string_view name, const std::string& text, CaptureRequest& request) {
    request.events.clear();
    for (const auto piece : split(text, ',')) {
        auto event = collector::parse_event(piece);
        if (!event) return fail(std::move(event.error()).at(std::string(name)));
        request.events.push_back(std::move(*event));
    }
    if (request.events.empty()) return invalid(name, "names no event");
    if (request.events.size() > kMostEvents) return invalid(name, fmt::format("more than {} events", kMostEvents));
    return {};
}

// As cgroups are called in samples: from the root of the hierarchy, without a slash at the end.
Result<void> read_cgroup(std::string_view name, const std::string& text, CaptureRequest& request) {
    std::string path = text;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto pieces = split(path, '/');
    if (!path.starts_with('/') || path.size() > kLongestCgroup || std::ranges::find(pieces, "..") != pieces.end()) {
        return invalid(name, "is no path of a control group; write it as in /proc/PID/cgroup: /system.slice/x.service");
    }
    request.cgroup.emplace().path = path == "/" ? "" : path;
    if (path == "/") request.cgroup.reset();  // everything is below the root
    return {};
}

Result<void> read_unit(std::string_view name, const std::string& text, CaptureRequest& request) {
    if (text.empty() || text.contains('/') || text.size() > kLongestCgroup) {
        return invalid(name, "is no unit; write nginx.service");
    }
    request.cgroup.emplace().unit = text.contains('.') ? text : text + ".service";
    return {};
}

Result<void> read_cpus(std::string_view name, const std::string& text, CaptureRequest& request) {
    config::CpuSelection cpus;
    if (auto done = read(name, text, config::CpusFormat{}, cpus); !done) return done;
    if (cpus.kind == config::CpuSelection::Kind::kExceptIsolated) return invalid(name, "write numbers like 0-3,8");
    request.cpus = std::move(cpus.list);
    return {};
}

Result<void> read_format(std::string_view name, const std::string& text, CaptureRequest& request) {
    constexpr std::array<std::string_view, 4> kFormats{"text", "json", "profile", "stream"};
    const auto found = std::ranges::find(kFormats, text);
    if (found == kFormats.end()) return invalid(name, "write text, json, profile or stream");
    request.format = static_cast<CaptureRequest::Format>(found - kFormats.begin());
    return {};
}

Result<void> read_one(std::string_view name, const std::string& text, Nanoseconds longest, CaptureRequest& request) {
    if (name == parameter::kDuration) {
        const config::DurationFormat format{std::chrono::milliseconds(100), longest};
        return read(name, text, format, request.duration);
    }
    if (name == parameter::kFrequency) {
        return read(name, text, config::FrequencyFormat{1, kHighestFrequency}, request.frequency);
    }
    if (name == parameter::kMaxStack) {
        return read(name, text, config::NumberFormat<std::uint16_t>{1, 1024}, request.max_stack);
    }
    if (name == parameter::kPid) return read_pids(name, text, request);
    if (name == parameter::kUnit) return read_unit(name, text, request);
    if (name == parameter::kCgroup) return read_cgroup(name, text, request);
    if (name == parameter::kCpu) return read_cpus(name, text, request);
    if (name == parameter::kEvent) return read_events(name, text, request);
    if (name == parameter::kForce) return read(name, text, config::BoolFormat{}, request.force);
    if (name == parameter::kRaw) return read(name, text, config::BoolFormat{}, request.raw);
    if (name == parameter::kFormat) return read_format(name, text, request);
    if (name == parameter::kLabel) {
        if (text.size() > kLongestLabel) return invalid(name, fmt::format("longer than {} bytes", kLongestLabel));
        request.label = escape(text);
        return {};
    }
    if (name == parameter::kCallGraph) {
        config::CallGraph graph;
        if (auto done = read(name, text, config::CallGraphFormat{}, graph); !done) return done;
        request.call_chains = graph.chains;
        request.stack_dump_bytes = graph.dump_bytes;
        return {};
    }
    return fail(api::unknown_parameter(name));
}

// "0-3,8"
std::string ranges_text(const std::vector<CpuId>& cpus) {
    return config::CpusFormat{}.print({.kind = config::CpuSelection::Kind::kList, .list = cpus});
}

}  // namespace

Result<CaptureRequest> parse_capture_request(const api::Parameters& parameters, Nanoseconds longest) {
    CaptureRequest request;
    std::vector<std::string_view> seen;
    for (const auto& [name, value] : parameters) {
        if (std::ranges::find(seen, name) != seen.end())
            return fail(ErrorCode::kInvalid, escape(name) + " is given twice");
        seen.push_back(name);
        if (auto done = read_one(name, value, longest, request); !done) return fail(std::move(done.error()));
    }
    const int targets = static_cast<int>(std::ranges::count_if(seen, [](std::string_view name) {
        return name == parameter::kPid || name == parameter::kUnit || name == parameter::kCgroup;
    }));
    if (targets > 1) return fail(ErrorCode::kInvalid, "give one of pid, unit and cgroup");
    if (request.raw && request.format != CaptureRequest::Format::kStream) {
        return fail(ErrorCode::kInvalid, "raw: only format=stream carries a capture file");
    }
    return request;
}

std::string target_text(const CaptureRequest& request) {
    std::string text;
    if (!request.pids.empty()) {
        std::vector<std::int32_t> pids;
        for (const auto pid : request.pids) pids.push_back(pid.value);
        text = fmt::format("-p {}", fmt::join(pids, ","));
    } else if (request.cgroup) {
        text = analyzer::SampleSelection{.cgroup = request.cgroup}.text();
    } else if (request.cpus.empty()) {
        return "-a";
    }
    if (!request.cpus.empty()) text += (text.empty() ? "--cpu " : " --cpu ") + ranges_text(request.cpus);
    return text;
}

std::string command_text(const CaptureRequest& request) {
    auto text = fmt::format("capture {} -F {} -d {}", target_text(request), request.frequency,
                            config::DurationFormat{}.print(request.duration));
    if (request.call_chains == collector::CallChains::kStackDumps) text += " --call-graph dwarf";
    if (request.call_chains == collector::CallChains::kNone) text += " --call-graph none";
    if (!request.label.empty()) text += " --label '" + request.label + "'";
    return text;
}

collector::RecordingOptions recording_of(const CaptureRequest& request, std::uint64_t rings_total, std::size_t cpus) {
    collector::RecordingOptions recording;
    recording.events = request.events;
    if (!request.pids.empty()) recording.target = collector::Processes{request.pids};
    recording.cpus = request.cpus;
    recording.tuning.frequency = request.frequency;
    recording.tuning.max_stack = request.max_stack;
    recording.call_chains = request.call_chains;
    recording.stack_dump_bytes = request.stack_dump_bytes;
    recording.rings_total_bytes = rings_total;
    recording.tuning.sample_ring_bytes = collector::sample_ring_for(recording, cpus);
    return recording;
}

}  // namespace perfvigil::daemon
