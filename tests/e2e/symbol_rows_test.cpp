// SPDX-License-Identifier: GPL-2.0-or-later
// One program per way in which code can be hard to name, all running at once: built here by the C compiler, stripped,
// deleted, replaced, moved into a chroot. What `perfvigil record` says while they live, and what it and stock perf make
// of the same capture.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "tests/support/argued_differences.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace fs = std::filesystem;

// Works in NAME until it is killed.
constexpr const char* kHot = R"(
#define _GNU_SOURCE
#include <time.h>
__attribute__((noinline)) unsigned long NAME(unsigned long n) {
    volatile unsigned long x = 0;
    for (unsigned long i = 0; i < n; ++i) x += i;
    return x;
}
int main(void) { for (;;) NAME(1000000); }
)";

constexpr const char* kLibrary = R"(
__attribute__((noinline)) unsigned long hot_library(unsigned long n) {
    volatile unsigned long x = 0;
    for (unsigned long i = 0; i < n; ++i) x += i;
    return x;
}
)";

constexpr const char* kLoadsLibrary = R"(
#include <dlfcn.h>
int main(int argc, char** argv) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (!library) return 1;
    unsigned long (*work)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(library, "hot_library");
    for (;;) work(1000000);
}
)";

// Not clock_gettime(): with some clock sources (kvm-clock) its time is spent in a helper that the vDSO has no name for.
constexpr const char* kAsksForTheTime = R"(
#include <time.h>
int main(void) { for (;;) time(NULL); }
)";

// Executes a copy of argv[1] that is in no file system.
constexpr const char* kFromMemory = R"(
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char** argv, char** environment) {
    char buffer[65536];
    int from = open(argv[1], O_RDONLY), to = memfd_create("row_memfd", MFD_CLOEXEC);
    for (ssize_t n; (n = read(from, buffer, sizeof(buffer))) > 0;) if (write(to, buffer, n) != n) return 1;
    fexecve(to, argv + 1, environment);
    return 2;
}
)";

constexpr const char* kChroots = R"(
#include <unistd.h>
int main(int argc, char** argv) {
    if (chroot(argv[1]) != 0 || chdir("/") != 0) return 1;
    execv(argv[2], argv + 2);
    return 2;
}
)";

// DSO (last part of its path) and function that each row must show. The functions are static in no file's dynamic
// symbols, so each name comes from where the row says.
std::map<std::string, std::string> all_rows() {
    return {
        {"row_pie", "hot_pie"},           {"row_nopie", "hot_nopie"},     {"row_static", "hot_static"},
        {"row_mini", "hot_mini"},         {"row_link", "hot_link"},       {"row_deleted", "hot_deleted"},
        {"row_replaced", "hot_replaced"}, {"row_chroot", "hot_chroot"},   {"memfd:row_memfd", "hot_memfd"},
        {"librow.so", "hot_library"},     {"row_overlay", "hot_overlay"}, {"[vdso]", "__vdso_time"},
    };
}

class SymbolRows : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
        if (::geteuid() != 0) GTEST_SKIP() << "a chroot and other processes' files take root";
        for (const char* tool : {"cc", "objcopy", "nm", "xz", "strip"}) {
            if (std::system(("command -v " + std::string(tool) + " >/dev/null").c_str()) != 0)
                GTEST_SKIP() << tool << " is not installed";
        }
    }
    static void sh(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
    std::string compile(const std::string& name, const std::string& source, const std::string& options) {
        const auto path = folder_ / name;
        const auto text = folder_.write(name + ".c", source);
        sh("cc -O1 -g -fno-omit-frame-pointer -Wl,--build-id " + options + " -o " + path + " " + text + " -ldl");
        return path;
    }
    static std::string hot(const std::string& name) { return "#define NAME " + name + "\n" + kHot; }
    void run(const std::string& program, std::vector<std::string> arguments = {}) {
        running_.push_back(std::make_unique<test::Client>(program, std::move(arguments)));
    }

    void start_rows();
    void start_overlay();

    test::TempFolder folder_;
    std::vector<std::unique_ptr<test::Client>> running_;
    std::map<std::string, std::string> rows_ = all_rows();
};

void SymbolRows::start_rows() {
    run(compile("row_pie", hot("hot_pie"), "-pie -fPIE"));
    run(compile("row_nopie", hot("hot_nopie"), "-no-pie -fno-pie"));
    run(compile("row_static", hot("hot_static"), "-static"));

    // MiniDebugInfo, as distributions make it: the functions' symbols alone, packed into the stripped file.
    const auto mini = compile("row_mini", hot("hot_mini"), "");
    sh("cd " + (folder_ / "") +
       " && nm row_mini --defined-only --format=posix | awk '$2 ~ /[tT]/ { print $1 }' > keep && "
       "objcopy --only-keep-debug row_mini mini.debug && objcopy -S --remove-section .comment "
       "--keep-symbols=keep mini.debug mini.symbols 2>/dev/null && xz -kf mini.symbols && strip row_mini && "
       "objcopy --add-section .gnu_debugdata=mini.symbols.xz row_mini");
    run(mini);

    // A debug link, without a build-id that could lead to the file.
    const auto link = compile("row_link", hot("hot_link"), "-Wl,--build-id=none");
    sh("cd " + (folder_ / "") +
       " && mkdir -p .debug && objcopy --only-keep-debug row_link .debug/row_link.debug && strip row_link && "
       "cd .debug && objcopy --add-gnu-debuglink=row_link.debug ../row_link");
    run(link);

    const auto deleted = compile("row_deleted", hot("hot_deleted"), "");
    run(deleted);
    const auto replaced = compile("row_replaced", hot("hot_replaced"), "");
    run(replaced);
    ::usleep(200'000);  // until they execute
    fs::remove(deleted);
    fs::rename(compile("other", hot("wrong_name"), ""), replaced);

    // "/link" is absolute: from the host's root it leads to another program of the same path.
    fs::create_directories(folder_.path() / "root/real");
    fs::rename(compile("in_root", hot("hot_chroot"), "-static"), folder_ / "root/real/row_chroot");
    fs::create_symlink("/real", folder_ / "root/link");
    run(compile("chroots", kChroots, ""), {folder_ / "root", "/link/row_chroot"});

    run(compile("row_loads", kLoadsLibrary, ""), {compile("librow.so", kLibrary, "-shared -fPIC")});
    run(compile("row_vdso", kAsksForTheTime, ""));
    start_overlay();
    // While it is recorded: the kernel tells that a memfd is a program only when it maps it. /proc does not.
    const auto from_memory = compile("from_memory", kFromMemory, "");
    const auto for_memory = compile("for_memory", hot("hot_memfd"), "");
    run("/bin/sh", {"-c", "sleep 2; exec " + from_memory + " " + for_memory});
    ::usleep(300'000);
}

// A program that only a process of another mount namespace sees, on a file system of layers.
void SymbolRows::start_overlay() {
    fs::create_directories(folder_ / "layers/upper");
    fs::create_directories(folder_ / "layers/work");
    fs::create_directories(folder_ / "layers/merged");
    fs::create_directories(folder_ / "layers/lower");
    fs::rename(compile("in_layer", hot("hot_overlay"), ""), folder_ / "layers/lower/row_overlay");
    const auto mount = "cd " + (folder_ / "layers") +
                       " && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged";
    if (std::system(("unshare -m sh -c '" + mount + "' 2>/dev/null").c_str()) != 0) {
        rows_.erase("row_overlay");  // no overlayfs here, or not upon this file system
        return;
    }
    run("/usr/bin/unshare", {"-m", "sh", "-c", mount + " && exec merged/row_overlay"});
}

struct Seen {
    std::uint64_t all = 0;
    std::uint64_t named = 0;                       // in any function
    std::map<std::string, std::uint64_t> symbols;  // self samples
};

// User code by the last part of its DSO's name.
std::map<std::string, Seen> seen_in(const test::ReportView& report) {
    std::map<std::string, Seen> dsos;
    for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
        const auto& row = value.as_object();
        if (row.at("kernel").as_bool()) continue;
        std::string dso(row.at("dso").as_string());
        if (dso.ends_with(" (deleted)")) dso.resize(dso.size() - 10);
        Seen& seen = dsos[std::string(base_name(dso))];
        const auto samples = row.at("self_samples").to_number<std::uint64_t>();
        seen.all += samples;
        if (row.contains("unknown")) continue;
        seen.named += samples;
        seen.symbols[std::string(row.at("symbol").as_string())] += samples;
    }
    return dsos;
}

// The same by `perf report`.
std::map<std::string, Seen> seen_by_perf(const std::string& file) {
    const auto text = test::output_of("/usr/bin/perf", {"report", "-f", "-i", file, "--stdio", "-g", "none",
                                                        "--no-children", "-F", "sample,period,dso,sym", "-t", "|"});
    std::map<std::string, Seen> dsos;
    for (const auto line : split(text, '\n')) {
        const auto cells = split(line, '|');
        if (line.starts_with('#') || cells.size() != 4 || !trim(cells[3]).starts_with("[.]")) continue;
        std::string dso(trim(cells[2]));
        if (dso.ends_with(" (deleted)")) dso.resize(dso.size() - 10);
        Seen& seen = dsos[std::string(base_name(dso))];
        const auto samples = parse_number<std::uint64_t>(trim(cells[0])).value();
        seen.all += samples;
        auto symbol = std::string(trim(cells[3]).substr(4));
        if (symbol.starts_with("0x")) continue;
        if (!symbol.ends_with("@plt")) symbol.resize(std::min(symbol.size(), symbol.find('@', 1)));
        seen.named += samples;
        seen.symbols[symbol] += samples;
    }
    return dsos;
}

TEST_F(SymbolRows, AreNamedWhileTheyLiveAndAsPerfNamesThem) {
    start_rows();
    if (HasFatalFailure()) return;
    const auto capture = folder_ / "rows.data";
    const auto live = seen_in(test::ReportView::of_perfvigil(
        {"record", "--json", "-o", capture, "-a", "-F", "999", "-e", "cpu-clock", "-d", "5s"}));
    for (const auto& [dso, function] : rows_) {
        ASSERT_TRUE(live.contains(dso)) << dso;
        const Seen& seen = live.at(dso);
        EXPECT_GT(seen.all, 100U) << dso;
        const auto right = seen.symbols.contains(function) ? seen.symbols.at(function) : 0;
        EXPECT_GE(right * 100, seen.all * 95) << dso << ": " << testing::PrintToString(seen.symbols);
        EXPECT_FALSE(seen.symbols.contains("wrong_name")) << dso;
    }

    // The same capture once more, while the programs still run.
    if (::access("/usr/bin/perf", X_OK) != 0) GTEST_SKIP() << "perf is not installed";
    const auto ours = seen_in(test::ReportView::of_perfvigil({"report", "--json", capture}));
    const auto theirs = seen_by_perf(capture);
    test::ArguedDifferences argued("symbol_rows_perf.txt");
    std::uint64_t named_by_us = 0;
    std::uint64_t named_by_perf = 0;
    std::set<std::string> differences;
    for (const auto& [dso, row] : rows_) {
        const Seen of_ours = ours.contains(dso) ? ours.at(dso) : Seen{};
        const Seen of_perf = theirs.contains(dso) ? theirs.at(dso) : Seen{};
        EXPECT_EQ(of_ours.all, of_perf.all) << dso;
        named_by_us += of_ours.named;
        named_by_perf += of_perf.named;
        if (of_ours.named < of_perf.named) differences.insert(dso + ": perf names more");
        if (of_ours.named > of_perf.named) differences.insert(dso + ": we name more");
        for (const auto& [symbol, samples] : of_perf.symbols) {
            const auto found = of_ours.symbols.find(symbol);
            // A handful of samples may lie in start-up code.
            if (samples >= 5 && (found == of_ours.symbols.end() || found->second != samples))
                differences.insert(dso + ": " + symbol);
        }
    }
    EXPECT_GE(named_by_us, named_by_perf);
    for (const auto& difference : differences) argued.found(difference);
    argued.expect_all_found();
}

}  // namespace
}  // namespace perfvigil
