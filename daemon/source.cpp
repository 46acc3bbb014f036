// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/source.hpp"

#include "base/fd.hpp"
#include "base/text.hpp"
#include "daemon/cpu_selection.hpp"
#include "daemon/replay.hpp"

namespace perfvigil::daemon {
namespace {

std::string own_command_line() {
    auto text = read_file("/proc/self/cmdline").value_or("perfvigild");
    for (auto& c : text) {
        if (c == '\0') c = ' ';
    }
    return std::string(trim(text));
}

}  // namespace

Result<RunSource> open_kernel(const config::Options& options, const Clock& clock) {
    const auto cpus = read_host_cpus();
    if (!cpus) return fail(cpus.error());
    if (const auto some = select_cpus(options.cpus, *cpus); !some) return fail(some.error());
    auto recording = options.recording;
    follow_cpus(options.cpus, *cpus, recording);
    auto session = collector::RecordingSession::open(std::move(recording), clock);
    if (!session) return fail(std::move(session.error()));
    RunSource source;
    source.name = "kernel";
    source.session = session->get();
    source.host = (*session)->host();
    source.host.command_line = own_command_line();
    source.records = std::move(*session);
    return source;
}

Result<RunSource> open_replay(const std::string& path, double speed, const Clock& clock) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return fail(std::move(reader.error()));
    RunSource source;
    source.name = path;
    source.capture = reader->get();
    source.host = (*reader)->host();
    source.records = std::make_unique<PacedSource>(std::move(*reader), speed, clock);
    return source;
}

}  // namespace perfvigil::daemon
