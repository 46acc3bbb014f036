// SPDX-License-Identifier: GPL-2.0-or-later
// Folders of captures, what a cut file lost, and what a capture says of its kernel and of its time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/capture_header.hpp"
#include "collector/capture_reader.hpp"
#include "collector/zstd_stream.hpp"
#include "tests/support/capture_foreign.hpp"
#include "tests/support/capture_heard.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class CaptureSourceTest : public testing::Test {
protected:
    CaptureSourceTest() { capture_.add_event({attr_of(0), {1}, "cycles"}); }

    ForeignCapture capture_;
    Records records_{attr_of(0)};
};

TEST_F(CaptureSourceTest, WhatIsMissingInAFolderIsSaid) {
    TempFolder folder;
    capture_.add_record(records_.sample(10));
    ForeignCapture other;
    other.add_record(records_.sample(20));
    folder.write("c/data", Bytes(capture_.file()));
    folder.write("c/data.1", Bytes(other.data));
    folder.write("c/data.10", Bytes(other.data));
    folder.write("c/data.x", Bytes(other.data));
    const auto heard = hear(CaptureReader::open(folder / "c"));
    EXPECT_THAT(heard.times, ElementsAre(10, 20, 20));
    EXPECT_THAT(heard.reader->warnings(), ElementsAre(HasSubstr("data.0 to data.10 9 are missing")));
}

TEST_F(CaptureSourceTest, EachFileOfAFolderHasACompressedStreamOfItsOwn) {
    TempFolder folder;
    capture_.add_record(records_.sample(5));
    folder.write("c/data", Bytes(capture_.file()));
    for (const std::uint64_t i : {0U, 1U}) {
        ForeignCapture part;
        auto stream = ZstdCompressor::create(1);
        ASSERT_TRUE(stream);
        std::vector<std::byte> payload;
        ASSERT_TRUE(stream->compress(records_.sample(10 + i), payload));
        part.add_user_record(kRecordCompressed, payload);
        folder.write("c/data." + std::to_string(i), Bytes(part.data));
    }
    const auto heard = hear(CaptureReader::open(folder / "c"));
    EXPECT_THAT(heard.times, ElementsAre(5, 10, 11));
    EXPECT_TRUE(heard.reader->warnings().empty());
}

TEST_F(CaptureSourceTest, HowMuchWasLostIsSaid) {
    for (std::uint64_t i = 1; i <= 10; ++i) capture_.add_record(records_.sample(i));
    auto bytes = capture_.file();
    const std::size_t record = records_.sample(1).size();
    bytes.resize(bytes.size() - 4 * record);
    const auto heard = hear(bytes);
    EXPECT_EQ(heard.times.size(), 6U);
    EXPECT_THAT(heard.reader->warnings(),
                Contains(HasSubstr(fmt::format("{} bytes of them are lost (40 %)", 4 * record))));
}

TEST_F(CaptureSourceTest, ModulesAreKnownByTheirMappings) {
    const auto add = [&](std::string_view path, std::uint64_t start) {
        MmapRecord module{.misc = kMiscKernel, .pid = Pid{-1}};
        module.start = start;
        module.length = 0x1000;
        module.protection = 4;
        module.path = path;
        capture_.add_record(mmap1_bytes(records_.layout(), module));
    };
    add("[kernel.kallsyms]_text", 0xffffffff81000000);
    add("/lib/modules/6.1.0/kernel/net/snd-hda.ko.xz", 0xffffffffc0000000);
    add("[ath9k]", 0xffffffffc0010000);
    add("[guest.kernel.kallsyms]", 0xffffffffd0000000);
    capture_.add_record(records_.sample(10));
    const auto heard = hear(capture_.file());
    const auto& modules = heard.reader->host().modules;
    ASSERT_EQ(modules.size(), 2U);
    EXPECT_EQ(modules[0].name, "snd_hda");
    EXPECT_EQ(modules[0].start, 0xffffffffc0000000);
    EXPECT_EQ(modules[1].name, "ath9k");
}

TEST_F(CaptureSourceTest, TheHeaderSaysWhenItsSamplesBeganAndEnded) {
    capture_.add_record(records_.sample(30));
    capture_.add_feature(kFeatureSampleTime, capture_.u64s({30, 70}));
    const auto heard = hear(capture_.file());
    ASSERT_TRUE(heard.reader->sample_times());
    EXPECT_EQ(to_ns(heard.reader->sample_times()->last), 70U);
    for (const auto& nonsense : {capture_.u64s({0, 0}), capture_.u64s({70, 30}), capture_.u64s({30})}) {
        capture_.add_feature(kFeatureSampleTime, nonsense);
        EXPECT_FALSE(hear(capture_.file()).reader->sample_times());
    }
}

}  // namespace
}  // namespace perfvigil::collector
