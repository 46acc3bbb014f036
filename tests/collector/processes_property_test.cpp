// SPDX-License-Identifier: GPL-2.0-or-later
// A random history of forks, threads, execs, mappings, exits and pids that come again, told to the table and to a
// model that keeps one entry per byte of every process: every lookup must agree at every moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collector/processes.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kSpace = 256;
constexpr std::int32_t kPids = 24;

struct Byte {
    std::string path;
    std::uint64_t offset = 0;
    bool operator==(const Byte&) const = default;
};

struct ModelProcess {
    std::string comm;
    std::map<std::uint64_t, Byte> bytes;
    std::map<std::int32_t, std::string> threads;  // living ones but the main thread
    bool main_alive = true;
    std::int64_t died = 0;  // 0: alive
};

class History {
public:
    explicit History(std::uint64_t seed) : random_(seed) {}

    void step() {
        ++now_;
        const std::int32_t pid = pick_pid();
        const auto known = model_.find(pid);
        const bool alive = known != model_.end() && known->second.died == 0;
        if (!alive) {
            fork(pid);
            return;
        }
        switch (random_() % 12) {
            case 0: exec(pid, known->second); break;
            case 1: create_thread(pid, known->second); break;
            case 2: exit_thread(pid, known->second); break;
            case 3: exit_main(pid, known->second); break;
            case 4: rename(pid, known->second); break;
            case 5: forget(); break;
            case 6: unmap(pid, known->second); break;
            default: map(pid, known->second); break;
        }
    }

    void check() {
        for (const auto& [pid, want] : model_) {
            const Process* const got = table_.find(Pid{pid});
            ASSERT_NE(got, nullptr) << pid;
            ASSERT_EQ(got->comm, want.comm) << pid;
            ASSERT_EQ(got->exited.has_value(), want.died != 0) << pid;
            for (std::uint64_t address = 0; address < kSpace + 70; address += 1 + random_() % 7) {
                const Mapping* const found = got->maps.find(address);
                const auto expected = want.bytes.find(address);
                ASSERT_EQ(found != nullptr, expected != want.bytes.end()) << pid << '@' << address;
                if (found == nullptr) continue;
                ASSERT_EQ((Byte{found->dso->path, found->offset_of(address)}), expected->second)
                    << pid << '@' << address;
            }
            for (const auto& [tid, name] : want.threads) ASSERT_EQ(table_.comm(Pid{pid}, Tid{tid}), name);
        }
        ASSERT_EQ(table_.process_count(), model_.size());
    }

private:
    std::int32_t pick_pid() { return 10 + static_cast<std::int32_t>(random_() % kPids); }
    std::string name() { return "n" + std::to_string(random_() % 1000); }
    MonotonicTime time() const { return MonotonicTime(Nanoseconds(now_)); }

    void fork(std::int32_t pid) {
        std::vector<std::int32_t> parents;
        for (const auto& [candidate, process] : model_) {
            if (process.died == 0 && process.main_alive) parents.push_back(candidate);
        }
        ModelProcess child;
        if (parents.empty()) {  // nobody to fork it: known by its name
            child.comm = name();
            table_.apply(CommRecord{{}, Pid{pid}, Tid{pid}, false, child.comm});
        } else {
            const std::int32_t parent = parents[random_() % parents.size()];
            child.comm = model_[parent].comm;
            child.bytes = model_[parent].bytes;
            table_.apply(TaskRecord{{}, false, false, Pid{pid}, Pid{parent}, Tid{pid}, Tid{parent}, time()});
        }
        model_[pid] = std::move(child);
    }

    void exec(std::int32_t pid, ModelProcess& process) {
        // The kernel ends the other threads first; the one that executes becomes the main thread.
        while (!process.threads.empty()) exit_thread(pid, process);
        process.comm = name();
        process.bytes.clear();
        process.main_alive = true;
        process.died = 0;
        table_.apply(CommRecord{{}, Pid{pid}, Tid{pid}, true, process.comm});
    }

    void create_thread(std::int32_t pid, ModelProcess& process) {
        const std::int32_t tid = 1000 + static_cast<std::int32_t>(next_tid_++);
        process.threads[tid] = process.comm;
        table_.apply(TaskRecord{{}, false, false, Pid{pid}, Pid{pid}, Tid{tid}, Tid{pid}, time()});
    }

    void exit_thread(std::int32_t pid, ModelProcess& process) {
        if (process.threads.empty()) return;
        const std::int32_t tid = process.threads.begin()->first;
        process.threads.erase(tid);
        table_.apply(TaskRecord{{}, true, false, Pid{pid}, Pid{1}, Tid{tid}, Tid{1}, time()});
        if (!process.main_alive && process.threads.empty()) process.died = now_;
    }

    void exit_main(std::int32_t pid, ModelProcess& process) {
        process.main_alive = false;
        table_.apply(TaskRecord{{}, true, false, Pid{pid}, Pid{1}, Tid{pid}, Tid{1}, time()});
        if (process.threads.empty()) process.died = now_;
    }

    void rename(std::int32_t pid, ModelProcess& process) {
        const std::string chosen = name();
        if (process.threads.empty() || random_() % 2 == 0) {
            process.comm = chosen;
            table_.apply(CommRecord{{}, Pid{pid}, Tid{pid}, false, chosen});
        } else {
            process.threads.begin()->second = chosen;
            table_.apply(CommRecord{{}, Pid{pid}, Tid{process.threads.begin()->first}, false, chosen});
        }
    }

    void forget() {
        const std::int64_t before = now_ - static_cast<std::int64_t>(random_() % 50);
        table_.forget_exited_before(MonotonicTime(Nanoseconds(before)));
        std::erase_if(model_, [&](const auto& item) { return item.second.died != 0 && item.second.died < before; });
    }

    MmapRecord random_mapping(std::int32_t pid) {
        MmapRecord mmap;
        mmap.misc = kMiscUser;
        mmap.pid = Pid{pid};
        mmap.tid = Tid{pid};
        mmap.start = random_() % kSpace;
        mmap.length = random_() % 64;
        mmap.page_offset = random_() % 2 == 0 ? mmap.start + 1000 : random_() % 500;
        mmap.protection = 5;
        return mmap;
    }

    void map(std::int32_t pid, ModelProcess& process) {
        MmapRecord mmap = random_mapping(pid);
        const bool anonymous = random_() % 4 == 0;
        const std::string path = anonymous ? "//anon" : "/lib/" + std::to_string(random_() % 5);
        mmap.path = path;
        table_.apply(mmap);
        for (std::uint64_t a = mmap.start; a < mmap.start + mmap.length; ++a) {
            process.bytes[a] = {path, anonymous ? a : a - mmap.start + mmap.page_offset};
        }
    }

    void unmap(std::int32_t pid, ModelProcess& process) {
        MmapRecord mmap = random_mapping(pid);
        mmap.protection = 3;
        mmap.path = "/data";
        table_.apply(mmap);
        for (std::uint64_t a = mmap.start; a < mmap.start + mmap.length; ++a) process.bytes.erase(a);
    }

    std::mt19937_64 random_;
    ProcessTable table_;
    std::map<std::int32_t, ModelProcess> model_;
    std::uint32_t next_tid_ = 0;
    std::int64_t now_ = 0;
};

class ProcessHistory : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ProcessHistory, testing::Range<std::uint64_t>(1, 41));

TEST_P(ProcessHistory, AgreesWithTheModel) {
    History history(GetParam());
    for (int i = 0; i < 600; ++i) {
        history.step();
        if (i % 5 == 0) history.check();
        if (HasFatalFailure()) FAIL() << "at step " << i;
    }
}

}  // namespace
}  // namespace perfvigil::collector
