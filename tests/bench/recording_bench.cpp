// SPDX-License-Identifier: GPL-2.0-or-later
// What draining costs: CPU seconds of the recorder (user and system) per million samples at 20 kHz on every CPU, all
// busy, beside `perf record` of the same load in the same run. perf writes a file in /dev/shm; the session decodes and
// orders every record and delivers it to a sink that counts. In-kernel cost of taking a sample is charged to whoever
// was interrupted and is in neither figure.
//   recording_bench [SECONDS]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;

constexpr std::uint32_t kHertz = 20'000;

double cpu_seconds(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class CountingSink final : public RecordSink {
public:
    void on_record(const OrderedRecord& record) override {
        if (const auto* sample = std::get_if<SampleRecord>(&record.record)) {
            ++samples;
            frames += sample->chain.size();
        } else if (const auto* read = std::get_if<ReadRecord>(&record.record)) {
            lost = std::max(lost, read->read[0].lost);
        }
    }
    void on_cut(const Cut&) override {}
    std::uint64_t samples = 0;
    std::uint64_t frames = 0;
    std::uint64_t lost = 0;  // of the instance that lost most
};

struct Cost {
    double samples = 0;
    double cpu_s = 0;
    [[nodiscard]] double per_million() const { return samples > 0 ? cpu_s / samples * 1e6 : 0; }
};

Cost ours(double seconds) {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.tuning.frequency = kHertz;
    options.tuning.sample_ring_bytes = 4U << 20;
    const Clock& clock = system_clock();
    auto session = RecordingSession::open(options, clock);
    if (!session || !(*session)->start()) {
        fmt::print(stderr, "recording_bench: {}\n", session ? "start failed" : session.error().message);
        std::exit(1);
    }
    CountingSink sink;
    const double before = cpu_seconds(RUSAGE_SELF);
    const MonotonicTime end =
        clock.monotonic() + std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
    while (clock.monotonic() < end) {
        if (!(*session)->pump(sink)) std::exit(1);
        std::this_thread::sleep_for(*(*session)->next_pump() - clock.monotonic());
    }
    if (!(*session)->finish(sink)) std::exit(1);
    const Cost cost{static_cast<double>(sink.samples), cpu_seconds(RUSAGE_SELF) - before};
    fmt::print("perfvigil: {} samples, {:.1f} frames each, {} lost by one CPU, {:.3f} CPU s\n", sink.samples,
               static_cast<double>(sink.frames) / static_cast<double>(std::max<std::uint64_t>(1, sink.samples)),
               sink.lost, cost.cpu_s);
    return cost;
}

Cost of_perf(double seconds) {
    const std::string file = fmt::format("/dev/shm/recording_bench.{}.data", ::getpid());
    const std::string log = file + ".log";
    const std::string command =
        fmt::format("perf record -F {} -a -e cpu-clock -g -m 1024 -k CLOCK_MONOTONIC -o {} -- sleep {} >{} 2>&1",
                    kHertz, file, seconds, log);
    const double before = cpu_seconds(RUSAGE_CHILDREN);
    if (std::system(command.c_str()) != 0) return {};
    Cost cost{0, cpu_seconds(RUSAGE_CHILDREN) - before};
    // "[ perf record: Captured and wrote 3.2 MB FILE (12345 samples) ]"
    std::ifstream in(log);
    for (std::string line; std::getline(in, line);) {
        const auto open = line.rfind('(');
        if (line.contains(" samples)") && open != std::string::npos) cost.samples = std::atof(line.c_str() + open + 1);
    }
    fmt::print("perf record: {} samples, {:.3f} CPU s\n", cost.samples, cost.cpu_s);
    ::unlink(file.c_str());
    ::unlink(log.c_str());
    return cost;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    std::vector<std::unique_ptr<test::Client>> loads;
    for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) {
        loads.push_back(std::make_unique<test::Client>("recursion", std::vector<std::string>{"20"}));
    }
    const Cost us = ours(seconds);
    const Cost perf = of_perf(seconds);
    fmt::print("drain cost per million samples: perfvigil {:.3f} CPU s, perf record {:.3f} CPU s, ratio {:.2f}\n",
               us.per_million(), perf.per_million(),
               perf.per_million() > 0 ? us.per_million() / perf.per_million() : 0);
    return 0;
}
