// SPDX-License-Identifier: GPL-2.0-or-later
// Programs of two milliseconds in a container: when the sampler hears of one, it is gone, its file is nowhere on the
// host, and only another process of the same mount namespace still leads to it.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/stream_analysis.hpp"
#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/host_symbolizer.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/text.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/length.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The shared objects that this process and the client both need, where the loader will look for them.
void copy_libraries(const fs::path& root) {
    const auto maps = read_file("/proc/self/maps");
    for (const auto line : split(*maps, '\n')) {
        const auto at = line.find('/');
        if (at == std::string_view::npos) continue;
        const fs::path path(line.substr(at));
        const auto name = path.filename().string();
        if (!name.starts_with("libc.so") && !name.starts_with("ld-linux") && !name.starts_with("libpthread")) continue;
        for (const auto& folder : {path.parent_path(), fs::path("/lib64")}) {
            fs::create_directories(root / folder.relative_path());
            fs::copy_file(path, root / (folder / name).relative_path(), fs::copy_options::skip_existing);
        }
    }
}

// Runs `command` with `root` as its root, in a mount namespace of its own.
pid_t start_in_container(const fs::path& root, const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const std::string path = root.string();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(10);
    if (::mkdir((path + "/proc").c_str(), 0755) != 0 && errno != EEXIST) ::_exit(11);
    if (::mount("proc", (path + "/proc").c_str(), "proc", 0, nullptr) != 0) ::_exit(12);
    if (::chroot(path.c_str()) != 0 || ::chdir("/") != 0) ::_exit(13);
    const int null = ::open("/out", O_WRONLY | O_CREAT, 0600);
    ::dup2(null, STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(14);
}

TEST(SymbolsShortProcesses, OfAContainerAreNamed) {
    if (const std::string why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    if (::geteuid() != 0) GTEST_SKIP() << "a mount namespace and a chroot take root";
    const int count = test::by_length(1500, 10'000);

    const test::TempFolder folder;
    const auto root = folder.path() / "container";
    fs::create_directories(root / "app");
    fs::copy_file(test::client_path("short_children"), root / "app/hidden_name");
    copy_libraries(root);

    const Clock& clock = system_clock();
    collector::RecordingOptions options;
    options.events = {{"cpu-clock", collector::kTypeSoftware, collector::kSwCpuClock}};
    options.tuning.frequency = 999;
    auto session = collector::RecordingSession::open(options, clock);
    ASSERT_TRUE(session) << session.error().message;

    analyzer::SymbolChildOptions child_options;
    child_options.program = test::kPerfvigilSymbols;
    analyzer::SymbolChild child(child_options, clock);
    analyzer::FileOpener opener(analyzer::Origin::kLive, {}, analyzer::opened_files_limits(), clock);
    analyzer::HostSymbolizer symbolizer({}, opener, child, clock);
    analyzer::StreamAnalysis analysis((*session)->events(), symbolizer, {}, {}, &opener);
    ASSERT_TRUE((*session)->start());

    const pid_t parent = start_in_container(root, {"/app/hidden_name", std::to_string(count), "2000"});
    ASSERT_GT(parent, 0);
    int status = -1;
    const auto deadline = clock.monotonic() + 250s;
    while (::waitpid(parent, &status, WNOHANG) == 0 && clock.monotonic() < deadline) {
        ASSERT_TRUE((*session)->pump(analysis));
        ::usleep(100'000);  // as the daemon's sampler drains
    }
    ASSERT_EQ(status, 0) << "the client's end, as waitpid(2) has it";
    ASSERT_TRUE((*session)->finish(analysis));
    const auto profile = analysis.build((*session)->host(), "short");

    std::uint64_t all = 0;
    std::uint64_t named = 0;
    std::uint64_t right = 0;
    std::map<std::string, std::uint64_t> others;  // for the message when it fails
    for (const auto& sample : profile.samples) {
        const auto& stack = profile.stacks[sample.stack];
        if (stack.functions.empty()) continue;
        const auto& leaf = profile.functions[stack.functions.front()];
        if (leaf.kernel || base_name(leaf.dso) != "hidden_name") continue;
        all += sample.samples;
        if (leaf.reason == analyzer::UnknownReason::kNone)
            named += sample.samples;
        else
            others[leaf.dso + ' ' + std::string(analyzer::reason_name(leaf.reason))] += sample.samples;
        if (leaf.name == "short_life" || leaf.name == "cpu_ns" || leaf.name == "clock_gettime@plt")
            right += sample.samples;
    }
    // The rest of their 2 ms is in the vDSO that tells them the time: how much depends on the clock source.
    EXPECT_GT(all, static_cast<std::uint64_t>(count) / 2);
    EXPECT_GE(named * 10, all * 9) << named << " of " << all << ' ' << testing::PrintToString(others);
    EXPECT_GE(right * 10, all * 9) << right << " of " << all;
    RecordProperty("named", std::to_string(named) + " of " + std::to_string(all));
}

}  // namespace
}  // namespace perfvigil
