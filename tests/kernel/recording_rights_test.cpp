// SPDX-License-Identifier: GPL-2.0-or-later
// Without rights: what still works, and the one sentence that says what is missing. Each case runs in a child that
// gives its rights up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;

constexpr uid_t kNobody = 65534;

// What `body` returns when run by a user without any rights.
std::string as_nobody(const std::function<std::string()>& body) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return "pipe";
    const pid_t pid = ::fork();
    if (pid == 0) {
        std::string text = "cannot change user";
        if (::setresgid(kNobody, kNobody, kNobody) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0) text = body();
        (void)!::write(pipe[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(pipe[1]);
    const UniqueFd read_end(pipe[0]);
    auto text = read_fd(read_end.get(), 1U << 16);
    ::waitpid(pid, nullptr, 0);
    return text.value_or("read");
}

std::string outcome(const RecordingOptions& options) {
    const auto session = RecordingSession::open(options, system_clock());
    if (!session) return "error: " + session.error().message;
    std::string text = "open:";
    for (const Degraded& entry : (*session)->degraded()) text += " " + entry.reason;
    return text;
}

int paranoid() {
    const auto text = read_file("/proc/sys/kernel/perf_event_paranoid", 64);
    return text ? parse_number<int>(trim(*text)).value_or(-2) : -2;
}

RecordingOptions clock_only() {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    return options;
}

TEST(RecordingRights, WholeCpusWithoutAny) {
    if (::getuid() != 0) GTEST_SKIP() << "needs root, to give it up";
    if (paranoid() < 1) GTEST_SKIP() << "kernel.perf_event_paranoid lets everyone record";
    const std::string text = as_nobody([] { return outcome(clock_only()); });
    EXPECT_TRUE(text.starts_with("error: cpu-clock: perf_event_open: Permission denied: ")) << text;
    EXPECT_TRUE(text.contains("kernel.perf_event_paranoid is " + std::to_string(paranoid()))) << text;
    EXPECT_TRUE(text.contains(paranoid() > 2 ? "CAP_SYS_ADMIN" : "CAP_PERFMON")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(RecordingRights, OurOwnProcessWithoutKernel) {
    if (::getuid() != 0) GTEST_SKIP() << "needs root, to give it up";
    if (paranoid() != 2) GTEST_SKIP() << "needs kernel.perf_event_paranoid=2, which forbids the kernel's samples only";
    const std::string text = as_nobody([] {
        RecordingOptions options = clock_only();
        options.target = Processes{{Pid{::getpid()}}};
        return outcome(options);
    });
    EXPECT_EQ(text, "open: no_kernel_samples");
}

TEST(RecordingRights, SomebodyElsesProcess) {
    if (::getuid() != 0) GTEST_SKIP() << "needs root, to give it up";
    const pid_t us = ::getpid();
    const std::string text = as_nobody([us] {
        RecordingOptions options = clock_only();
        options.target = Processes{{Pid{us}}};
        return outcome(options);
    });
    EXPECT_TRUE(text.starts_with("error: cpu-clock: perf_event_open: Permission denied: ")) << text;
}

TEST(RecordingRights, LittleRingMemoryMakesSmallRings) {
    if (::getuid() != 0) GTEST_SKIP() << "needs root, to give it up";
    if (paranoid() != 2) GTEST_SKIP() << "needs kernel.perf_event_paranoid=2";
    const std::string text = as_nobody([] {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_MEMLOCK, &none);
        RecordingOptions options = clock_only();
        options.target = Processes{{Pid{::getpid()}}};
        options.tuning.sample_ring_bytes = 8U << 20;
        return outcome(options);
    });
    EXPECT_EQ(text, "open: no_kernel_samples small_rings");
}

TEST(RecordingRights, FewFilesAreRaised) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{8, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const std::string text = outcome(clock_only());
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(text.starts_with("open:")) << text;
}

}  // namespace
}  // namespace perfvigil::test
