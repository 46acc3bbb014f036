// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/jit_placements.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <string>

#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/jit_dump_bytes.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::MmapRecord;
using test::JitDumpBytes;

class JitPlacementsTest : public testing::Test {
protected:
    JitPlacementsTest() {
        auto attr = test::cpu_clock_attr();
        attr.set(collector::kFlagUseClockid);
        attr.clockid = CLOCK_MONOTONIC;
        add_event(attr);
    }
    void add_event(const collector::EventAttr& attr) {
        events_.add_event({"cpu-clock", collector::EventRole::kSampling, attr});
        collector::EventInstance instance;
        instance.nominal_period = Nanoseconds(1000);
        instance.layout = collector::RecordLayout::of(attr);
        events_.add_instance(EventId{1}, instance);
    }
    void start(const JitDumpBytes& bytes) {
        EXPECT_TRUE(dump_.append(bytes.bytes()));
        analysis_ = std::make_unique<StreamAnalysis>(events_, symbolizer_, KernelText(), SliceLimits{}, nullptr);
        analysis_->each_slice([this](const Slice& slice) { note(slice); });
        placements_ = std::make_unique<JitPlacements>(*analysis_, events_, [this](const collector::DsoRef& marker) {
            ++asked_;
            EXPECT_EQ(marker->path, "/tmp/jit-5.dump");
            return jit_code_of(dump_);
        });
    }
    void give(std::uint64_t time, collector::Record record) {
        const collector::OrderedRecord ordered{monotonic_from_ns(time), events_.find(EventId{1}), record, {}};
        placements_->before(ordered);
        analysis_->on_record(ordered);
        placements_->after(ordered);
    }
    void map(std::uint64_t time, std::uint64_t start, std::string_view path) {
        MmapRecord mmap;
        mmap.misc = collector::kMiscUser;
        mmap.pid = Pid{5};
        mmap.tid = Tid{5};
        mmap.start = start;
        mmap.length = 0x1000;
        mmap.protection = 5;
        mmap.map_flags = 2;
        mmap.path = path;
        give(time, mmap);
    }
    void sample(std::uint64_t time, std::uint64_t address) {
        collector::SampleRecord record;
        record.misc = collector::kMiscUser;
        record.sample.pid = Pid{5};
        record.sample.tid = Tid{5};
        record.sample.time = monotonic_from_ns(time);
        record.ip = address;
        give(time, record);
    }
    // Samples by where their code lay: "path+offset".
    std::map<std::string, std::uint64_t> places() {
        collector::Cut cut;
        cut.time = monotonic_from_ns(10'000);
        cut.last = true;
        analysis_->on_cut(cut);
        return places_;
    }
    void note(const Slice& slice) {
        for (const auto& entry : slice.entries) {
            const Frame& frame = slice.frames[slice.frames_of(slice.stacks[entry.stack]).front()];
            std::string path = "?";
            for (const auto& dso : slice.dsos) path = dso->id == frame.dso ? dso->path : path;
            const auto function = dump_.find(FileOffset{frame.offset});
            const bool in_dump = path == "/tmp/jit-5.dump" && function;
            places_[in_dump ? std::string(function->name) : path] += entry.samples;
        }
    }

    collector::EventTable events_;
    test::FakeSymbolizer symbolizer_;
    JitDump dump_;
    std::unique_ptr<StreamAnalysis> analysis_;
    std::unique_ptr<JitPlacements> placements_;
    std::map<std::string, std::uint64_t> places_;
    int asked_ = 0;
};

TEST_F(JitPlacementsTest, CodeIsWhatLayThereAtTheSamplesTime) {
    start(JitDumpBytes(5)
              .load(300, 0x1000, 0x40, 2, "second")  // not in order of time
              .load(100, 0x1000, 0x40, 1, "first")
              .move(500, 0x1000, 0x1800, 0x40, 1));
    map(10, 0x1000, "//anon");
    map(20, 0x8000, "/tmp/jit-5.dump");
    EXPECT_EQ(asked_, 0) << "before the first sample nothing is known of the host";
    sample(50, 0x1010);
    sample(100, 0x1010);
    sample(200, 0x1010);
    map(250, 0x1000, "//anon");  // protected anew
    sample(290, 0x1010);
    sample(300, 0x1010);
    sample(400, 0x1010);
    sample(500, 0x1810);
    sample(510, 0x1900);
    EXPECT_EQ(places(), (std::map<std::string, std::uint64_t>{{"//anon", 2}, {"first", 4}, {"second", 2}}));
    EXPECT_EQ(asked_, 1);
    EXPECT_FALSE(placements_->refusal());
}

TEST_F(JitPlacementsTest, AMarkerThatComesLateServesWhatFollows) {
    start(JitDumpBytes(5).load(100, 0x1000, 0x40, 1, "first"));
    map(10, 0x1000, "//anon");
    sample(200, 0x1010);
    map(300, 0x8000, "/tmp/jit-5.dump");
    map(310, 0x8000, "/tmp/jit-5.dump");
    sample(400, 0x1010);
    EXPECT_EQ(places(), (std::map<std::string, std::uint64_t>{{"//anon", 1}, {"first", 1}}));
    EXPECT_EQ(asked_, 1);
}

TEST_F(JitPlacementsTest, AnotherClockIsSaid) {
    events_ = {};
    add_event(test::cpu_clock_attr());
    auto other = events_.event(collector::EventIndex{0}).attr;
    if (other.flag(collector::kFlagUseClockid)) {
        other.clockid = CLOCK_MONOTONIC_RAW;
        events_ = {};
        add_event(other);
    }
    start(JitDumpBytes(5).load(100, 0x1000, 0x40, 1, "first"));
    map(10, 0x1000, "//anon");
    map(20, 0x8000, "/tmp/jit-5.dump");
    sample(200, 0x1010);
    EXPECT_EQ(places(), (std::map<std::string, std::uint64_t>{{"//anon", 1}}));
    ASSERT_TRUE(placements_->refusal());
    EXPECT_NE(placements_->refusal()->find("-k mono"), std::string::npos);
}

}  // namespace
}  // namespace perfvigil::analyzer
