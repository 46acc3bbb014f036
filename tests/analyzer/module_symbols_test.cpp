// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/module_symbols.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "analyzer/symbols/kernel_names.hpp"
#include "analyzer/symbols/module_layout.hpp"
#include "base/section_names.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/module_image.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;

constexpr std::uint64_t kText = 0xffffffffc0300000;
constexpr std::uint64_t kUnlikely = 0xffffffffc0320000;  // not in the order of the file
constexpr std::uint64_t kHot = 0xffffffffc0310000;

class ModuleSymbolsTest : public testing::Test {
protected:
    ModuleSymbolsTest() {
        spec_.code = {{".text", 0x100, 0x11}, {".text.unlikely", 0x40, 0x22}, {".text.ext4_hot", 0x80, 0x33}};
        spec_.symbols = {{"ext4_read", 0, 0x10, 0x20},
                         {"ext4_write", 0, 0x40, 0x10},
                         {"ext4_error", 1, 0, 0x40},
                         {"ext4_hot", 2, 0, 0x30}};
        spec_.build_id = build_id_of("00112233445566778899aabbccddeeff00112233");
        module_ = {.name = "ext4",
                   .path = folder_ / "ext4.ko",
                   .start = kText,
                   .size = 0x30000,
                   .build_id = spec_.build_id,
                   .sections = {{".text", kText}, {".text.ext4_hot", kHot}, {".text.unlikely", kUnlikely}}};
    }
    static SymbolChildOptions child_options() {
        SymbolChildOptions options;
        options.program = kPerfvigilSymbols;
        return options;
    }
    ModuleSymbols symbols() {
        ModuleSymbols made(child_, files_);
        made.set_modules({module_});
        return made;
    }
    static std::string found(ModuleSymbols& symbols, std::uint64_t address) {
        const auto answer = symbols.find(RuntimeAddress{address});
        switch (answer.kind) {
            case ModuleSymbols::Kind::kFunction: return std::string(answer.dso) + ' ' + std::string(answer.name);
            case ModuleSymbols::Kind::kGap: return std::string(answer.dso) + " gap";
            case ModuleSymbols::Kind::kElsewhere: return std::string(answer.dso) + " elsewhere";
            case ModuleSymbols::Kind::kNoFile: return std::string(answer.dso) + " no file";
            case ModuleSymbols::Kind::kNoModule: break;
        }
        return "no module";
    }

    TempFolder folder_;
    ManualClock clock_;
    SymbolChild child_{child_options(), clock_};
    SourcedFiles files_{{.buildid_dir = "", .debug_dirs = {}}};
    ModuleImageSpec spec_;
    collector::KernelModule module_;
};

TEST_F(ModuleSymbolsTest, EachSectionIsWhereTheLoaderPutIt) {
    folder_.write("ext4.ko", make_module(spec_));
    auto ext4 = symbols();
    EXPECT_EQ(found(ext4, kText + 0x10), "[ext4] ext4_read");
    EXPECT_EQ(found(ext4, kText + 0x2f), "[ext4] ext4_read");
    EXPECT_EQ(found(ext4, kText + 0x45), "[ext4] ext4_write");
    EXPECT_EQ(found(ext4, kUnlikely + 0x3f), "[ext4] ext4_error");
    EXPECT_EQ(found(ext4, kHot + 1), "[ext4] ext4_hot");
    const auto read = ext4.find(RuntimeAddress{kText + 0x1f});
    EXPECT_EQ(read.start, RuntimeAddress{kText + 0x10});
    EXPECT_EQ(read.size, 0x20U);
    EXPECT_EQ(found(ext4, kText - 1), "no module");
    EXPECT_EQ(found(ext4, kText + 0x30000), "no module");
}

TEST_F(ModuleSymbolsTest, BehindASymbolsSizeIsAGap) {
    folder_.write("ext4.ko", make_module(spec_));
    auto ext4 = symbols();
    EXPECT_EQ(found(ext4, kText), "[ext4] gap");
    EXPECT_EQ(found(ext4, kText + 0x30), "[ext4] gap");
    EXPECT_EQ(found(ext4, kText + 0xff), "[ext4] gap");
    EXPECT_EQ(found(ext4, kHot + 0x30), "[ext4] gap");
    EXPECT_EQ(found(ext4, kText + 0x100), "[ext4] elsewhere");
}

TEST_F(ModuleSymbolsTest, CompressedFilesAreTheSame) {
    const std::pair<Packing, const char*> packings[]{
        {Packing::kGzip, "ext4.ko.gz"}, {Packing::kXz, "ext4.ko.xz"}, {Packing::kZstd, "ext4.ko.zst"}};
    for (const auto& [packing, name] : packings) {
        // The recorded path is of the plain file; this host keeps it compressed.
        const auto path = folder_.write(name, packed(make_module(spec_), packing));
        auto ext4 = symbols();
        EXPECT_EQ(found(ext4, kHot + 1), "[ext4] ext4_hot") << name;
        const auto code = ext4.code_at(RuntimeAddress{kHot + 1});
        ASSERT_TRUE(code) << code.error().message;
        EXPECT_EQ(code->offset, module_code_offset(spec_, 2) + 1);
        std::byte byte{};
        ASSERT_EQ(::pread(code->file->fd.get(), &byte, 1, static_cast<off_t>(code->offset)), 1);
        EXPECT_EQ(byte, std::byte{0x33});
        std::filesystem::remove(path);
    }
}

TEST_F(ModuleSymbolsTest, DamagedFilesCostTheirNamesAndNothingElse) {
    const auto whole = make_module(spec_);
    for (const auto packing : {Packing::kGzip, Packing::kXz, Packing::kZstd}) {
        auto bytes = packed(whole, packing);
        for (std::size_t size = 0; size < bytes.size(); size += 37) {
            folder_.write("ext4.ko", std::vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
            auto ext4 = symbols();
            EXPECT_EQ(found(ext4, kText + 0x10), "[ext4] no file") << size;
        }
    }
    for (std::size_t size = 0; size < whole.size(); size += 29) {
        folder_.write("ext4.ko", std::vector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        auto ext4 = symbols();
        EXPECT_EQ(found(ext4, kText + 0x10), "[ext4] no file") << size;
    }
    EXPECT_EQ(child_.counters().died, 0U);
}

TEST_F(ModuleSymbolsTest, WhatUnpacksBeyondTheLimitIsRefused) {
    auto options = child_options();
    options.table_bytes = 1U << 20;
    SymbolChild child(options, clock_);
    for (const auto packing : {Packing::kGzip, Packing::kXz, Packing::kZstd}) {
        const auto bomb = memory_file(packed(std::vector<std::byte>(4U << 20), packing));
        const auto inflated = child.inflate(bomb.get());
        ASSERT_FALSE(inflated);
        EXPECT_THAT(inflated.error().message, HasSubstr("over its size limit"));
        const auto small = memory_file(packed(std::vector<std::byte>(1000, std::byte{7}), packing));
        ASSERT_TRUE(child.inflate(small.get()));
    }
    EXPECT_FALSE(child.inflate(memory_file(std::vector<std::byte>(100, std::byte{7})).get()));
}

TEST_F(ModuleSymbolsTest, OnlyTheFileOfThatBuildIsTaken) {
    spec_.build_id = build_id_of("77");
    folder_.write("ext4.ko", make_module(spec_));
    auto other = symbols();
    EXPECT_EQ(found(other, kText + 0x10), "[ext4] no file");
    EXPECT_THAT(other.sentence(), HasSubstr("ext4 (its file has another build-id)"));
    module_.build_id = {};
    auto unknown = symbols();
    EXPECT_EQ(found(unknown, kText + 0x10), "[ext4] no file");
    module_.build_id = spec_.build_id;
    module_.sections.clear();
    auto unplaced = symbols();
    EXPECT_EQ(found(unplaced, kText + 0x10), "[ext4] no file");
    EXPECT_THAT(unplaced.sentence(), HasSubstr("where its sections lie is not known"));
}

TEST_F(ModuleSymbolsTest, SectionsOfOneNameAreAmbiguous) {
    spec_.code.push_back({".text.unlikely", 0x40, 0x44});
    spec_.symbols.push_back({"other", 3, 0, 0x40});
    folder_.write("ext4.ko", make_module(spec_));
    auto ext4 = symbols();
    EXPECT_EQ(found(ext4, kUnlikely + 1), "[ext4] elsewhere");
    EXPECT_EQ(found(ext4, kText + 0x10), "[ext4] ext4_read");
}

TEST_F(ModuleSymbolsTest, PaddingBelongsToItsFunction) {
    spec_.symbols.push_back({"__pfx_ext4_padded", 0, 0x60, 0x10});
    spec_.symbols.push_back({"ext4_padded", 0, 0x70, 0x10});
    folder_.write("ext4.ko", make_module(spec_));
    auto ext4 = symbols();
    EXPECT_EQ(found(ext4, kText + 0x62), "[ext4] ext4_padded");
    EXPECT_EQ(found(ext4, kText + 0x72), "[ext4] ext4_padded");
}

TEST_F(ModuleSymbolsTest, AModuleThatWasLoadedAgainLiesWhereItIsNow) {
    folder_.write("ext4.ko", make_module(spec_));
    auto ext4 = symbols();
    const auto before = ext4.find(RuntimeAddress{kText + 0x10}).name;
    auto moved = module_;
    moved.start += 0x100000;
    for (auto& section : moved.sections) section.address += 0x100000;
    ext4.set_modules({moved});
    EXPECT_EQ(found(ext4, kText + 0x10), "no module");
    EXPECT_EQ(found(ext4, kText + 0x100010), "[ext4] ext4_read");
    EXPECT_EQ(before, "ext4_read") << "names already given stay until the next window";
    ext4.begin_window();
    EXPECT_EQ(found(ext4, kText + 0x100010), "[ext4] ext4_read");
}

// --- the kernel's names as a whole

class KernelNamesOfModules : public ModuleSymbolsTest {
protected:
    KernelNamesOfModules() {
        capture_.kernel_build_id = build_id_of("0011");
        capture_.kernel_start = 0xffffffff81000000;
        capture_.modules = {module_};
    }
    std::string name(KernelNames& names, std::uint64_t address) {
        const auto symbol = names.resolve(RuntimeAddress{address});
        const auto what = symbol.reason == UnknownReason::kNone ? std::string(symbol.name)
                                                                : '?' + std::string(reason_name(symbol.reason));
        return std::string(symbol.dso) + ' ' + what;
    }
    collector::HostFacts capture_;
    ThisHost here_;  // another host
};

TEST_F(KernelNamesOfModules, OfAnotherHostComeFromTheirFiles) {
    folder_.write("ext4.ko", make_module(spec_));
    KernelNames names(folder_ / "none", clock_, here_, capture_, {}, KernelFiles{child_, files_, {}});
    EXPECT_EQ(name(names, kHot + 5), "[ext4] ext4_hot");
    EXPECT_EQ(name(names, kText + 0x30), "[ext4] ?outside_symbols") << "a gap is no function";
    EXPECT_EQ(name(names, 0xffffffff81000010), "[kernel.kallsyms] ?build_id_mismatch");
    EXPECT_THAT(names.modules()->sentence(),
                HasSubstr("by the modules' files and where the kernel put their sections: ext4."));
}

TEST_F(KernelNamesOfModules, WithoutItsFileKallsymsTells) {
    const auto kallsyms =
        folder_.write("kallsyms",
                      "ffffffff81000000 T _text\nffffffff81001000 t schedule\nffffffff81002000 T _etext\n"
                      "ffffffffc0300010 t ext4_by_kallsyms\t[ext4]\n");
    KernelNames without(kallsyms, clock_, here_, capture_, {.given = kallsyms}, KernelFiles{child_, files_, {}});
    EXPECT_EQ(name(without, kText + 0x12), "[ext4] ext4_by_kallsyms");
    EXPECT_EQ(name(without, kText), "[ext4] ?outside_symbols") << "the module is never lost";
    folder_.write("ext4.ko", make_module(spec_));
    KernelNames with(kallsyms, clock_, here_, capture_, {.given = kallsyms}, KernelFiles{child_, files_, {}});
    EXPECT_EQ(name(with, kText + 0x12), "[ext4] ext4_by_kallsyms") << "a given copy's word is taken";
}

TEST_F(KernelNamesOfModules, LiveOnesAreReadFromThisHost) {
    const auto root = folder_.path().string();
    folder_.write("ext4.ko", make_module(spec_));
    const auto kallsyms = folder_.write("kallsyms", "ffffffff81000000 T _text\nffffffff81001000 t schedule\n");
    folder_.write("proc/modules", "");
    KernelNames names(kallsyms, clock_, KernelFiles{child_, files_, root});
    EXPECT_EQ(name(names, kHot + 5), "[kernel.kallsyms] ?outside_symbols");
    folder_.write("kallsyms",
                  "ffffffff81000000 T _text\nffffffff81001000 t schedule\nffffffffc0310000 t hot\t[ext4]\n");
    folder_.write("proc/modules", "ext4 196608 1 - Live 0xffffffffc0300000\n");
    clock_.advance(std::chrono::seconds(2));
    EXPECT_EQ(name(names, kHot + 5), "[ext4] hot") << "it came after the first look";
    EXPECT_EQ(names.readings(), 2U);
}

TEST_F(KernelNamesOfModules, AVmlinuxNamesTheCoreWithItsSizes) {
    ElfImageSpec image;
    image.type = ET_EXEC;
    image.text_address = 0xffffffff80200000;
    image.text_size = 0x2000;
    image.build_id = capture_.kernel_build_id;
    image.symtab = {{"_text", 0xffffffff80200000, 0, STT_NOTYPE}, {"_stext", 0xffffffff80200000, 0, STT_NOTYPE},
                    {"schedule", 0xffffffff80200100, 0x40},       {"__pfx_do_idle", 0xffffffff802001f0, 0x10},
                    {"do_idle", 0xffffffff80200200, 0x80},        {"_etext", 0xffffffff80202000, 0, STT_NOTYPE}};
    const auto vmlinux = folder_.write("vmlinux", make_elf(image));
    constexpr std::uint64_t kHere = 0xffffffff81000000;
    KernelNames names(folder_ / "none", clock_, here_, capture_, {.vmlinux = vmlinux}, KernelFiles{child_, files_, {}});
    EXPECT_EQ(name(names, kHere + 0x13f), "[kernel.kallsyms] schedule");
    EXPECT_EQ(name(names, kHere + 0x140), "[kernel.kallsyms] ?outside_symbols");
    EXPECT_EQ(name(names, kHere + 0x1f8), "[kernel.kallsyms] do_idle");
    EXPECT_EQ(name(names, kHere + 0x3000), "[kernel.kallsyms] ?build_id_mismatch");
    EXPECT_EQ(names.resolve(RuntimeAddress{kHere + 0x110}).start, kHere + 0x100);
    EXPECT_FALSE(names.copy_error());
    const auto ranges = names.text_ranges([](std::string_view f) { return static_cast<std::uint8_t>(f == "do_idle"); });
    ASSERT_EQ(ranges.size(), 1U);
    EXPECT_EQ(ranges[0].start, kHere + 0x1f0);
    EXPECT_EQ(ranges[0].end, kHere + 0x280);

    image.build_id = build_id_of("99");
    const auto other = folder_.write("other", make_elf(image));
    KernelNames refused(folder_ / "none", clock_, here_, capture_, {.vmlinux = other}, KernelFiles{child_, files_, {}});
    EXPECT_EQ(name(refused, kHere + 0x110), "[kernel.kallsyms] ?build_id_mismatch");
    ASSERT_TRUE(refused.copy_error());
    EXPECT_THAT(refused.copy_error()->message, HasSubstr("--vmlinux: " + other + ": its build-id is 99"));
}

TEST_F(KernelNamesOfModules, AVmlinuxInTheBuildIdCacheIsFound) {
    ElfImageSpec image;
    image.text_address = 0xffffffff80200000;
    image.build_id = capture_.kernel_build_id;
    image.symtab = {{"_text", 0xffffffff80200000, 0, STT_NOTYPE},
                    {"schedule", 0xffffffff80200100, 0x40},
                    {"_etext", 0xffffffff80201000, 0, STT_NOTYPE}};
    folder_.write("cache/.build-id/00/11/vmlinux", make_elf(image));
    SourcedFiles cache({.buildid_dir = folder_ / "cache", .debug_dirs = {}});
    KernelNames names(folder_ / "none", clock_, here_, capture_, {}, KernelFiles{child_, cache, {}});
    EXPECT_EQ(name(names, 0xffffffff81000110), "[kernel.kallsyms] schedule");
}

// --- which kallsyms perf needs

class ModuleLayoutTest : public ModuleSymbolsTest {
protected:
    ModuleLayoutVerdict judge() { return judge_module_layout(child_, "6.1", folder_.path().string()); }
    void load(const std::string& module, std::size_t sections) {
        folder_.write("sys/module/" + module + "/sections/.text", "0x0\n");
        folder_.write("sys/module/" + module + "/sections/.text.unlikely", "0x0\n");
        for (std::size_t i = 0; i < sections; ++i) {
            folder_.write("sys/module/" + module + "/sections/.text.f" + std::to_string(i), "0x0\n");
        }
    }
};

TEST_F(ModuleLayoutTest, LoadedModulesTell) {
    load("whole", 0);
    load("odd", kOrdinaryTextSections);
    auto verdict = judge();
    EXPECT_EQ(verdict.layout, ModuleLayout::kWhole);
    EXPECT_EQ(verdict.form, KallsymsForm::kStripped);
    EXPECT_EQ(verdict.modules, 2U);
    load("nfsd", 40);
    verdict = judge();
    EXPECT_EQ(verdict.layout, ModuleLayout::kSplit);
    EXPECT_EQ(verdict.form, KallsymsForm::kFull);
    EXPECT_THAT(verdict.evidence, HasSubstr("1 of 3 loaded modules"));
    EXPECT_THAT(verdict.evidence, HasSubstr("nfsd (40)"));
}

TEST_F(ModuleLayoutTest, WithoutLoadedModulesTheirFilesTell) {
    EXPECT_EQ(judge().layout, ModuleLayout::kUnknown);
    EXPECT_EQ(judge().form, KallsymsForm::kFull);
    folder_.write("lib/modules/6.1/kernel/a.ko.xz", packed(make_module(spec_), Packing::kXz));
    folder_.write("lib/modules/6.1/kernel/broken.ko", std::string("no module"));
    folder_.write("lib/modules/6.1/modules.dep", "kernel/a.ko.xz:\nkernel/broken.ko: kernel/a.ko.xz\n");
    auto verdict = judge();
    EXPECT_EQ(verdict.layout, ModuleLayout::kWhole);
    EXPECT_EQ(verdict.modules, 1U);
    for (int i = 0; i < 6; ++i) spec_.code.push_back({".text.f" + std::to_string(i)});
    folder_.write("lib/modules/6.1/kernel/b.ko", make_module(spec_));
    folder_.write("lib/modules/6.1/modules.dep", "kernel/a.ko.xz:\nkernel/b.ko:\n");
    verdict = judge();
    EXPECT_EQ(verdict.layout, ModuleLayout::kSplit);
    ASSERT_EQ(verdict.split.size(), 1U);
    EXPECT_EQ(verdict.split[0].second, 7U);
}

}  // namespace
}  // namespace perfvigil::analyzer
