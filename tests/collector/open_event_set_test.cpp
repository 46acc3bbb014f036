// SPDX-License-Identifier: GPL-2.0-or-later
// What can still go wrong when everything is opened on every CPU.
#include "collector/open_event_set.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "tests/support/fake_event_kernel.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

class OpenEventSetTest : public testing::Test {
protected:
    OpenEventSetTest() {
        plan.events = options.events;
        indices = add_events(table, plan, options);
    }
    Result<std::unique_ptr<EventSet>> open(RingFallback fallback = RingFallback::kSmaller) {
        return open_event_set({kernel, table, options, plan, indices, kernel.online, 3, fallback}, degraded);
    }

    test::TempFolder proc;
    test::ManualClock clock;
    test::FakeEventKernel kernel{clock, proc.path()};
    EventTable table;
    RecordingOptions options;
    RecordingPlan plan;
    std::vector<EventIndex> indices;
    std::vector<Degraded> degraded;
};

TEST_F(OpenEventSetTest, TwoRingsPerCpuAndEveryInstanceKnown) {
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(kernel.open_rings(), 4U);
    EXPECT_EQ(kernel.sealed, 1);
    EXPECT_EQ((*set)->bytes(), ring_bytes(plan.tuning, 2, 4096));
    ASSERT_EQ(table.events().size(), 3U);
    EXPECT_EQ(table.events()[0].name, "cycles");
    EXPECT_EQ(table.events()[1].name, "cpu-clock");
    EXPECT_EQ(table.events()[2].name, "dummy:HG");
    EXPECT_EQ(table.events()[2].role, EventRole::kSideBand);
    ASSERT_EQ(table.instances().size(), 6U);
    for (const auto& [id, instance] : table.instances()) {
        EXPECT_EQ(instance.generation, 3U);
        ASSERT_TRUE(instance.cpu.has_value());
        EXPECT_EQ(instance.nominal_period.count(), instance.event == indices[1] ? 10101010 : 0);
    }
}

TEST_F(OpenEventSetTest, ClosingTakesItsInstancesAway) {
    {
        const auto set = open();
        ASSERT_TRUE(set);
        (*set)->close_cpu(CpuId{1});
        EXPECT_EQ(table.instances().size(), 3U);
        EXPECT_FALSE((*set)->has(CpuId{1}));
        EXPECT_TRUE((*set)->has(CpuId{0}));
    }
    EXPECT_EQ(table.instances().size(), 0U);
    EXPECT_EQ(kernel.open_rings(), 0U);
}

TEST_F(OpenEventSetTest, TasksHaveNoCpuOfTheirOwn) {
    plan.threads = {{Pid{10}, Tid{10}}, {Pid{10}, Tid{12}}};
    options.target = Processes{{Pid{10}}};
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(kernel.open_rings(), 4U);
    EXPECT_EQ(table.instances().size(), 12U);
    for (const auto& [id, instance] : table.instances()) EXPECT_FALSE(instance.cpu.has_value());
    for (const OpenInstance& instance : (*set)->cpus().front()->instances()) EXPECT_EQ(instance.pid, Pid{10});
}

TEST_F(OpenEventSetTest, AnEventThatSomeCpusLack) {
    kernel.on_open = [](const EventAttr& attr, CpuId cpu, Tid) {
        return attr.type == kTypeHardware && cpu == CpuId{1} ? ENOENT : 0;
    };
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(table.instances().size(), 5U);
    const auto said = missing_events(**set);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->reason, "event_missing");
    EXPECT_TRUE(said->detail.starts_with("cycles could not be opened on 1 of 2 CPUs (1)")) << said->detail;
    (*set)->close_cpu(CpuId{1});
    EXPECT_FALSE(missing_events(**set)) << "with the CPU goes what it lacked";
}

TEST_F(OpenEventSetTest, EachMissingEventIsNamed) {
    options.events.push_back({"instructions", kTypeHardware, 1});
    plan.events = options.events;
    indices = add_events(table, plan, options);
    kernel.on_open = [](const EventAttr& attr, CpuId cpu, Tid) {
        if (attr.type != kTypeHardware) return 0;
        return cpu == CpuId{1} || attr.config == 1 ? EBUSY : 0;
    };
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    const auto said = missing_events(**set);
    ASSERT_TRUE(said);
    EXPECT_TRUE(
        said->detail.starts_with("cycles could not be opened on 1 of 2 CPUs (1); "
                                 "instructions could not be opened on 2 of 2 CPUs (0,1); what"))
        << said->detail;
}

TEST_F(OpenEventSetTest, ACpuThatGoesOfflineMeanwhileIsLeftOut) {
    kernel.on_open = [this](const EventAttr&, CpuId cpu, Tid) {
        if (cpu != CpuId{1}) return 0;
        kernel.online = {CpuId{0}};
        return ENODEV;
    };
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ((*set)->cpus().size(), 1U);
    // Online and yet without the clock: that is an error.
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return ENODEV; };
    const auto none = open();
    ASSERT_FALSE(none);
    EXPECT_TRUE(none.error().message.starts_with("cpu 0: ")) << none.error().message;
}

TEST_F(OpenEventSetTest, FileLimit) {
    int left = 2;
    kernel.on_open = [&](const EventAttr&, CpuId, Tid) { return left-- > 0 ? 0 : EMFILE; };
    EXPECT_EQ(open().error().code, ErrorCode::kExhausted);
    EXPECT_EQ(kernel.open_rings(), 0U) << "nothing stays open";
    kernel.file_limit_rises = true;
    left = 3;
    kernel.on_open = [&](const EventAttr&, CpuId, Tid) { return left-- == 0 ? EMFILE : 0; };
    EXPECT_TRUE(open());
    ASSERT_EQ(degraded.size(), 1U);
    EXPECT_EQ(degraded[0].reason, "raised_file_limit");
}

TEST_F(OpenEventSetTest, RingMemory) {
    kernel.on_map = [](CpuId, std::uint64_t bytes) { return bytes > (64U << 10) ? EPERM : 0; };
    EXPECT_EQ(open(RingFallback::kNone).error().code, ErrorCode::kPermission);
    EXPECT_TRUE(degraded.empty());
    const auto smaller = open();
    ASSERT_TRUE(smaller) << smaller.error().message;
    EXPECT_EQ((*smaller)->plan().tuning.sample_ring_bytes, 64U << 10);
    EXPECT_EQ((*smaller)->plan().tuning.side_band_ring_bytes, 64U << 10);
    ASSERT_EQ(degraded.size(), 1U) << "one entry, however many steps";
    EXPECT_EQ(degraded[0].reason, "small_rings");
    EXPECT_TRUE(degraded[0].remedy.contains("CAP_IPC_LOCK")) << degraded[0].remedy;

    struct Case {
        int error;
        ErrorCode code;
        const char* words;
    };
    for (const Case& c :
         {Case{EPERM, ErrorCode::kPermission, "perf_event_mlock_kb (516 KiB per CPU and user) and RLIMIT_MEMLOCK"},
          {ENOMEM, ErrorCode::kExhausted, "not enough memory"},
          {EINVAL, ErrorCode::kIo, "Invalid argument"}}) {
        kernel.on_map = [&](CpuId, std::uint64_t) { return c.error; };
        const auto failed = open();
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, c.code);
        EXPECT_TRUE(failed.error().message.contains(c.words)) << failed.error().message;
        EXPECT_TRUE(failed.error().message.starts_with("cpu 0: ring: mmap: ")) << failed.error().message;
    }
    EXPECT_EQ(table.instances().size(), 6U) << "of the one set that is open";
}

TEST_F(OpenEventSetTest, ThreadsThatEndMeanwhile) {
    for (const char* thread : {"10/task/10/comm", "10/task/11/comm"}) proc.write(thread, "");
    plan.threads = {{Pid{10}, Tid{10}}, {Pid{10}, Tid{11}}, {Pid{10}, Tid{12}}};
    options.target = Processes{{Pid{10}}};
    kernel.on_open = [](const EventAttr&, CpuId, Tid tid) { return tid == Tid{12} ? ESRCH : 0; };
    const auto set = open();
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ((*set)->plan().threads.size(), 2U);
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return ESRCH; };
    EXPECT_EQ(open().error().code, ErrorCode::kNotFound) << "and gives up some time";
}

// Every errno at every open and map: a set with a report, or one line.
TEST_F(OpenEventSetTest, AnyErrnoAnywhere) {
    proc.write("10/task/10/comm", "");
    for (int error = 1; error < 135; ++error) {
        for (int at = 0; at < 8; ++at) {
            int count = 0;
            kernel.on_open = [&](const EventAttr&, CpuId, Tid) { return count++ == at ? error : 0; };
            kernel.on_map = [&](CpuId, std::uint64_t) { return count++ == at ? error : 0; };
            degraded.clear();
            const auto set = open();
            if (set) {
                EXPECT_TRUE(!degraded.empty() || missing_events(**set) || count <= at || (*set)->cpus().size() < 2 ||
                            error == ESRCH)
                    << error << " at " << at;
            } else {
                EXPECT_FALSE(set.error().message.empty());
                EXPECT_EQ(set.error().message.find('\n'), std::string::npos);
                EXPECT_EQ(kernel.open_rings(), 0U);
            }
        }
    }
    EXPECT_EQ(table.instances().size(), 0U);
}

TEST(NoteDegraded, ListsAConditionOnce) {
    std::vector<Degraded> list;
    note_degraded(list, {"a", "first", ""});
    note_degraded(list, {"b", "other", ""});
    note_degraded(list, {"a", "now", ""});
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].detail, "now");
    set_degraded(list, "a", Degraded{"a", "later", ""});
    EXPECT_EQ(list[0].detail, "later");
    set_degraded(list, "a", std::nullopt);
    set_degraded(list, "c", std::nullopt);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].reason, "b");
}

}  // namespace
}  // namespace perfvigil::collector
