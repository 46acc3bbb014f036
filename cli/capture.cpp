// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil capture: asks the daemon for a capture on demand, shows it as it goes on, prints its report. The daemon
// sends the capture file's bytes; the file is written here, with the rights of who asked.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>

#include <boost/json.hpp>

#include "analyzer/chain_ends.hpp"
#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/event_flamegraph.hpp"
#include "analyzer/profile/codec.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/capture_stream.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "collector/capture_file.hpp"
#include "config/call_graph.hpp"
#include "config/values.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace field = protocol::field;
namespace json = boost::json;
namespace parameter = protocol::parameter;

struct CaptureCommandOptions {
    std::string socket;
    Nanoseconds duration = std::chrono::seconds(10);
    std::uint32_t frequency = 999;
    std::vector<std::int32_t> pids;
    std::string unit;
    std::string cgroup;
    std::string cpus;
    bool all_cpus = false;
    std::vector<std::string> events;
    std::string call_graph = "fp";
    std::uint16_t max_stack = 127;
    std::string label;
    std::string output;
    std::string flamegraph;
    bool force = false;
    OutputFormat format = OutputFormat::kText;
};

double number(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string text(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? escape(value->get_string()) : std::string();
}

std::string target_of(const CaptureCommandOptions& options) {
    std::vector<std::pair<std::string_view, std::string>> all{
        {parameter::kFormat, "stream"},
        {parameter::kDuration, config::DurationFormat{}.print(options.duration)},
        {parameter::kFrequency, fmt::to_string(options.frequency)},
        {parameter::kCallGraph, options.call_graph},
        {parameter::kMaxStack, fmt::to_string(options.max_stack)}};
    if (!options.pids.empty()) all.emplace_back(parameter::kPid, fmt::format("{}", fmt::join(options.pids, ",")));
    if (!options.unit.empty()) all.emplace_back(parameter::kUnit, options.unit);
    if (!options.cgroup.empty()) all.emplace_back(parameter::kCgroup, options.cgroup);
    if (!options.cpus.empty()) all.emplace_back(parameter::kCpu, options.cpus);
    if (!options.events.empty()) all.emplace_back(parameter::kEvent, fmt::format("{}", fmt::join(options.events, ",")));
    if (!options.label.empty()) all.emplace_back(parameter::kLabel, options.label);
    if (options.force) all.emplace_back(parameter::kForce, "true");
    if (!options.output.empty()) all.emplace_back(parameter::kRaw, "true");
    std::string target(protocol::kCaptures);
    char separator = '?';
    for (const auto& [name, value] : all) {
        target += std::exchange(separator, '&');
        target += fmt::format("{}={}", name, percent_encoded(value));
    }
    return target;
}

// A capture from the caller's side.
class Capture {
public:
    explicit Capture(const CaptureCommandOptions& options) : options_(options) {}

    Result<void> run() {
        if (!options_.output.empty()) {
            auto file = collector::create_capture_file(options_.output);
            if (!file) return fail(std::move(file.error()));
            file_ = std::move(*file);
        }
        CaptureStreamParser parser({[this](const json::object& event) { return on_event(event); },
                                    [this](std::uint64_t offset, Bytes bytes) { return on_bytes(offset, bytes); },
                                    [this](Bytes profile) { return on_profile(profile); }});
        auto streamed = post_stream(options_.socket, target_of(options_),
                                    [&](std::string_view bytes) { return parser.feed(bytes); });
        progress_.reset();
        if (!streamed) return streamed;
        if (!ended_ || parser.within_frame()) {
            return fail(ErrorCode::kIo, "the daemon's answer broke off before the capture's end");
        }
        if (result_ == "failed" || !profile_) return fail(ErrorCode::kIo, "no capture: " + message_);
        return {};
    }

    Result<void> print() const {
        if (!options_.flamegraph.empty()) {
            if (auto drawn = draw(); !drawn) return drawn;
        }
        if (options_.format == OutputFormat::kJson)
            fmt::print("{}\n", trim(report_json(*profile_, {.top = 0})));
        else
            fmt::print("{}", report_text(*profile_, {.width = output_width()}));
        std::fflush(stdout);
        if (!message_.empty()) fmt::print(stderr, "perfvigil: {}\n", message_);
        fmt::print(stderr,
                   "perfvigil: {:.0f} samples, {:.0f} lost in {:.1f} s; it cost {:.2f} % of the host's CPU time\n",
                   samples_, lost_, elapsed_, cost_);
        if (file_) {
            fmt::print(stderr, "perfvigil: {}: see it with: perfvigil report {}\n", options_.output, options_.output);
        }
        return {};
    }

private:
    Result<void> on_event(const json::object& event) {
        const auto what = text(event, field::kEvent);
        if (what == protocol::event::kWaiting) {
            fmt::print(stderr, "perfvigil: others run; {:.0f} in line, Ctrl-C gives up\n",
                       number(event, field::kPosition));
        } else if (what == protocol::event::kStarted) {
            fmt::print(stderr, "perfvigil: {}\n", text(event, field::kMessage));
            say_degraded(event);
            progress_.emplace();
        } else if (what == protocol::event::kProgress || what == protocol::event::kRecorded) {
            samples_ = number(event, field::kSamples);
            lost_ = number(event, field::kLost);
            elapsed_ = number(event, field::kElapsedSeconds);
            show(number(event, field::kBytes));
            if (what == protocol::event::kRecorded && file_) return file_->commit();
        } else if (what == protocol::event::kEnd) {
            ended_ = true;
            result_ = text(event, field::kResult);
            message_ = text(event, field::kMessage);
            cost_ = number(event, field::kCostPercent);
        }
        return {};
    }

    Result<void> on_bytes(std::uint64_t offset, Bytes bytes) {
        return file_ ? file_->write_at(offset, {bytes.begin(), bytes.end()}) : Result<void>{};
    }

    Result<void> on_profile(Bytes bytes) {
        auto profile = analyzer::decode_profile(bytes);
        if (!profile) return fail(std::move(profile.error()).at("the capture's profile"));
        profile_ = std::move(*profile);
        return {};
    }

    static void say_degraded(const json::object& event) {
        const auto* list = event.if_contains(field::kDegraded);
        if (list == nullptr || !list->is_array()) return;
        for (const auto& one : list->get_array()) {
            if (!one.is_object()) continue;
            const auto remedy = text(one.get_object(), field::kRemedy);
            fmt::print(stderr, "perfvigil: degraded: {}: {}{}{}\n", text(one.get_object(), field::kReason),
                       text(one.get_object(), field::kDetail), remedy.empty() ? "" : "; ", remedy);
        }
    }

    void show(double bytes) {
        if (!progress_) return;
        progress_->show({.elapsed = Nanoseconds(static_cast<std::int64_t>(elapsed_ * 1e9)),
                         .of = options_.duration,
                         .samples = static_cast<std::uint64_t>(samples_),
                         .lost = static_cast<std::uint64_t>(lost_),
                         .bytes = static_cast<std::uint64_t>(bytes)},
                        system_clock().monotonic());
    }

    Result<void> draw() const {
        const auto choice = analyzer::choose_event(*profile_, {});
        if (!choice) return fail(choice.error());
        // Stacks without their outer callers must not pass for whole ones.
        const auto profile = with_marked_ends(*profile_, analyzer::MarkedEnds::kUnrooted);
        const bool page = options_.flamegraph.ends_with(".html");
        return write_output(options_.flamegraph, page ? flamegraph_page(profile, {choice->event}, {})
                                                      : event_flamegraph_file(profile, choice->event, {}));
    }

    const CaptureCommandOptions& options_;
    std::unique_ptr<collector::CaptureFile> file_;
    std::optional<ProgressLine> progress_;
    std::optional<analyzer::Profile> profile_;
    double samples_ = 0;
    double lost_ = 0;
    double elapsed_ = 0;
    double cost_ = 0;
    bool ended_ = false;
    std::string result_;
    std::string message_;
};

int run_capture(const CaptureCommandOptions& options) {
    const int targets = (options.all_cpus ? 1 : 0) + (options.pids.empty() ? 0 : 1) + (options.unit.empty() ? 0 : 1) +
                        (options.cgroup.empty() ? 0 : 1);
    if (targets > 1) return complain({ErrorCode::kInvalid, 0, "give one of -a, -p, --unit and --cgroup"}, kUsage);
    Capture capture(options);
    if (auto done = capture.run(); !done) return complain(done.error());
    if (auto printed = capture.print(); !printed) return complain(printed.error());
    return kDone;
}

}  // namespace

void add_capture(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<CaptureCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("capture", "Ask the daemon for a capture of higher rate, beside its own");
    command.footer(
        "Without -p, --unit or --cgroup the whole host is captured (-a). Ends after -d, when the processes have ended, "
        "or at Ctrl-C; what was recorded is kept and reported. The capture has events and a budget of its own "
        "(budget.captures): what would cost more is refused unless --force is given. --unit and --cgroup sample every "
        "task and leave the others out, so they cost what -a does.\n"
        "  perfvigil capture -d 10s -p 1234 --flamegraph login.svg\n"
        "  perfvigil capture --unit nginx.service -o nginx.perf.data");
    add_socket(command, options.socket);
    add_json(command, options.format);
    add_value(command, "-d,--duration", config::DurationFormat{.min = std::chrono::milliseconds(100)}, options.duration,
              "how long: 10s, 500ms, 2min (10s)");
    command.add_option("-F,--freq", options.frequency, "samples per second, per event and CPU")
        ->capture_default_str()
        ->check(CLI::Range(1U, 20000U));
    command.add_flag("-a,--all-cpus", options.all_cpus, "the whole host");
    command.add_option("-p,--pid", options.pids, "processes, with all their threads and later children")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--unit", options.unit, "the tasks of a systemd unit");
    command.add_option("--cgroup", options.cgroup, "the tasks of a control group and those below it: /system.slice/x");
    command.add_option("-C,--cpu", options.cpus, "CPUs, like 0-3,8 (default: those that the daemon records)");
    command.add_option("-e,--event", options.events, "events (default: cycles,cpu-clock)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--call-graph", options.call_graph, "callers of user code: fp, dwarf[,BYTES], none")
        ->capture_default_str();
    command.add_option("--max-stack", options.max_stack, "frames per call chain")->capture_default_str();
    command.add_option("--label", options.label,
                       "said in the daemon's log and in the windows that the capture overlaps");
    command.add_option("-o,--output", options.output, "write the capture file too, which perf reads");
    command.add_option("--flamegraph", options.flamegraph,
                       "write a flame graph: a page where FILE ends in .html, else SVG");
    command.add_flag("--force", options.force, "whatever it is predicted to cost");
    command.callback([shared, &exit_code] { exit_code = run_capture(*shared); });
}

}  // namespace perfvigil::cli
