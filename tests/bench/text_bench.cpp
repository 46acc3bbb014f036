// SPDX-License-Identifier: GPL-2.0-or-later
// Folded stacks from the text of perf script, beside a collapsing script in awk on the same file in the same run.
// With a path: that text instead of a generated one of about 150 MB. Aim: ten times faster.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include "analyzer/input/load.hpp"
#include "base/time.hpp"
#include "tests/support/temp_folder.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::analyzer;

constexpr int kSamples = 100'000;
constexpr int kRuns = 3;

// What it takes to fold what perf prints: names of threads and functions may hold blanks, the period may be missing,
// events stay apart.
constexpr const char* kCollapse = R"(
/^#/ { next }
/^\t/ {
    name = $0
    sub(/^\t *[0-9a-f]+ /, "", name)
    if (match(name, / \(.*\)$/)) name = substr(name, 1, RSTART - 1)
    sub(/\+0x[0-9a-f]+$/, "", name)
    gsub(/;/, ":", name)
    stack = ";" name stack
    next
}
/^$/ { if (event != "") count[event " " comm stack] += weight; event = stack = ""; next }
match($0, / +[0-9]+(\/[0-9]+)? +(\[[0-9]+\] +)?[0-9]+\.[0-9]+: */) {
    comm = substr($0, 1, RSTART - 1)
    fields = split(substr($0, RSTART + RLENGTH), field, " ")
    weight = 1
    event = field[1]
    if (fields > 1 && field[1] ~ /^[0-9]+$/) { weight = field[1]; event = field[2] }
    stack = ""
}
END { for (key in count) { name = key; sub(/^[^ ]* /, "", name); printf "%s %.0f\n", name, count[key] } }
)";
// The least that folds this text: no names with blanks, one event.
constexpr const char* kLeast = R"(
/^[^\t]/ { comm = $1; weight = $5; stack = ""; next }
/^\t/    { name = $2; sub(/\+0x[0-9a-f]+$/, "", name); stack = ";" name stack; next }
         { count[comm stack] += weight }
END      { for (key in count) printf "%s %.0f\n", key, count[key] }
)";

// Call chains of 20 to 30 frames down a tree with a few hot branches: most outer parts repeat, as in real recordings.
void write_text(const std::string& path) {
    std::mt19937_64 random(20260131);
    std::vector<std::string> names;
    for (int i = 0; i < 4000; ++i) {
        const bool kernel = i % 5 == 0;
        names.push_back((kernel ? "__do_kernel_work_" : "service::Handler::process_request_") + std::to_string(i));
    }
    std::FILE* out = std::fopen(path.c_str(), "w");
    double time = 1000;
    for (int i = 0; i < kSamples; ++i) {
        time += 0.0005;
        const auto thread = random() % 24;
        std::fprintf(out, "worker-%d %7d/%-7d [%03d] %.6f:   10101010 cpu-clock: \n", static_cast<int>(thread % 6),
                     1000, static_cast<int>(1000 + thread), static_cast<int>(random() % 8), time);
        const int depth = 20 + static_cast<int>(random() % 11);
        std::vector<std::size_t> chain;
        std::size_t at = thread % 6;
        for (int frame = 0; frame < depth; ++frame) {
            const std::uint64_t draw = random() % 100;
            at = (at * 31 + (draw < 97 ? 1 : draw)) % names.size();
            chain.push_back(at);
        }
        // A sampled address is any; a return address belongs to one call.
        std::size_t callee = random() % 48;
        for (const auto function : chain | std::views::reverse) {
            const bool kernel = function % 5 == 0;
            const auto offset = static_cast<unsigned>((function * 7 + callee) % 48) * 4;
            callee = function;
            std::fprintf(out, "\t%16zx %s+0x%x (%s)\n", 0x55d0c0400000 + function * 256 + offset,
                         names[function].c_str(), offset,
                         kernel ? "[kernel.kallsyms]" : "/usr/lib/x86_64-linux-gnu/libservice.so.4.2.0");
        }
        std::fputc('\n', out);
    }
    std::fclose(out);
}

double cpu_ms(int whose) {
    rusage usage{};
    ::getrusage(whose, &usage);
    const auto ms = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
    };
    return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// CPU time, so that other load on the machine does not count.
double best_ms(int whose, const std::function<void()>& work) {
    double best = 1e12;
    for (int i = 0; i < kRuns; ++i) {
        const double before = cpu_ms(whose);
        work();
        best = std::min(best, cpu_ms(whose) - before);
    }
    return best;
}

double awk_ms(const std::string& program, const std::string& text, const std::string& folded) {
    const std::string command = "awk -f '" + program + "' '" + text + "' >'" + folded + "'";
    return best_ms(RUSAGE_CHILDREN, [&] { (void)!std::system(command.c_str()); });
}

std::uint64_t fold(const std::string& text, const std::string& folded) {
    const auto profile = load_profile(text, {}, system_clock());
    if (!profile) {
        std::fprintf(stderr, "%s\n", profile.error().message.c_str());
        std::exit(2);
    }
    std::FILE* out = std::fopen(folded.c_str(), "w");
    std::string line;
    for (const auto& sample : profile->samples) {
        line = profile->contexts[sample.context].comm;
        for (const auto function : profile->stacks[sample.stack].functions | std::views::reverse) {
            line += ';';
            line += profile->functions[function].name;
        }
        std::fprintf(out, "%s %llu\n", line.c_str(), static_cast<unsigned long long>(sample.weight));
    }
    std::fclose(out);
    return profile->events.front().weight;
}

bool same_stacks(const std::string& a, const std::string& b) {
    const std::string command = "sort '" + a + "' >'" + a + ".sorted'; sort '" + b + "' | cmp -s - '" + a + ".sorted'";
    return std::system(command.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    const test::TempFolder folder;
    std::string text = folder / "text";
    if (argc > 1)
        text = argv[1];
    else
        write_text(text);
    const double megabytes = static_cast<double>(std::filesystem::file_size(text)) / 1e6;
    const std::string ours = folder / "ours.folded";
    const double awk = awk_ms(folder.write("collapse.awk", std::string_view(kCollapse)), text, folder / "awk.folded");
    const double least = awk_ms(folder.write("least.awk", std::string_view(kLeast)), text, folder / "least.folded");
    const double mine = best_ms(RUSAGE_SELF, [&] { (void)fold(text, ours); });
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto row = [&](const char* name, double ms) {
        std::printf("%-20s %10.1f ms   %8.1f MB/s   %5.1f x\n", name, ms, megabytes / ms * 1000, ms / mine);
    };
    std::printf("text of perf script, %.1f MB; CPU time\n", megabytes);
    row("awk", awk);
    row("awk, least", least);
    row("perfvigil", mine);
    std::printf("peak memory          %10.1f MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
    if (argc == 1) std::printf("same stacks          %10s\n", same_stacks(folder / "awk.folded", ours) ? "yes" : "NO");
    return 0;
}
