// SPDX-License-Identifier: GPL-2.0-or-later
// What this host, and the rights on it, let perfvigil see: every check with its evidence and remedy.
#include <fmt/core.h>
#include <boost/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "analyzer/doctor/finding.hpp"
#include "analyzer/doctor/gather.hpp"
#include "analyzer/doctor/sysctl.hpp"
#include "analyzer/stream_analysis.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/module_layout.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "collector/event_kernel.hpp"
#include "collector/recording_session.hpp"
#include "config/config.hpp"
#include "config/values.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace doctor = analyzer::doctor;
namespace json = boost::json;

struct DoctorOptions {
    std::string socket;
    std::string config = "/etc/perfvigil/perfvigil.yaml";
    Nanoseconds sampling = std::chrono::seconds(2);
    std::string fix;
    OutputFormat format = OutputFormat::kText;
};

// Enough samples of a busy CPU in two seconds to judge its binaries.
constexpr std::uint32_t kSamplingHertz = 499;

Result<config::Options> configuration(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return config::Options{};
    auto loaded = config::load_file(path);
    if (loaded.faults.empty()) return std::move(loaded.options);
    return fail(ErrorCode::kInvalid, config::to_text(loaded.faults.front(), path));
}

struct Answer {
    doctor::Facts::Daemon daemon;
    std::string pid;  // in its own namespace
};

// What the daemon says of itself, where one runs here.
Result<Answer> ask_daemon(const std::string& socket) {
    const auto reply = get(socket, std::string(protocol::kStatus), std::chrono::seconds(5));
    if (!reply) return fail(reply.error());
    boost::system::error_code error;
    const auto status = json::parse(reply->body, error);
    if (error || !status.is_object()) return fail(ErrorCode::kInvalid, "its status is not JSON");
    const auto text_of = [](const json::object& object, std::string_view key) {
        const auto* value = object.if_contains(key);
        const auto* text = value != nullptr ? value->if_string() : nullptr;
        return text != nullptr ? std::string(*text) : std::string();
    };
    const auto& object = status.get_object();
    Answer answer;
    answer.daemon.version = text_of(object, protocol::field::kVersion);
    const auto* pid = object.if_contains(protocol::field::kPid);
    if (pid != nullptr && pid->is_int64()) answer.pid = std::to_string(pid->get_int64());
    const auto* degraded = object.if_contains(protocol::field::kDegraded);
    if (degraded == nullptr || !degraded->is_array()) return answer;
    for (const auto& row : degraded->get_array()) {
        if (!row.is_object()) continue;
        answer.daemon.degraded.push_back({text_of(row.get_object(), protocol::field::kReason),
                                          text_of(row.get_object(), protocol::field::kDetail),
                                          text_of(row.get_object(), protocol::field::kRemedy)});
    }
    return answer;
}

// Whose rights and limits decide what is recorded: the daemon's, where it can be seen from here.
void judge_rights_of(const std::string& pid, doctor::GatherOptions& wanted) {
    constexpr std::string_view kName = "perfvigild";
    const auto comm = read_file("/proc/" + pid + "/comm", 64);
    if (pid.empty() || !comm || trim(*comm) != kName) return;
    wanted.process = pid;
    wanted.process_name = kName;
}

Result<doctor::SampledFacts> sample_host(Nanoseconds length, const Clock& clock) {
    collector::RecordingOptions recording;
    recording.tuning.frequency = kSamplingHertz;
    auto session = collector::RecordingSession::open(std::move(recording), clock);
    if (!session) return fail(std::move(session.error()));
    analyzer::HostNames names(clock);
    if (auto started = (*session)->start(); !started) return fail(std::move(started.error()));
    collector::HostFacts host = (*session)->host();
    host.text_ranges = analyzer::kernel_text_ranges(names.symbolizer().kernel_symbols());
    analyzer::StreamAnalysis analysis((*session)->events(), names.symbolizer(), analyzer::KernelText(host.text_ranges),
                                      {}, &names.listener());
    if (!host.cpu_times.empty()) analysis.set_baseline_times(host.cpu_times.front().cpus);
    const MonotonicTime end = clock.monotonic() + length;
    while (clock.monotonic() < end) {
        const auto due = (*session)->next_pump();
        if (!due) break;
        std::this_thread::sleep_for(std::min(*due, end) - clock.monotonic());
        if (auto pumped = (*session)->pump(analysis); !pumped) return fail(std::move(pumped.error()));
    }
    if (auto finished = (*session)->finish(analysis); !finished) return fail(std::move(finished.error()));
    return doctor::sampled_facts(analysis.build(host, "doctor"));
}

Result<doctor::Facts> find_out(const DoctorOptions& options) {
    auto configured = configuration(options.config);
    if (!configured) return fail(std::move(configured.error()));
    doctor::GatherOptions wanted;
    wanted.folders.push_back({"store.dir", configured->store.directory, configured->store.bytes});
    if (configured->captures.enabled) {
        wanted.folders.push_back({"captures.dir", configured->captures.directory, configured->captures.bytes});
    }
    const auto answer = ask_daemon(options.socket);
    if (answer) judge_rights_of(answer->pid, wanted);
    auto facts = doctor::gather(wanted, configured->recording);
    if (answer)
        facts.daemon = answer->daemon;
    else
        facts.no_daemon = answer.error().message;
    analyzer::SymbolChild child({}, system_clock());
    facts.module_layout = analyzer::judge_module_layout(child, facts.release);
    doctor::gather_trials(facts, collector::live_kernel(), configured->recording, system_clock());
    if (options.sampling > Nanoseconds{}) {
        auto sampled = sample_host(options.sampling, system_clock());
        if (sampled)
            facts.sampled = std::move(*sampled);
        else
            facts.not_sampled = "the host cannot be sampled: " + sampled.error().message;
    }
    return facts;
}

// Nothing is changed without a yes; no terminal and no answer are a no.
bool confirmed(const doctor::SysctlChange& change) {
    fmt::print("\n{} = {} → {}\n  why    {}\n  opens  {}\nSet it until the next boot? [y/N] ", change.name, change.now,
               change.wanted, change.why, change.opens);
    std::fflush(stdout);
    std::string answer;
    if (!std::getline(std::cin, answer)) fmt::print("\n");
    return answer == "y" || answer == "Y" || answer == "yes";
}

int fix_sysctl(const doctor::Facts& facts) {
    const auto changes = doctor::sysctl_changes(facts);
    if (changes.empty()) {
        fmt::print("No sysctl stands in the way.\n");
        return kDone;
    }
    std::string lines;
    for (const auto& change : changes) {
        if (!confirmed(change)) continue;
        if (auto set = doctor::set_sysctl("/proc/sys", change); !set) return complain(set.error());
        fmt::print("{} is {} now.\n", change.name, change.wanted);
        lines += fmt::format("  {} = {}\n", change.name, change.wanted);
    }
    if (!lines.empty()) fmt::print("\nTo keep it, write into /etc/sysctl.d/90-perfvigil.conf:\n{}", lines);
    return kDone;
}

int exit_code_of(doctor::Verdict verdict) {
    switch (verdict) {
        case doctor::Verdict::kOk:
        case doctor::Verdict::kUnknown: return 0;
        case doctor::Verdict::kDegraded: return 1;
        case doctor::Verdict::kBroken: return 2;
    }
    return 2;
}

int run_doctor(const DoctorOptions& options) {
    const auto facts = find_out(options);
    if (!facts) return complain(facts.error());
    if (!options.fix.empty()) return fix_sysctl(*facts);
    const auto findings = doctor::examine(*facts);
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}\n", doctor::findings_json(findings));
    } else {
        fmt::print("{}", doctor::findings_text(findings));
    }
    return exit_code_of(doctor::worst(findings));
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<DoctorOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("doctor", "What stands between perfvigil and a complete profile of this host");
    command.footer(
        "Each check: ok, unknown, degraded or broken, what was seen, and what to do. Takes about four seconds, of "
        "which "
        "one keeps a CPU busy.\n"
        "Exit status: 0 all is well, 1 something is degraded, 2 nothing can be recorded (or doctor itself failed).");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.add_option("--config", options.config, "the daemon's configuration: what it wants is judged")
        ->capture_default_str();
    add_value(command, "--sample", config::DurationFormat{.min = {}, .max = std::chrono::minutes(10)}, options.sampling,
              "how long the host is sampled for the checks of binaries: 2s; 0: not at all");
    command
        .add_option("--fix", options.fix,
                    "sysctl: asks for each setting that stands in the way, and says what it opens")
        ->check(CLI::IsMember({"sysctl"}));
    command.callback([shared, &exit_code] { exit_code = run_doctor(*shared); });
}

}  // namespace perfvigil::cli
