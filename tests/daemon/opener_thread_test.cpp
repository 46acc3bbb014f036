// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/opener_thread.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/elf_image.hpp"

namespace perfvigil::daemon {
namespace {

using analyzer::OpenedFile;
using analyzer::OpenedFileRef;

// Stands for the file systems: paths open at once, fail, or hang until let go.
class FakeFiles {
public:
    Result<OpenedFileRef> open(const collector::Dso& dso, Pid pid) {
        std::unique_lock lock(mutex_);
        opened_.push_back(dso.path + '@' + std::to_string(pid.value));
        changed_.notify_all();
        changed_.wait(lock, [&] { return !hanging_.contains(dso.path); });
        if (missing_.contains(dso.path)) return fail(ErrorCode::kNotFound, dso.path);
        auto file = std::make_shared<OpenedFile>();
        file->build_id = dso.build_id;
        return file;
    }
    void hang(const std::string& path) {
        const std::scoped_lock lock(mutex_);
        hanging_.emplace(path, true);
    }
    void let_go() {
        const std::scoped_lock lock(mutex_);
        hanging_.clear();
        changed_.notify_all();
    }
    void set_missing(const std::string& path, bool missing) {
        const std::scoped_lock lock(mutex_);
        if (missing)
            missing_.emplace(path, true);
        else
            missing_.erase(path);
    }
    void wait_until_asked(std::size_t times) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return opened_.size() >= times; });
    }
    std::vector<std::string> opened() {
        const std::scoped_lock lock(mutex_);
        return opened_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, bool> hanging_;
    std::map<std::string, bool> missing_;
    std::vector<std::string> opened_;
};

class OpenerThreadTest : public testing::Test {
protected:
    OpenerThreadOptions options() {
        OpenerThreadOptions made;
        made.make_opener = [files = files_]() -> OpenDso {
            return [files](const collector::Dso& dso, Pid pid) { return files->open(dso, pid); };
        };
        made.answer_limit = std::chrono::seconds(60);
        return made;
    }
    void TearDown() override { files_->let_go(); }

    collector::DsoRef dso(const std::string& path, const char* build_id = "") {
        auto made = std::make_shared<collector::Dso>();
        made->id = collector::DsoId{++next_id_};
        made->path = path;
        made->first_pid = Pid{5};
        if (*build_id != '\0') made->build_id = test::build_id_of(build_id);
        return made;
    }

    std::shared_ptr<FakeFiles> files_ = std::make_shared<FakeFiles>();  // threads that hang may outlive the test
    std::uint32_t next_id_ = 0;
};

TEST_F(OpenerThreadTest, OpensWhatWasMapped) {
    OpenerThread opener(options(), system_clock());
    const auto app = dso("/app");
    opener.on_dso_mapped(app, Pid{7});
    files_->wait_until_asked(1);
    ASSERT_TRUE(opener.file_of(*app));
    EXPECT_EQ(files_->opened(), (std::vector<std::string>{"/app@7"}));
    EXPECT_EQ(opener.counters().opened, 1U);
    EXPECT_EQ(opener.counters().open_files, 1U);
    opener.release(*app);
    EXPECT_EQ(opener.counters().open_files, 0U);
}

TEST_F(OpenerThreadTest, RunsErrandsOnItsThread) {
    OpenerThread opener(options(), system_clock());
    const auto where = std::make_shared<std::thread::id>();
    ASSERT_TRUE(opener.run([where] { *where = std::this_thread::get_id(); }));
    EXPECT_NE(*where, std::thread::id());
    EXPECT_NE(*where, std::this_thread::get_id());
}

TEST_F(OpenerThreadTest, AnErrandThatHangsCostsItsThreadAndNothingElse) {
    auto short_limits = options();
    short_limits.answer_limit = std::chrono::milliseconds(10);
    short_limits.stuck_after = std::chrono::milliseconds(20);
    OpenerThread opener(short_limits, system_clock());
    files_->hang("/mount");
    const auto hung = opener.run([files = files_, mount = dso("/mount")] { (void)files->open(*mount, Pid{1}); });
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code, ErrorCode::kBusy);
    const auto app = dso("/app");
    auto answer = opener.file_of(*app);
    while (!answer && answer.error().code == ErrorCode::kBusy) answer = opener.file_of(*app);
    EXPECT_TRUE(answer);
    EXPECT_EQ(opener.counters().replaced, 1U);
    files_->let_go();
}

TEST_F(OpenerThreadTest, OpensWhatTheAnalystAsksFor) {
    OpenerThread opener(options(), system_clock());
    EXPECT_TRUE(opener.file_of(*dso("/never/mapped")));
    EXPECT_EQ(files_->opened(), (std::vector<std::string>{"/never/mapped@5"}));
}

TEST_F(OpenerThreadTest, OpensAFileOncePerBuildId) {
    OpenerThread opener(options(), system_clock());
    const auto first = dso("/a", "aa");
    const auto second = dso("/b", "aa");
    opener.on_dso_mapped(first, Pid{7});
    ASSERT_TRUE(opener.file_of(*first));
    opener.on_dso_mapped(second, Pid{8});
    ASSERT_TRUE(opener.file_of(*second));
    EXPECT_EQ(files_->opened().size(), 1U);
}

TEST_F(OpenerThreadTest, TriesAgainWhenAnotherProcessMapsWhatFailed) {
    OpenerThread opener(options(), system_clock());
    const auto app = dso("/app");
    files_->set_missing("/app", true);
    opener.on_dso_mapped(app, Pid{7});
    files_->wait_until_asked(1);
    EXPECT_FALSE(opener.file_of(*app));
    files_->set_missing("/app", false);
    opener.on_dso_mapped(app, Pid{8});
    files_->wait_until_asked(2);
    // The failure is known until the new answer is there.
    while (!opener.file_of(*app)) std::this_thread::yield();
    const auto opened = files_->opened().size();
    opener.on_dso_mapped(app, Pid{9});
    ASSERT_TRUE(opener.file_of(*dso("/sync")));
    EXPECT_EQ(files_->opened().size(), opened + 1);  // an open file is not opened again
}

TEST_F(OpenerThreadTest, IgnoresWhatHasNoFile) {
    OpenerThread opener(options(), system_clock());
    auto jit = std::make_shared<collector::Dso>(*dso("//anon"));
    jit->kind = collector::DsoKind::kAnonymous;
    opener.on_dso_mapped(jit, Pid{7});
    EXPECT_EQ(opener.counters().queued, 0U);
}

TEST_F(OpenerThreadTest, CountsWhatItsQueueDoesNotTake) {
    auto small = options();
    small.queue = 4;
    OpenerThread opener(small, system_clock());
    files_->hang("/hangs");
    opener.on_dso_mapped(dso("/hangs"), Pid{7});
    files_->wait_until_asked(1);
    std::vector<collector::DsoRef> later;
    for (int i = 0; i < 10; ++i) {
        later.push_back(dso("/later" + std::to_string(i)));
        opener.on_dso_mapped(later.back(), Pid{8});
    }
    EXPECT_EQ(opener.counters().queued, 5U);
    EXPECT_EQ(opener.counters().dropped, 6U);
    files_->let_go();
    for (const auto& each : later) EXPECT_TRUE(opener.file_of(*each));  // dropped ones when asked for
}

TEST_F(OpenerThreadTest, AnswersBusyWhileAnOpenHangs) {
    auto impatient = options();
    impatient.answer_limit = std::chrono::milliseconds(20);
    impatient.stuck_after = std::chrono::hours(1);
    OpenerThread opener(impatient, system_clock());
    files_->hang("/hangs");
    const auto hangs = dso("/hangs");
    const auto answer = opener.file_of(*hangs);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kBusy);
    // Those behind it are not waited for.
    for (int i = 0; i < 100; ++i) EXPECT_EQ(opener.file_of(*dso("/behind")).error().code, ErrorCode::kBusy);
    files_->let_go();
    while (!opener.file_of(*hangs)) std::this_thread::yield();
}

TEST_F(OpenerThreadTest, ReplacesAThreadThatHangs) {
    auto impatient = options();
    impatient.answer_limit = std::chrono::milliseconds(10);
    impatient.stuck_after = std::chrono::milliseconds(30);
    OpenerThread opener(impatient, system_clock());
    files_->hang("/hangs");
    const auto hangs = dso("/hangs");
    const auto good = dso("/good");
    opener.on_dso_mapped(hangs, Pid{7});
    files_->wait_until_asked(1);
    while (!opener.file_of(*good)) std::this_thread::yield();
    EXPECT_EQ(opener.counters().replaced, 1U);
    EXPECT_EQ(opener.counters().stuck, 1U);
    EXPECT_EQ(opener.file_of(*hangs).error().code, ErrorCode::kIo);
    // It comes back after all: its answer counts, it does not.
    files_->let_go();
    while (opener.counters().stuck != 0) std::this_thread::yield();
    EXPECT_TRUE(opener.file_of(*hangs));
    EXPECT_TRUE(opener.file_of(*dso("/more")));
}

TEST_F(OpenerThreadTest, GivesUpAFewThreadsOnly) {
    auto impatient = options();
    impatient.answer_limit = std::chrono::milliseconds(5);
    impatient.stuck_after = std::chrono::milliseconds(10);
    impatient.max_stuck = 2;
    impatient.stop_limit = std::chrono::milliseconds(20);
    OpenerThread opener(impatient, system_clock());
    for (const char* path : {"/h1", "/h2", "/h3", "/h4"}) files_->hang(path);
    std::vector<collector::DsoRef> all;
    for (const char* path : {"/h1", "/h2", "/h3", "/h4"}) all.push_back(dso(path));
    for (int i = 0; i < 200; ++i) {
        for (const auto& each : all) (void)opener.file_of(*each);
        std::this_thread::yield();
        if (opener.counters().replaced == 2) break;
    }
    while (opener.counters().replaced < 2) (void)opener.file_of(*all.back());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(opener.file_of(*all[3]).error().code, ErrorCode::kBusy);
    EXPECT_EQ(opener.counters().replaced, 2U);
}

TEST_F(OpenerThreadTest, EndsThoughAnOpenHangs) {
    auto quick = options();
    quick.stop_limit = std::chrono::milliseconds(20);
    const auto opener = std::make_unique<OpenerThread>(quick, system_clock());
    files_->hang("/hangs");
    opener->on_dso_mapped(dso("/hangs"), Pid{7});
    files_->wait_until_asked(1);
    EXPECT_EQ(opener->counters().opened, 0U);  // it still hangs, and the destructor must return all the same
}

TEST_F(OpenerThreadTest, OpensRealFiles) {
    OpenerThreadOptions real;
    OpenerThread opener(real, system_clock());
    auto self = std::make_shared<collector::Dso>(*dso("/proc/self/exe"));
    self->path = std::filesystem::read_symlink("/proc/self/exe");
    opener.on_dso_mapped(self, Pid{::getpid()});
    const auto file = opener.file_of(*self);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_FALSE((*file)->build_id.empty());
}

}  // namespace
}  // namespace perfvigil::daemon
