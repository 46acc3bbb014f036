// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace perfvigil::analyzer {
namespace {

using collector::Dso;
using collector::DsoId;
using collector::DsoRef;
using collector::EventIndex;
using testing::ElementsAre;

class SliceTablesTest : public testing::Test {
protected:
    void begin(std::size_t max_bytes = 1U << 20) {
        tables = std::make_unique<SliceTables>(numbers, max_bytes);
        tables->start(std::make_unique<Slice>());
    }
    // Frames of one Dso, innermost first.
    Chain chain(std::vector<std::uint64_t> offsets, std::uint8_t flags = 0) {
        Chain made{.frames = {}, .path = numbers.empty_path(), .flags = flags};
        for (auto at = offsets.rbegin(); at != offsets.rend(); ++at) {
            made.frames.push_back(numbers.number_of({.dso = dso->id, .offset = *at}, dso));
            made.path = Chain::longer_path(made.path, made.frames.back());
        }
        return made;
    }
    std::uint32_t worker(std::int32_t pid = 7) {
        return tables->actor(Pid{pid}, {static_cast<std::uint32_t>(pid)}, false, "worker", "/system.slice/w.service");
    }
    static std::vector<std::uint64_t> offsets_of(const Slice& slice, std::size_t stack) {
        std::vector<std::uint64_t> offsets;
        for (const auto frame : slice.frames_of(slice.stacks[stack])) offsets.push_back(slice.frames[frame].offset);
        return offsets;
    }

    DsoRef dso = std::make_shared<const Dso>(Dso{.id = DsoId{4}, .path = "/bin/x", .build_id = {}});
    FrameTable numbers;
    std::unique_ptr<SliceTables> tables;
};

TEST_F(SliceTablesTest, EqualThingsAreOne) {
    begin();
    for (int i = 0; i < 3; ++i) {
        tables->count(chain({1, 2, 3}), worker(), EventIndex{0}, false, 1, 10);
        tables->count(chain({1, 2, 3}), worker(), EventIndex{1}, false, 1, 5);
    }
    tables->count(chain({2, 2, 3}), worker(), EventIndex{0}, false, 2, 20);
    const Slice& slice = tables->slice();
    ASSERT_EQ(slice.stacks.size(), 2U);
    EXPECT_THAT(offsets_of(slice, 0), ElementsAre(1, 2, 3));
    EXPECT_THAT(offsets_of(slice, 1), ElementsAre(2, 2, 3));
    EXPECT_EQ(slice.frames.size(), 3U);
    EXPECT_EQ(slice.actors.size(), 1U);
    ASSERT_EQ(slice.dsos.size(), 1U);
    EXPECT_EQ(slice.dsos[0], dso);
    ASSERT_EQ(slice.entries.size(), 3U);
    EXPECT_EQ(slice.entries[0].samples, 3U);
    EXPECT_EQ(slice.entries[0].weight, 30U);
    EXPECT_EQ(slice.entries[1].event, EventIndex{1});
    EXPECT_EQ(slice.entries[1].weight, 15U);
    EXPECT_EQ(slice.entries[2].samples, 2U);
}

TEST_F(SliceTablesTest, WhatDiffersInAnyPartIsAnother) {
    begin();
    Chain broken = chain({1}, kStackBroken);
    tables->count(chain({1}), worker(), EventIndex{0}, false, 1, 1);
    tables->count(chain({1}), worker(), EventIndex{0}, true, 1, 1);
    tables->count(chain({1}), worker(8), EventIndex{0}, false, 1, 1);
    tables->count(chain({1}), worker(), EventIndex{2}, false, 1, 1);
    tables->count(broken, worker(), EventIndex{0}, false, 1, 1);
    broken.broken_in = dso->id;
    tables->count(broken, worker(), EventIndex{0}, false, 1, 1);
    EXPECT_EQ(tables->slice().entries.size(), 6U);
    EXPECT_EQ(tables->slice().stacks.size(), 3U);
    EXPECT_EQ(tables->slice().actors.size(), 2U);
    for (const auto& entry : tables->slice().entries) EXPECT_EQ(entry.samples, 1U);
}

TEST_F(SliceTablesTest, ActorsDifferByLifeNameAndCgroup) {
    begin();
    const auto first = tables->actor(Pid{1}, {1}, false, "a", "/x");
    EXPECT_EQ(tables->actor(Pid{1}, {1}, false, "a", "/x"), first);
    EXPECT_NE(tables->actor(Pid{1}, {2}, false, "a", "/x"), first);
    EXPECT_NE(tables->actor(Pid{1}, {1}, false, "b", "/x"), first);
    EXPECT_NE(tables->actor(Pid{1}, {1}, false, "a", "/y"), first);
    EXPECT_EQ(tables->slice().actors[first].cgroup_path, "/x");
}

// Against a model, over many more stacks than the first tables hold, in several slices one after the other.
TEST_F(SliceTablesTest, AgreesWithAModel) {
    begin(64U << 20);
    std::mt19937_64 random(2);
    for (int round = 0; round < 3; ++round) {
        std::map<std::tuple<std::vector<std::uint64_t>, std::uint32_t, std::uint32_t, bool>, std::uint64_t> model;
        for (int i = 0; i < 20000; ++i) {
            std::vector<std::uint64_t> offsets(1 + random() % 4);
            for (auto& offset : offsets) offset = random() % 12;
            const auto pid = static_cast<std::uint32_t>(1 + random() % 3);
            const auto event = static_cast<std::uint32_t>(random() % 3);
            const bool idle = random() % 2 == 0;
            tables->count(chain(offsets), worker(static_cast<std::int32_t>(pid)), EventIndex{event}, idle, 1, 1);
            ++model[{offsets, pid, event, idle}];
        }
        const Slice& slice = tables->slice();
        ASSERT_EQ(slice.entries.size(), model.size());
        for (const auto& entry : slice.entries) {
            const auto key = std::make_tuple(offsets_of(slice, entry.stack), slice.actors[entry.actor].epoch.value,
                                             entry.event.value, entry.idle);
            ASSERT_EQ(entry.samples, model.at(key));
        }
        tables->start(tables->finish());
        if (round == 1) numbers.clear();  // numbers of another generation
    }
}

// --- the byte limit

TEST_F(SliceTablesTest, NearTheLimitChainsKeepTheirInnermostFrames) {
    constexpr std::size_t kLimit = 64U << 10;
    begin(kLimit);
    std::uint64_t counted = 0;
    std::uint64_t next = 0;
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::uint64_t> offsets(20);
        for (auto& offset : offsets) offset = next++ % 5000;
        tables->count(chain(offsets, kStackKernelLeaf | kStackBroken), worker(), EventIndex{0}, false, 1, 1);
        ++counted;
    }
    const Slice& slice = tables->slice();
    std::size_t whole = 0, shortened = 0, gone = 0;
    std::uint64_t samples = 0;
    for (const auto& entry : slice.entries) {
        samples += entry.samples;
        const Stack& stack = slice.stacks[entry.stack];
        EXPECT_NE(stack.flags & kStackKernelLeaf, 0);  // modes stay
        if ((stack.flags & kStackCut) == 0) {
            ++whole;
            continue;
        }
        EXPECT_EQ(stack.flags & kStackBroken, 0);
        ++(stack.depth == 8 ? shortened : gone);
    }
    EXPECT_EQ(samples, counted);
    EXPECT_GT(whole, 50U);
    EXPECT_GT(shortened, 50U);
    EXPECT_GE(gone, 1U);  // one stack, of the actor before the limit and of the one that stands for all after it
    EXPECT_LE(gone, 2U);
    const Stack& last = slice.stacks.back();
    ASSERT_EQ(last.depth, 1);
    EXPECT_EQ(slice.frames[slice.frames_of(last)[0]], (Frame{.dso = {}, .offset = kFrameCut}));
    EXPECT_GT(slice.cut_frames, 0U);
    const std::size_t bytes = slice.frames.size() * sizeof(Frame) + slice.stack_frames.size() * 4 +
                              slice.stacks.size() * sizeof(Stack) + slice.entries.size() * sizeof(Entry);
    EXPECT_LT(bytes, kLimit + 4096);
}

TEST_F(SliceTablesTest, AtTheLimitActorsBecomeOne) {
    begin(16U << 10);
    for (std::int32_t pid = 1; pid < 5000; ++pid) tables->count(chain({1}), worker(pid), EventIndex{0}, false, 1, 1);
    EXPECT_LT(tables->slice().actors.size(), 300U);
    EXPECT_EQ(tables->slice().actors.back().comm, "(other)");
    std::uint64_t samples = 0;
    for (const auto& entry : tables->slice().entries) samples += entry.samples;
    EXPECT_EQ(samples, 4999U);
}

}  // namespace
}  // namespace perfvigil::analyzer
