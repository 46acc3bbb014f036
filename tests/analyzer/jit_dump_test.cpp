// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/jit_dump.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/jit_dump_bytes.hpp"

namespace perfvigil::analyzer {
namespace {

using test::JitDumpBytes;

// As a reader of a file does: pieces from where the dump says.
Result<void> feed(JitDump& dump, Bytes file, std::size_t piece = JitDump::kPiece) {
    while (dump.next_offset() < file.size()) {
        const auto rest = file.subspan(dump.next_offset());
        const auto more = dump.append(rest.first(std::min(piece, rest.size())));
        if (!more) return fail(more.error());
        if (!*more) break;
    }
    return {};
}

JitDump dump_of(const JitDumpBytes& bytes) {
    JitDump dump;
    const auto fed = feed(dump, bytes.bytes());
    EXPECT_TRUE(fed) << fed.error().message;
    return dump;
}

std::string at(const JitDump& dump, std::uint64_t address, std::uint64_t from, std::uint64_t to) {
    const auto found = dump.find(RuntimeAddress{address}, monotonic_from_ns(from), monotonic_from_ns(to));
    return found ? std::string(found->name) : "-";
}

std::string error_of(Bytes file) {
    JitDump dump;
    const auto fed = feed(dump, file);
    return fed ? "" : fed.error().message;
}

TEST(JitDump, NamesWhatWasThereAtTheTime) {
    const auto dump = dump_of(
        JitDumpBytes().load(100, 0x1000, 0x40, 1, "first").load(200, 0x1000, 0x40, 2, "second").other(3, 0, 300));
    EXPECT_EQ(dump.pid(), 42U);
    EXPECT_EQ(dump.size(), 2U);
    EXPECT_EQ(at(dump, 0x1000, 0, 99), "-");  // not yet
    EXPECT_EQ(at(dump, 0x1000, 100, 100), "first");
    EXPECT_EQ(at(dump, 0x103f, 199, 199), "first");
    EXPECT_EQ(at(dump, 0x103f, 200, 200), "second");
    EXPECT_EQ(at(dump, 0x1040, 200, 200), "-");
    EXPECT_EQ(at(dump, 0xfff, 200, 200), "-");
    // Of a stretch, what was there in its middle; and what came during it where there was nothing.
    EXPECT_EQ(at(dump, 0x1000, 150, 240), "first");
    EXPECT_EQ(at(dump, 0x1000, 170, 240), "second");
    EXPECT_EQ(at(dump, 0x1000, 0, 110), "first");
}

TEST(JitDump, MovedCodeLeavesItsPlace) {
    const auto dump = dump_of(JitDumpBytes()
                                  .load(100, 0x1000, 0x40, 7, "walker")
                                  .move(200, 0x1000, 0x9000, 0x40, 7)
                                  .move(250, 0x1000, 0xa000, 0x40, 7)  // it is not there
                                  .move(260, 0x9000, 0xb000, 0x40, 8)  // nobody has that number
                                  .move(300, 0x9000, 0xc000, 0x40, 7));
    EXPECT_EQ(at(dump, 0x1010, 150, 150), "walker");
    EXPECT_EQ(at(dump, 0x1010, 250, 250), "-");
    EXPECT_EQ(at(dump, 0x9010, 250, 250), "walker");
    EXPECT_EQ(at(dump, 0x9010, 350, 350), "-");
    EXPECT_EQ(at(dump, 0xc010, 350, 350), "walker");
    EXPECT_EQ(dump.malformed_records(), 2U);
    ASSERT_EQ(dump.placements().size(), 3U);
    EXPECT_EQ(dump.code_of(dump.placements()[2]), dump.code_of(dump.placements()[0]));
}

TEST(JitDump, CodeIsFoundByItsPlaceInTheFile) {
    const JitDumpBytes bytes = JitDumpBytes().load(1, 0x1000, 0x40, 1, "one").load(1, 0x2000, 0x10, 2, "three");
    const auto dump = dump_of(bytes);
    const std::uint64_t one = 40 + 16 + 40 + 4;
    EXPECT_EQ(dump.code_of(dump.placements()[0]).value, one);
    EXPECT_EQ(dump.find(FileOffset{one})->name, "one");
    EXPECT_EQ(dump.find(FileOffset{one + 0x3f})->name, "one");
    EXPECT_FALSE(dump.find(FileOffset{one + 0x40}));
    EXPECT_FALSE(dump.find(FileOffset{one - 1}));
    EXPECT_EQ(dump.find(FileOffset{bytes.bytes().size() - 1})->name, "three");
}

TEST(JitDump, GrowsWhileItIsRead) {
    const JitDumpBytes bytes = JitDumpBytes()
                                   .load(1, 0x1000, 0x40, 1, "one")
                                   .other(2, 100, 2)
                                   .load(3, 0x2000, 0x40, 2, "two")
                                   .other(77, 8, 4)
                                   .load(5, 0x3000, 0x40, 3, "three");
    const Bytes file(bytes.bytes());
    for (std::size_t step = 1; step < 64; ++step) {
        JitDump dump;
        for (std::size_t held = 0; held <= file.size(); held += step) {
            if (const auto fed = feed(dump, file.first(held)); !fed) FAIL() << fed.error().message;
        }
        ASSERT_TRUE(feed(dump, file));
        EXPECT_EQ(dump.size(), 3U) << step;
        EXPECT_EQ(at(dump, 0x3001, 9, 9), "three");
    }
}

TEST(JitDump, RefusesWhatItCannotRead) {
    EXPECT_NE(error_of(JitDumpBytes(42, 1).bytes()).find("CLOCK_MONOTONIC"), std::string::npos);
    EXPECT_NE(error_of(JitDumpBytes(42, 0, 9).bytes()).find("version 9"), std::string::npos);
    auto swapped = JitDumpBytes().bytes();
    std::reverse(swapped.begin(), swapped.begin() + 4);
    EXPECT_NE(error_of(swapped).find("other byte order"), std::string::npos);
    auto elf = JitDumpBytes().bytes();
    elf[0] = std::byte{0x7f};
    EXPECT_NE(error_of(elf).find("no jitdump"), std::string::npos);
    auto endless = JitDumpBytes().load(1, 0x1000, 0x40, 1, "kept").other(3, 0, 2).bytes();
    endless[endless.size() - 12] = std::byte{0};  // the size of the last record
    JitDump dump;
    const auto fed = feed(dump, endless);
    ASSERT_FALSE(fed);
    EXPECT_NE(fed.error().message.find("offset"), std::string::npos);
    EXPECT_EQ(at(dump, 0x1000, 9, 9), "kept");
}

TEST(JitDump, LyingRecordsAreCountedAndPassedOver) {
    JitDumpBytes bytes;
    bytes.load(1, 0x1000, 0, 1, "empty")
        .load(1, ~std::uint64_t{0} - 4, 8, 2, "over the end")
        .other(0, 8, 1)
        .other(1, 8, 1);
    const auto at_size = bytes.bytes().size() + 16 + 24;
    bytes.load(1, 0x2000, 0x10, 3, "larger than its record");
    bytes.bytes()[at_size + 1] = std::byte{0xff};
    bytes.load(2, 0x3000, 0x10, 4, "bad\x1b[0m");
    const auto dump = dump_of(bytes);
    EXPECT_EQ(dump.malformed_records(), 5U);
    EXPECT_EQ(at(dump, 0x3000, 2, 2), "bad\\x1b[0m");
    EXPECT_EQ(dump.size(), 1U);
}

TEST(JitDump, IsBounded) {
    JitDumpBytes bytes;
    for (std::uint64_t i = 0; i < 3000; ++i) bytes.load(i, 0x1000, 0x10, i, "f" + std::to_string(i));
    JitDumpLimits limits;
    limits.functions = 100;
    JitDump few(limits);
    ASSERT_TRUE(feed(few, bytes.bytes()));
    EXPECT_EQ(few.size(), 100U);
    EXPECT_TRUE(few.cut());
    // One address again and again: the newest stay.
    const auto dump = dump_of(bytes);
    EXPECT_EQ(dump.size(), 3000U);
    EXPECT_TRUE(dump.cut());
    EXPECT_EQ(at(dump, 0x1000, 5000, 5000), "f2999");
    limits = {};
    limits.code_size = 8;
    JitDump small(limits);
    ASSERT_TRUE(feed(small, bytes.bytes()));
    EXPECT_EQ(small.malformed_records(), 3000U);
}

// The load with the latest time that covers an address names it: checked against that very rule.
TEST(JitDump, EqualsTheRuleForRandomLoads) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 50; ++round) {
        struct Load {
            std::uint64_t time, start, size;
        };
        std::vector<Load> loads;
        JitDumpBytes bytes;
        for (std::uint64_t i = 0; i < 40; ++i) {
            loads.push_back(
                {.time = 1 + random() % 1000, .start = 0xf00 + random() % 0x400, .size = 1 + random() % 99});
            bytes.load(loads.back().time, loads.back().start, loads.back().size, i, std::to_string(i));
        }
        const auto dump = dump_of(bytes);
        for (int question = 0; question < 500; ++question) {
            const auto address = 0xf00 + random() % 0x480;
            const auto time = random() % 1100;
            std::string expected = "-";
            std::uint64_t latest = 0;
            for (std::size_t i = 0; i < loads.size(); ++i) {
                const auto& load = loads[i];
                if (load.time > time || address < load.start || address - load.start >= load.size) continue;
                if (load.time >= latest) expected = std::to_string(i);
                latest = std::max(latest, load.time);
            }
            ASSERT_EQ(at(dump, address, time, time), expected);
        }
    }
}

TEST(JitMarker, IsAFileNamedAfterItsProcess) {
    EXPECT_EQ(pid_of_jit_marker("/srv/.debug/jit/java-jit-x/jit-4242.dump"), Pid{4242});
    EXPECT_EQ(pid_of_jit_marker("/tmp/jit-1.dump (deleted)"), Pid{1});
    for (const char* other : {"/tmp/jit-.dump", "/tmp/jit-0.dump", "/tmp/jit--3.dump", "/tmp/jit-4x.dump",
                              "/tmp/jit-4.dump2", "/tmp/myjit-4.dump", "jit-99999999999.dump", ""}) {
        EXPECT_FALSE(pid_of_jit_marker(other)) << other;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
