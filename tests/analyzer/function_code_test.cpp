// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel code in captures of elsewhere: names, machine code and times, from made files.
#include "analyzer/function_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/capture_foreign.hpp"
#include "tests/support/capture_heard.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kHere = 0xffffffff9a000000;    // where the recorded kernel lay
constexpr std::uint64_t kLinked = 0xffffffff81000000;  // where it was linked to
constexpr std::uint64_t kProgram = 0xffffffffc0200000;

class KernelCodeTest : public testing::Test {
protected:
    KernelCodeTest() {
        capture_.add_event({attr_of(0), {1}, "cycles"});
        capture_.add_names();
        collector::MmapRecord text{.misc = collector::kMiscKernel, .pid = Pid{-1}, .tid = Tid{0}};
        text.start = kHere;
        text.length = 0x2000;
        text.page_offset = kHere;
        text.protection = 4;
        text.build_id = build_id_;
        text.path = "[kernel.kallsyms]_text";
        text.sample.id = EventId{1};
        capture_.add_record(record_bytes(records_.layout(), text));

        image_.type = ET_EXEC;
        image_.text_address = kLinked;
        image_.text_size = 0x2000;
        image_.build_id = build_id_;
        image_.symtab = {{"_text", kLinked, 0, STT_NOTYPE},
                         {"schedule", kLinked + 0x100, 0x40},
                         {"do_idle", kLinked + 0x200, 0x80},
                         {"_etext", kLinked + 0x2000, 0, STT_NOTYPE}};
    }
    void sample(std::uint64_t time, std::uint64_t ip) {
        SampleFields s;
        s.misc = collector::kMiscKernel;
        s.id.time = monotonic_from_ns(time);
        s.id.id = EventId{1};
        s.id.pid = Pid{7};
        s.id.tid = Tid{7};
        s.ip = ip;
        s.period = 10;
        capture_.add_record(record_bytes(records_.layout(), s));
    }
    void program(std::uint64_t time, std::string_view name, bool gone = false) {
        collector::KsymbolRecord k{.address = kProgram, .length = 0x100, .type = 1, .unregister = gone, .name = name};
        k.sample.time = monotonic_from_ns(time);
        k.sample.id = EventId{1};
        capture_.add_record(record_bytes(records_.layout(), k));
    }
    void poke(std::uint64_t time, std::uint64_t address) {
        const std::vector<std::byte> bytes(5, std::byte{0x90});
        collector::TextPokeRecord p{.address = address, .old_bytes = bytes, .new_bytes = bytes};
        p.sample.time = monotonic_from_ns(time);
        p.sample.id = EventId{1};
        capture_.add_record(record_bytes(records_.layout(), p));
    }
    Result<FunctionCodes> codes(const std::string& symbol, std::optional<std::string> vmlinux) {
        const auto path = folder_.write("perf.data", Bytes(capture_.file()));
        auto reader = collector::CaptureReader::open(path);
        if (!reader) return fail(reader.error());
        CaptureOptions options;
        options.symbols.buildid_dir = "";
        options.symbols.debug_dirs = {};
        options.symbols.vmlinux = std::move(vmlinux);
        return function_codes(**reader, {.symbol = symbol, .dso = {}, .event = {}}, options, system_clock());
    }

    TempFolder folder_;
    ForeignCapture capture_;
    Records records_{attr_of(0)};
    BuildId build_id_ = build_id_of("00112233445566778899aabbccddeeff00112233");
    ElfImageSpec image_;
};

TEST_F(KernelCodeTest, IsThatOfTheVmlinuxMovedToWhereItLay) {
    sample(10, kHere + 0x110);
    sample(20, kHere + 0x13f);
    poke(25, kHere + 0x120);
    sample(30, kHere + 0x210);
    auto bytes = make_elf(image_);
    for (std::size_t i = 0; i < 0x40; ++i) bytes[image_.text_offset + 0x100 + i] = static_cast<std::byte>(i);
    const auto vmlinux = folder_.write("vmlinux", bytes);
    const auto found = codes("schedule", vmlinux);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->functions.size(), 1U);
    const auto& schedule = found->functions[0];
    EXPECT_EQ(schedule.function.samples, 2U);
    EXPECT_EQ(schedule.function.dso_name, "[kernel.kallsyms]");
    ASSERT_EQ(schedule.code.size(), 0x40U);
    EXPECT_EQ(schedule.code[0x3f], std::byte{0x3f});
    EXPECT_EQ(schedule.function.start + schedule.shift, kLinked + 0x100);
    EXPECT_EQ(schedule.machine, EM_X86_64);
    EXPECT_THAT(schedule.notes, Contains(HasSubstr("rewrote instructions of this function 1 time")));
    const auto idle = codes("do_idle", vmlinux);
    ASSERT_TRUE(idle);
    ASSERT_EQ(idle->functions.size(), 1U);
    EXPECT_THAT(idle->functions[0].notes, Not(Contains(HasSubstr("rewrote"))));
}

TEST_F(KernelCodeTest, OfADebugFileThereAreNamesAndNoCode) {
    sample(10, kHere + 0x110);
    image_.debug_file = true;
    const auto found = codes("schedule", folder_.write("vmlinux.debug", make_elf(image_)));
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->functions.size(), 1U);
    EXPECT_TRUE(found->functions[0].code.empty());
    EXPECT_THAT(found->functions[0].notes, Contains(HasSubstr("a debug file alone")));
}

TEST_F(KernelCodeTest, AnotherKernelsImageEndsTheCommand) {
    sample(10, kHere + 0x110);
    image_.build_id = build_id_of("99");
    const auto vmlinux = folder_.write("vmlinux", make_elf(image_));
    const auto found = codes("schedule", vmlinux);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message,
              "--vmlinux: " + vmlinux + ": its build-id is 99, that of the recorded kernel " + build_id_.hex());
    const auto missing = codes("schedule", folder_ / "nowhere");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
}

TEST_F(KernelCodeTest, BpfProgramsHaveTheNameOfTheirTime) {
    sample(5, kProgram + 0x10);
    program(10, "bpf_prog_1_first");
    sample(20, kProgram + 0x10);
    sample(30, kProgram + 0x20);
    program(40, "bpf_prog_1_first", true);
    sample(50, kProgram + 0x10);
    program(60, "bpf_prog_2_second");
    sample(70, kProgram + 0x10);
    for (const auto& [name, samples] : {std::pair("bpf_prog_1_first", 2U), std::pair("bpf_prog_2_second", 1U)}) {
        const auto found = codes(name, {});
        ASSERT_TRUE(found) << found.error().message;
        ASSERT_EQ(found->functions.size(), 1U) << name;
        EXPECT_EQ(found->functions[0].function.samples, samples);
        EXPECT_EQ(found->functions[0].function.dso_name, "[bpf]");
        EXPECT_THAT(found->functions[0].notes, Contains(HasSubstr("is in no file")));
    }
    const auto unnamed = codes("[unknown]", {});
    ASSERT_TRUE(unnamed);
    std::uint64_t samples = 0;
    for (const auto& function : unnamed->profile.functions) samples += function.reason != UnknownReason::kNone;
    EXPECT_EQ(samples, 1U) << "before and between: one kind of unknown";
}

}  // namespace
}  // namespace perfvigil::analyzer
