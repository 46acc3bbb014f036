// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/disk_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/time_text.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes(std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

class DiskWriterTest : public testing::Test {
protected:
    std::unique_ptr<DiskWriter> writer(std::uint64_t budget = 1U << 20, DiskWriter::Limits limits = {}) {
        return std::make_unique<DiskWriter>(
            dir, budget,
            [this](const std::optional<Error>& error) {
                const std::lock_guard lock(mutex);
                said.push_back(error ? error->message : "well");
            },
            limits);
    }
    // A whole capture of this content.
    static void write_whole(DiskWriter& disk, const std::string& name, std::string_view content) {
        const auto file = disk.create(name);
        ASSERT_TRUE(file->append(bytes(content)));
        ASSERT_TRUE(file->commit());
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    }

    test::TempFolder folder;
    std::string dir = folder / "captures";
    std::mutex mutex;
    std::vector<std::string> said;
};

TEST_F(DiskWriterTest, WritesInOrderAndRenamesWhenWhole) {
    {
        const auto disk = writer();
        const auto file = disk->create("a.perf.data");
        EXPECT_EQ(file->path(), dir + "/a.perf.data");
        ASSERT_TRUE(file->append(bytes("HEAD....")));
        ASSERT_TRUE(file->append(bytes("body")));
        ASSERT_TRUE(file->write_at(4, bytes("size")));
        ASSERT_TRUE(file->commit());
    }
    EXPECT_EQ(test::slurp(dir + "/a.perf.data"), "HEADsizebody");
    EXPECT_THAT(files(), ElementsAre("a.perf.data"));
    EXPECT_THAT(said, ElementsAre("well"));
}

TEST_F(DiskWriterTest, AFileWithoutCommitKeepsItsTemporaryName) {
    {
        const auto disk = writer();
        ASSERT_TRUE(disk->create("a.perf.data")->append(bytes("half")));
    }
    EXPECT_THAT(files(), ElementsAre("a.perf.data.partial"));
    EXPECT_EQ(test::slurp(dir + "/a.perf.data.partial"), "half");
}

TEST_F(DiskWriterTest, TheOldestGoOverTheBudget) {
    fs::create_directories(dir);
    test::spill(dir + "/0.perf.data.partial", std::string(100, 'x'));  // of a killed daemon
    test::spill(dir + "/notes.txt", std::string(1000, 'x'));
    {
        const auto disk = writer(250);
        write_whole(*disk, "1.perf.data", std::string(100, 'a'));
        write_whole(*disk, "2.perf.data", std::string(100, 'b'));
        write_whole(*disk, "3.perf.data", std::string(100, 'c'));
    }
    EXPECT_THAT(files(), ElementsAre("2.perf.data", "3.perf.data", "notes.txt"));
    {
        const auto disk = writer(10);
        write_whole(*disk, "4.perf.data", std::string(100, 'd'));
    }
    EXPECT_THAT(files(), ElementsAre("4.perf.data", "notes.txt")) << "the newest stays, however small the budget";
}

TEST_F(DiskWriterTest, WhatIsFrozenCountsNeitherInTheBytesNorInTheAge) {
    const auto name = [](Nanoseconds ago) { return compact_time(system_clock().wall() - ago) + ".perf.data"; };
    const std::string old = name(std::chrono::hours(3));
    const std::string newer = name(std::chrono::hours(2));
    const std::string newest = name(std::chrono::hours(1));
    fs::create_directories(dir);
    test::spill(dir + "/" + old, std::string(100, 'a'));
    std::string id;
    {
        const auto disk = writer(150);
        ASSERT_TRUE(disk->order([&](FrozenCaptures& captures) {
            const auto now = system_clock().wall();
            const auto frozen = captures.freeze({.from = now - std::chrono::hours(4), .to = now});
            ASSERT_TRUE(frozen) << frozen.error().message;
            id = frozen->id;
        }));
        while (disk->frozen()->empty()) std::this_thread::yield();
        write_whole(*disk, newer, std::string(80, 'b'));
        write_whole(*disk, newest, std::string(70, 'c'));
        while (disk->bytes_on_disk() != 150) std::this_thread::yield();
        EXPECT_EQ(disk->frozen_bytes(), 100U);
    }
    EXPECT_THAT(files(), ElementsAre(old, newer, newest, "frozen")) << "250 bytes, of which 100 are frozen";
    {
        const auto disk = writer(150);
        disk->set_keep(std::chrono::minutes(90));
        write_whole(*disk, newest, std::string(70, 'c'));
    }
    EXPECT_THAT(files(), ElementsAre(newest, "frozen"));
    EXPECT_EQ(test::slurp(dir + "/frozen/" + id + "/" + old), std::string(100, 'a'));
}

TEST_F(DiskWriterTest, OldOnesGoAtTheirAge) {
    fs::create_directories(dir);
    const auto name = [](Nanoseconds ago) { return compact_time(system_clock().wall() - ago) + ".perf.data"; };
    const std::string old = name(std::chrono::hours(3));
    const std::string young = name(std::chrono::hours(1));
    const std::string newest = name({});
    test::spill(dir + "/" + old, "old");
    test::spill(dir + "/" + young, "young");
    {
        const auto disk = writer();
        disk->set_keep(std::chrono::hours(2));
        write_whole(*disk, newest, "newest");
    }
    EXPECT_THAT(files(), ElementsAre(young, newest));
    {
        const auto disk = writer();
        disk->set_keep(Nanoseconds(1));
        write_whole(*disk, newest, "newest");
    }
    EXPECT_THAT(files(), ElementsAre(newest)) << "the newest stays";
}

TEST_F(DiskWriterTest, WhereSpaceRunsOutTheFilesDoNotGrow) {
    fs::create_directories(dir);
    test::spill(dir + "/1.perf.data", std::string(100, 'a'));
    test::spill(dir + "/2.perf.data", std::string(100, 'b'));
    {
        const auto disk = writer();
        // What is there was looked at.
        while (disk->bytes_on_disk() != 200) std::this_thread::yield();
        disk->set_free_limit(UINT64_MAX);
        write_whole(*disk, "3.perf.data", std::string(100, 'c'));
        write_whole(*disk, "4.perf.data", std::string(50, 'd'));
    }
    EXPECT_THAT(files(), ElementsAre("3.perf.data", "4.perf.data"));
}

TEST_F(DiskWriterTest, ARefusingDiskIsReportedAndShownToTheSampler) {
    test::spill(dir, "a file where the folder should be");
    {
        const auto disk = writer();
        const auto file = disk->create("a.perf.data");
        // The thread finds out on its own time; then every call says so.
        Result<void> appended;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while ((appended || appended.error().message.find(dir) == std::string::npos) &&
               std::chrono::steady_clock::now() < deadline) {
            appended = file->append(bytes("x"));  // until then: taken, or the queue is full
        }
        ASSERT_FALSE(appended);
        EXPECT_THAT(appended.error().message, HasSubstr(dir));
        EXPECT_FALSE(file->commit());
        EXPECT_EQ(disk->abandoned_files(), 1U);
    }
    ASSERT_EQ(said.size(), 1U);
    EXPECT_THAT(said[0], HasSubstr(dir));
}

TEST_F(DiskWriterTest, WhatWaitsIsBounded) {
    const auto disk = writer(1U << 20, {.waiting_bytes = 100, .waiting_operations = 16});
    const auto file = disk->create("a.perf.data");
    const auto refused = file->append(bytes(std::string(101, 'x')));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
    EXPECT_THAT(refused.error().message, HasSubstr("too slow"));
}

}  // namespace
}  // namespace perfvigil::daemon
