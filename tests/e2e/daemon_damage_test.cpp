// SPDX-License-Identifier: GPL-2.0-or-later
// What the host takes away while the daemon runs: a full disk, a disk that becomes read-only, descriptors, the right
// time. One clear state each, and when it comes back all is well without a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/time.hpp"
#include "daemon/capture_files.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A small file system of the test's own.
class SmallDisk {
public:
    SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
        std::filesystem::create_directories(path_);
        mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    [[nodiscard]] bool mounted() const { return mounted_; }
    void fill() const {
        const UniqueFd fd(::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
        const std::string block(4096, 'x');
        while (::write(fd.get(), block.data(), block.size()) > 0) {
        }
    }
    void free() const { std::filesystem::remove(path_ + "/filler"); }

private:
    std::string path_;
    bool mounted_ = false;
};

class DaemonDamage : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    double metric(const std::string& name, const std::map<std::string, std::string>& labels) const {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed ? parsed->value("perfvigil_" + name, labels).value_or(-1) : -1;
    }
    std::size_t times_logged(const std::string& text) const {
        const auto log = daemon.log();
        std::size_t count = 0;
        for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
        return count;
    }
    // Completed windows that are not on the disk.
    std::size_t in_memory() const {
        const auto list = daemon.get_json("/v1/windows");
        return static_cast<std::size_t>(std::ranges::count_if(
            list.at("windows").as_array(), [](const auto& one) { return !one.at("stored").as_bool(); }));
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

TEST_F(DaemonDamage, AFullStoreDisk) {
    const SmallDisk disk(folder / "small", "2M");
    if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
    // Without a guard for free space: the disk itself refuses.
    daemon.start({.slice = "1s", .window = "1s", .storing = ", free: 0B", .store = folder / "small/store"});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    disk.fill();
    ASSERT_TRUE(daemon.wait_until([&] { return daemon.is_degraded("store"); })) << daemon.log();
    ASSERT_TRUE(daemon.wait_until([&] { return in_memory() >= 2; }));
    EXPECT_EQ(daemon.get("/v1/windows/latest/report").status, 200U) << "from memory";
    EXPECT_THAT(daemon.log(), HasSubstr("No space left on device"));
    EXPECT_EQ(times_logged("degraded reason=store "), 1U) << daemon.log();
    const auto before = daemon.get_json("/v1/windows").at("total").to_number<std::size_t>();
    disk.free();
    EXPECT_TRUE(daemon.wait_until([&] { return !daemon.is_degraded("store") && in_memory() == 0; })) << daemon.log();
    EXPECT_GE(daemon.get_json("/v1/windows").at("total").to_number<std::size_t>(), before) << "no window is lost";
    EXPECT_EQ(metric("windows_total", {{"result", "dropped"}}), 0);
}

TEST_F(DaemonDamage, AFullCaptureDisk) {
    if (std::getenv("PERFVIGIL_LONG") == nullptr) GTEST_SKIP() << "takes a minute: it is tried again so seldom";
    const SmallDisk disk(daemon.captures(), "1M");
    if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
    daemon.start({.slice = "1s", .window = "2s", .capturing = ", age: 2s", .storing = ", free: 0B"});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    disk.fill();
    ASSERT_TRUE(daemon.wait_until([&] { return daemon.is_degraded("captures"); })) << daemon.log();
    EXPECT_EQ(times_logged("degraded reason=captures"), 1U) << daemon.log();
    ASSERT_TRUE(daemon.wait_windows(4)) << "profiles go on";
    disk.free();
    EXPECT_TRUE(daemon.wait_until([&] { return !daemon.is_degraded("captures"); }, 90s)) << daemon.log();
    // What had to be given up is whole as far as it went.
    EXPECT_TRUE(daemon.wait_until([&] {
        const auto all = daemon::list_captures(daemon.captures());
        return std::ranges::count_if(all, [](const auto& one) { return daemon::is_partial_capture(one.path); }) <= 1;
    })) << daemon.log();
}

TEST_F(DaemonDamage, ADiskThatBecomesReadOnly) {
    daemon.start({.slice = "1s", .window = "1s", .capturing = ", enabled: false"});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    // A file system with open files cannot be made read-only by hand (the kernel does it after an error of the disk);
    // one that is laid over its folder refuses the same way.
    if (::mount("none", daemon.store().c_str(), "tmpfs", MS_RDONLY, nullptr) != 0) {
        GTEST_SKIP() << "needs the right to mount";
    }
    const bool told = daemon.wait_until([&] { return daemon.is_degraded("store") && in_memory() >= 2; });
    EXPECT_TRUE(told) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr("Read-only file system"));
    EXPECT_THAT(daemon.log(), HasSubstr("mount the file system of store.dir writable"));
    EXPECT_EQ(times_logged("degraded reason=store "), 1U) << daemon.log();
    ASSERT_EQ(::umount2(daemon.store().c_str(), MNT_DETACH), 0);
    EXPECT_TRUE(daemon.wait_until([&] { return !daemon.is_degraded("store") && in_memory() == 0; })) << daemon.log();
    EXPECT_EQ(metric("windows_total", {{"result", "dropped"}}), 0);
}

TEST_F(DaemonDamage, NoDescriptors) {
    daemon.start({.slice = "1s", .window = "1s"});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    rlimit before{};
    ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
    ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
    // Nobody can ask it now: a connection is a descriptor too.
    ASSERT_TRUE(daemon.wait_log("degraded reason=store ")) << daemon.log();
    std::this_thread::sleep_for(3s);
    EXPECT_THAT(daemon.log(), HasSubstr("Too many open files"));
    EXPECT_THAT(daemon.log(), HasSubstr("LimitNOFILE"));
    EXPECT_EQ(times_logged("degraded reason=store "), 1U) << daemon.log();
    ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_TRUE(daemon.wait_until([&] {
        return daemon.get("/healthz").status == 200 && !daemon.is_degraded("store") && in_memory() == 0;
    })) << daemon.log();
    EXPECT_EQ(metric("windows_total", {{"result", "dropped"}}), 0);
    EXPECT_EQ(metric("queue_drops_total", {{"queue", "slices"}}), 0) << "recording went on";
}

TEST_F(DaemonDamage, AClockThatIsSet) {
    const auto path = folder / "shift";
    test::spill(path, std::string(sizeof(std::int64_t), '\0'));
    const UniqueFd fd(::open(path.c_str(), O_RDWR));
    void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto& shift = *static_cast<volatile std::int64_t*>(mapped);
    const auto library = std::filesystem::path(test::client_path("split70_30")).parent_path() / "libclock_shift.so";
    ASSERT_TRUE(std::filesystem::exists(library)) << library;
    daemon.start({.slice = "1s",
                  .window = "2s",
                  .capturing = ", age: 3s",
                  .environment = {"LD_PRELOAD=" + library.string(), "CLOCK_SHIFT=" + path}});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    const auto stepped = [&] { return metric("slices_marked_total", {{"mark", "clock_stepped"}}); };
    ASSERT_EQ(stepped(), 0);
    const auto hour = std::chrono::nanoseconds(1h).count();
    std::set<std::string> all;
    double steps = 0;
    for (const auto next : {hour, -2 * hour}) {
        for (const auto& id : daemon.stored_windows()) all.insert(id);
        shift = next;
        ++steps;
        ASSERT_TRUE(daemon.wait_until([&] { return stepped() == steps; })) << daemon.log();
        const auto windows = all.size();
        ASSERT_TRUE(daemon.wait_windows(windows + 3)) << daemon.log();
        EXPECT_EQ(daemon.get("/healthz").status, 200U);
        // What was complete before is there still.
        const auto now = daemon.stored_windows();
        for (const auto& id : all) EXPECT_NE(std::ranges::find(now, id), now.end()) << id;
    }
    EXPECT_EQ(times_logged("the clock was set, or the host slept"), 2U) << daemon.log();
    EXPECT_EQ(metric("queue_drops_total", {{"queue", "slices"}}), 0);
    std::string reports;
    for (const auto& id : daemon.stored_windows()) reports += daemon.get("/v1/windows/" + id + "/report?width=0").body;
    EXPECT_THAT(reports, HasSubstr("The clock was set, or the host slept"));
    ::munmap(mapped, sizeof(std::int64_t));
}

}  // namespace
}  // namespace perfvigil
