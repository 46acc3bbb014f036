// SPDX-License-Identifier: GPL-2.0-or-later
// make_capture CAPTURE TRUTH COMM: a synthetic recording as perf.data, and what is true of it as JSON. Two CPUs, 24
// slices of 5 s: CPU 0 is always busy, CPU 1 for a quarter of the time, and gone from the 15th slice on. Processes are
// called COMM; what CPU n runs is of worker<n>.service.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/time_text.hpp"
#include "tests/support/synthetic_capture.hpp"

namespace perfvigil::test {
namespace {

constexpr std::size_t kSlices = 24;

SyntheticOptions options(const std::string& comm) {
    SyntheticOptions made;
    made.slices = kSlices;
    made.comm = comm;
    made.cpus[0].busy = 1;
    made.cpus[0].irq_in_idle = 0;
    made.cpus[1].busy = 0.25;
    made.cpus[1].irq_in_idle = 0;
    made.cpus[1].offline = {15 * made.slice, (kSlices + 1) * made.slice};
    return made;
}

struct Ends final : collector::RecordSink {
    void on_record(const collector::OrderedRecord&) override {}
    void on_cut(const collector::Cut& cut) override { walls.push_back(cut.wall); }
    std::vector<WallTime> walls;
};

boost::json::object truth_of(const std::string& comm) {
    SyntheticStream stream(options(comm));
    Ends ends;
    stream.run(ends);
    boost::json::array slices;
    for (std::size_t i = 0; i < stream.truth().size() && i < ends.walls.size(); ++i) {
        boost::json::array cpus;
        for (const auto& cpu : stream.truth()[i]) {
            cpus.push_back({{"cpu", cpu.cpu.value},
                            {"seconds", to_seconds(cpu.enabled)},
                            {"busy_seconds", to_seconds(cpu.task)},
                            {"samples", cpu.samples},
                            {"idle_samples", cpu.idle_samples}});
        }
        slices.push_back({{"end", iso_time(ends.walls[i])}, {"cpus", std::move(cpus)}});
    }
    return {{"comm", comm}, {"name", compact_time(ends.walls.front())}, {"slices", std::move(slices)}};
}

int run(const std::string& capture, const std::string& truth, const std::string& comm) {
    SyntheticStream stream(options(comm));
    const auto bytes = written_capture(stream, stream.host());
    if (!bytes) {
        std::fprintf(stderr, "make_capture: %s\n", bytes.error().message.c_str());
        return 1;
    }
    std::ofstream(capture, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
    std::ofstream(truth) << boost::json::serialize(truth_of(comm)) << '\n';
    return 0;
}

}  // namespace
}  // namespace perfvigil::test

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: make_capture CAPTURE TRUTH COMM\n");
        return 2;
    }
    return perfvigil::test::run(argv[1], argv[2], argv[3]);
}
