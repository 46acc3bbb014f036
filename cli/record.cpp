// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <boost/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include <poll.h>

#include "analyzer/observation_warnings.hpp"
#include "analyzer/recording_run.hpp"
#include "analyzer/report.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "collector/blocked_child.hpp"
#include "collector/capture_file.hpp"
#include "collector/event_kernel.hpp"
#include "collector/host_facts.hpp"
#include "collector/recording_rate.hpp"
#include "config/call_graph.hpp"
#include "config/options.hpp"
#include "config/values.hpp"

namespace perfvigil::cli {
namespace {

struct RecordCommandOptions {
    std::string output;  // empty: nothing is kept, the report is printed
    bool all_cpus = false;
    std::vector<std::int32_t> pids;
    std::vector<std::int32_t> tids;
    config::CpuSelection cpus{.kind = config::CpuSelection::Kind::kAll, .list = {}};
    std::vector<std::string> command;
    std::optional<Nanoseconds> duration;
    std::uint32_t frequency = 99;
    std::vector<std::string> events;  // empty: cycles and cpu-clock
    std::optional<std::uint64_t> ring_bytes;
    std::uint16_t max_stack = 127;
    config::CallGraph call_graph;
    int compression = 3;
    OutputFormat format = OutputFormat::kText;
};

namespace json = boost::json;

// SIGINT, SIGTERM and SIGCHLD as something to poll. They stay blocked; children get their own mask back.
class SignalFd {
public:
    static Result<SignalFd> open() {
        sigset_t set;
        ::sigemptyset(&set);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&set, number);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!fd) return fail_errno(errno, "signalfd");
        return SignalFd(std::move(fd));
    }

    // Waits at most until `until`; the signal that came, 0 when none did.
    int wait(MonotonicTime until, const Clock& clock) const {
        const auto left = std::max(until - clock.monotonic(), Nanoseconds(0));
        const timespec limit{static_cast<time_t>(left / std::chrono::seconds(1)),
                             static_cast<long>((left % std::chrono::seconds(1)).count())};
        pollfd poll{fd_.get(), POLLIN, 0};
        if (::ppoll(&poll, 1, &limit, nullptr) <= 0) return 0;
        signalfd_siginfo info{};
        return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
    }

private:
    explicit SignalFd(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

Result<collector::RecordingOptions> recording_options(const RecordCommandOptions& options) {
    const int targets = (options.all_cpus ? 1 : 0) + (options.pids.empty() ? 0 : 1) + (options.tids.empty() ? 0 : 1) +
                        (options.command.empty() ? 0 : 1);
    if (targets > 1) return fail(ErrorCode::kInvalid, "give one of -a, -p, -t or a command");
    collector::RecordingOptions recording;
    if (!options.events.empty()) {
        recording.events.clear();
        recording.ticks = collector::Ticks::kMayTurnOn;
    }
    for (const auto& name : options.events) {
        auto event = collector::parse_event(name);
        if (!event) return fail(std::move(event.error()));
        recording.events.push_back(std::move(*event));
    }
    if (!options.pids.empty()) {
        collector::Processes processes;
        for (const auto pid : options.pids) processes.pids.push_back(Pid{pid});
        recording.target = processes;
    } else if (!options.tids.empty()) {
        collector::Threads threads;
        for (const auto tid : options.tids) threads.tids.push_back(Tid{tid});
        recording.target = threads;
    }
    recording.cpus = options.cpus.list;
    recording.tuning.frequency = options.frequency;
    recording.tuning.max_stack = options.max_stack;
    if (options.ring_bytes) recording.tuning.sample_ring_bytes = *options.ring_bytes;
    recording.call_chains = options.call_graph.chains;
    recording.stack_dump_bytes = options.call_graph.dump_bytes;
    return recording;
}

std::string own_command_line() {
    auto text = read_file("/proc/self/cmdline").value_or("perfvigil record");
    std::ranges::replace(text, '\0', ' ');
    return std::string(trim(text));
}

class Recorder {
public:
    Recorder(const RecordCommandOptions& options, const Clock& clock)
        : options_(options), clock_(clock), names_(clock) {}

    Result<void> run() {
        auto signals = SignalFd::open();
        if (!signals) return fail(std::move(signals.error()));
        if (auto opened = open(); !opened) return opened;
        if (auto recorded = record(*signals); !recorded) return recorded;
        if (child_ && !child_status_) child_->signal(SIGTERM);  // as perf record does
        if (auto finished = run_->finish(); !finished) return finished;
        profile_ = run_->build(options_.output.empty() ? "recording" : std::string(base_name(options_.output)));
        return {};
    }

    // What came of it, once run() succeeded.
    void print() const { options_.format == OutputFormat::kJson ? print_json() : print_text(); }
    [[nodiscard]] int exit_code() const { return child_status_ ? collector::exit_code_of(*child_status_) : kDone; }

private:
    Result<void> open() {
        auto recording = recording_options(options_);
        if (!recording) return fail(std::move(recording.error()));
        if (!options_.command.empty()) {
            auto child = collector::BlockedChild::fork(options_.command);
            if (!child) return fail(std::move(child.error()));
            child_.emplace(std::move(*child));
            recording->target = collector::Processes{{child_->pid()}};
            recording->start_disabled_until_exec = true;
        }
        auto cpus = recording->cpus.size();
        if (cpus == 0) {
            if (const auto online = collector::online_cpus()) cpus = online->size();
        }
        if (!options_.ring_bytes) recording->tuning.sample_ring_bytes = collector::sample_ring_for(*recording, cpus);
        if (const auto cost = config::predicted_cost(*recording, cpus); !cost.empty()) {
            fmt::print(stderr, "perfvigil: {}\n", cost);
        }
        // Stacks are unwound as they come only where this recording itself shows chains.
        const bool shown = options_.output.empty() || options_.format == OutputFormat::kJson;
        auto run = analyzer::RecordingRun::open(
            {.recording = std::move(*recording), .command_line = own_command_line(), .unwinds = shown}, clock_,
            collector::live_kernel(), {names_.symbolizer(), names_.child(), names_.listener()});
        if (!run) return fail(std::move(run.error()));
        run_ = std::move(*run);
        for (const auto& degraded : run_->degraded()) {
            fmt::print(stderr, "perfvigil: degraded: {}: {}{}{}\n", degraded.reason, escape(degraded.detail),
                       degraded.remedy.empty() ? "" : "; ", escape(degraded.remedy));
        }
        if (auto started = run_->start(); !started) return started;
        if (options_.output.empty()) return {};
        auto file = collector::create_capture_file(options_.output);
        if (!file) return fail(std::move(file.error()));
        return run_->keep(std::move(*file), options_.compression);
    }

    Result<void> record(const SignalFd& signals) {
        if (child_) {
            if (auto released = child_->release(); !released) return released;
        }
        started_ = clock_.monotonic();
        ProgressLine progress;
        while (!over()) {
            auto due = run_->next_pump();
            if (!due) break;
            if (options_.duration) due = std::min(*due, started_ + *options_.duration);
            take_signal(signals.wait(*due, clock_));
            if (auto pumped = run_->pump(); !pumped) return pumped;
            show(progress);
        }
        return {};
    }

    void take_signal(int number) {
        if (number == SIGCHLD || number == 0) {
            if (child_ && !child_status_) child_status_ = child_->ended();
            return;
        }
        // The terminal sends Ctrl-C to the command as well; other signals reach only us.
        if (child_ && number != SIGINT) child_->signal(number);
        interrupted_ = true;
    }

    [[nodiscard]] bool over() const {
        if (interrupted_ || child_status_) return true;
        return options_.duration && clock_.monotonic() - started_ >= *options_.duration;
    }

    void show(ProgressLine& progress) const {
        const auto now = clock_.monotonic();
        progress.show({.elapsed = now - started_,
                       .of = options_.duration,
                       .samples = run_->counters().samples,
                       .lost = run_->counters().lost_sample_records,
                       .bytes = run_->bytes_written()},
                      now);
    }

    void print_text() const {
        if (options_.output.empty()) {
            fmt::print("{}", report_text(profile_, {.width = output_width()}));
            return;
        }
        for (const auto& event : profile_.events) {
            fmt::print("{}: {} samples, {} lost\n", event.name, event.samples, event.lost);
        }
        for (const auto& cpu : profile_.cpus) {
            if (!cpu.busy.known) continue;
            fmt::print("cpu {}: {:.1f} % busy ({:.1f} to {:.1f})\n", cpu.sum.cpu.value, 100 * cpu.busy.ratio,
                       100 * cpu.busy.interval.low, 100 * cpu.busy.interval.high);
        }
        for (const auto& warning : warnings_of(profile_)) fmt::print(stderr, "perfvigil: {}\n", escape(warning));
        fmt::print("{}: {} in {:.1f} s; see it with: perfvigil report {}\n", options_.output,
                   human_bytes(run_->bytes_written()), to_seconds(profile_.duration), options_.output);
    }

    void print_json() const {
        auto report = json::parse(report_json(profile_, {.top = 0})).as_object();
        if (!options_.output.empty()) {
            report["capture"] = {{"file", escape(options_.output)}, {"bytes", run_->bytes_written()}};
        }
        fmt::print("{}\n", json::serialize(report));
    }

    const RecordCommandOptions& options_;
    const Clock& clock_;
    analyzer::HostNames names_;
    std::optional<collector::BlockedChild> child_;
    std::unique_ptr<analyzer::RecordingRun> run_;
    analyzer::Profile profile_;
    MonotonicTime started_{};
    std::optional<int> child_status_;
    bool interrupted_ = false;
};

int run_record(const RecordCommandOptions& options) {
    Recorder recorder(options, system_clock());
    if (auto recorded = recorder.run(); !recorded) {
        return complain(recorded.error(), recorded.error().code == ErrorCode::kInvalid ? kUsage : kFailed);
    }
    recorder.print();
    return recorder.exit_code();
}

}  // namespace

void add_record(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<RecordCommandOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("record", "Record without a daemon, into a file that perf reads too");
    command.footer(
        "Without -p, -t or a command the whole host is recorded (-a). Ends after -d, with the command, or at "
        "Ctrl-C; what was recorded is kept.\n"
        "  perfvigil record -o host.perf.data -d 10s\n"
        "  perfvigil record -o app.perf.data -F 999 -- ./app --input x");
    add_json(command, options.format);
    command.add_option("-o,--output", options.output,
                       "file to write; without it the report is printed and nothing kept");
    command.add_flag("-a,--all-cpus", options.all_cpus, "the whole host");
    command.add_option("-p,--pid", options.pids, "processes, with all their threads and later children")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("-t,--tid", options.tids, "single threads")->delimiter(',')->allow_extra_args(false);
    add_value(command, "-C,--cpu", config::CpusFormat{}, options.cpus, "CPUs, like 0-3,8 (default: all online)");
    add_value(command, "-d,--duration", config::DurationFormat{.min = std::chrono::milliseconds(1)}, options.duration,
              "how long: 10s, 500ms, 2min");
    command.add_option("-F,--freq", options.frequency, "samples per second, per event and CPU")
        ->capture_default_str()
        ->check(CLI::Range(1U, 100000U));
    command.add_option("-e,--event", options.events, "events (default: cycles,cpu-clock)")
        ->delimiter(',')
        ->allow_extra_args(false);
    add_value(command, "-m,--ring", config::BytesFormat{.min = 4096, .max = 1U << 30}, options.ring_bytes,
              "ring buffer for samples, per CPU: 512KiB, 4MiB");
    command.add_option("--max-stack", options.max_stack, "frames per call chain")->capture_default_str();
    add_value(command, "--call-graph", config::CallGraphFormat{}, options.call_graph,
              "callers of user code: fp (frame pointers, the default), dwarf[,BYTES] (copies of the stack, 8192 bytes, "
              "unwound by tables: for code without frame pointers), none");
    command.add_flag_callback(
        "--no-call-chains", [shared] { shared->call_graph.chains = collector::CallChains::kNone; },
        "the same as --call-graph none");
    command.add_option("-z,--compression", options.compression, "zstd level, 0: none")
        ->capture_default_str()
        ->check(CLI::Range(0, 19));
    command.add_option("command", options.command, "program to run and record, after --");
    command.callback([shared, &exit_code] { exit_code = run_record(*shared); });
}

}  // namespace perfvigil::cli
