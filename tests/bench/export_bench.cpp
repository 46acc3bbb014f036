// SPDX-License-Identifier: GPL-2.0-or-later
// Collapsed stacks of a capture of about 60 MB: `perfvigil export --to folded` beside `perf script` piped into a
// collapsing script, in one run, and how far apart they are. With a path: of that capture instead.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/capture_writer.hpp"
#include "tests/support/capture_file_sink.hpp"
#include "tests/support/capture_stream.hpp"
#include "tests/support/outside_tool.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;
using namespace perfvigil::test;

void write_capture(const std::string& path) {
    CaptureStream stream({.slices = 10, .samples_per_slice = 6000, .chain_depth = 25});
    auto writer =
        CaptureWriter::create(path, stream.events(), stream.host(), stream.processes(), {.compression_level = 0});
    if (!writer) std::abort();
    CaptureFileSink sink(**writer);
    stream.play(sink);
    if (!(*writer)->finish()) std::abort();
}

double seconds_of(const std::string& command) {
    const auto start = std::chrono::steady_clock::now();
    const int status = std::system(command.c_str());
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (status != 0) {
        std::fprintf(stderr, "status %d: %s\n", WEXITSTATUS(status), command.c_str());
        std::exit(1);
    }
    return took;
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

struct Total {
    std::size_t lines = 0;
    std::uint64_t weight = 0;
};
Total total_of(const std::string& path) {
    Total total;
    const auto text = read_file(path, 1U << 30).value();
    for (const auto line : split(text, '\n')) {
        ++total.lines;
        total.weight += parse_number<std::uint64_t>(line.substr(line.rfind(' ') + 1)).value_or(0);
    }
    return total;
}

void measure(const std::string& capture, const std::string& event) {
    const TempFolder folder;
    const std::string ours = folder / "ours", theirs = folder / "theirs";
    const double megabytes = static_cast<double>(MappedFile::open(capture)->bytes().size()) / 1e6;
    const std::string export_command = std::string(test::kPerfvigil) + " export " + quoted(capture) +
                                       " --to folded --idle --event " + event + " -o " + ours + " 2>/dev/null";
    const std::string script_command = "perf script -f --no-inline -i " + quoted(capture) +
                                       " -F comm,tid,time,period,event,ip,sym,dso 2>/dev/null | perl " +
                                       quoted(collapse_script()) + " " + event + " > " + theirs;
    double best = 1e9;
    for (int i = 0; i < 3; ++i) best = std::min(best, seconds_of(export_command));
    const double script = seconds_of(script_command);
    const Total our_total = total_of(ours), their_total = total_of(theirs);
    std::printf("%.1f MB, event %s\n", megabytes, event.c_str());
    std::printf("perfvigil export          %8.3f s   %8zu stacks, weight %lu\n", best, our_total.lines,
                our_total.weight);
    std::printf("perf script | collapse.pl %8.3f s   %8zu stacks, weight %lu\n", script, their_total.lines,
                their_total.weight);
    std::printf("ratio %.1f\n", script / best);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        measure(argv[1], argc > 2 ? argv[2] : "cpu-clock");
        return 0;
    }
    const TempFolder folder;
    const std::string capture = folder / "perf.data";
    write_capture(capture);
    measure(capture, "cpu-clock");
    return 0;
}
