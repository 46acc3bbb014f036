// SPDX-License-Identifier: GPL-2.0-or-later
// Samples with copies of the user stack: records of more than 8 KiB through a ring that they wrap around all the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "collector/attr_builder.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

// What stands behind the dump in a record would be rubbish if the record were not put together whole.
class Dumps final : public Recorded {
public:
    explicit Dumps(std::int32_t pid) : pid_(pid) {}

    void on_record(const OrderedRecord& record) override {
        Recorded::on_record(record);
        const auto* sample = std::get_if<SampleRecord>(&record.record);
        if (sample == nullptr || sample->sample.pid.value != pid_) return;
        ++seen;
        cgroups.insert(sample->cgroup.value);
        const Bytes stack = sample->user_stack.bytes();
        whole += sample->user_stack.dump.size() == 8192 && sample->user_stack.used <= 8192 && !stack.empty() ? 1 : 0;
        with_registers += sample->user_registers.abi == 2 ? 1 : 0;
        for (const std::uint64_t address : addresses(sample->chain)) user_callers += address == kContextUser ? 1 : 0;
    }

    std::uint64_t seen = 0;
    std::uint64_t whole = 0;
    std::uint64_t with_registers = 0;
    std::uint64_t user_callers = 0;
    std::set<std::uint64_t> cgroups;

private:
    static std::vector<std::uint64_t> addresses(const ChainView& chain) {
        std::vector<std::uint64_t> out;
        for (std::size_t i = 0; i < chain.size(); ++i) out.push_back(chain[i]);
        return out;
    }
    std::int32_t pid_;
};

TEST(RecordingStackDumps, RecordsThatWrapAroundASmallRingComeWhole) {
    if (const std::string why = why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    if (kUnwindRegisters == 0) GTEST_SKIP() << "no stack dumps on this architecture";
    const Client load("spin", {"60", "1"});
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.cpus = {CpuId{1}};
    options.slice = 1s;
    options.drain_interval = 5ms;
    options.tuning.frequency = 499;
    options.tuning.sample_ring_bytes = 128U << 10;  // fifteen records: one in fifteen wraps
    options.call_chains = CallChains::kStackDumps;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    Dumps recorded(load.pid());
    record_for(**session, recorded, 4s);

    const double period = static_cast<double>(1'000'000'000 / options.tuning.frequency) / 1e9;
    const Truth truth = truth_of(recorded, 0, 1);
    const double due = truth.enabled_s / period;
    const auto seen = static_cast<double>(recorded.samples.size() + truth.lost);
    EXPECT_LE(seen, due + 2);
    EXPECT_GE(seen, due - 0.01 * due - 2 - stolen_s(recorded, 1) / period);
    EXPECT_EQ((*session)->counters().malformed_records, 0U);
    EXPECT_EQ(recorded.without_event, 0U);
    EXPECT_GT(recorded.seen, 500U);
    EXPECT_EQ(recorded.whole, recorded.seen);
    EXPECT_EQ(recorded.with_registers, recorded.seen);
    EXPECT_EQ(recorded.user_callers, 0U) << "the kernel walks no user stack that is dumped";
    EXPECT_EQ(recorded.cgroups.size(), 1U) << "one process is in one cgroup";
}

TEST(RecordingStackDumps, ADumpThatTheKernelCannotMakeIsNamed) {
    RecordingOptions options;
    options.call_chains = CallChains::kStackDumps;
    options.stack_dump_bytes = 100;
    const auto session = RecordingSession::open(options, system_clock());
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(session.error().message.contains("multiple of 8")) << session.error().message;
}

}  // namespace
}  // namespace perfvigil::test
