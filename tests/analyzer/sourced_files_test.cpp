// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/sourced_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/elf_image.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using test::build_id_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kId = "aa00000000000000000000000000000000000001";
constexpr const char* kPlace = "/.build-id/aa/00000000000000000000000000000000000001";

class SourcedFilesTest : public testing::Test {
protected:
    SourcedFilesTest() {
        sources_.buildid_dir = "";
        sources_.debug_dirs.clear();
    }
    std::string put_elf(const std::string& path, const char* build_id) {
        test::ElfImageSpec spec;
        if (*build_id != '\0') spec.build_id = build_id_of(build_id);
        spec.symtab = {{"f", 0x401000, 0x100}};
        return folder_.write(path, Bytes(test::make_elf(spec)));
    }
    static collector::Dso dso(std::string path, const char* build_id = kId) {
        collector::Dso made;
        made.path = std::move(path);
        if (*build_id != '\0') made.build_id = build_id_of(build_id);
        return made;
    }

    test::TempFolder folder_;
    SymbolSources sources_;
};

TEST_F(SourcedFilesTest, WithoutSourcesHaveNothing) {
    SourcedFiles files(sources_);
    EXPECT_EQ(files.file_of(dso("/bin/sh")), nullptr);
    EXPECT_EQ(files.debug_file_of(build_id_of(kId)), nullptr);
    EXPECT_EQ(files.kallsyms_of(build_id_of(kId)), std::nullopt);
    EXPECT_THAT(files.refusals(), IsEmpty());
}

TEST_F(SourcedFilesTest, KnowTheLayoutsOfPerfsCache) {
    // Since 4.12 a link to a folder of the file's own, before that to the file itself.
    put_elf("cache/usr/bin/app/" + std::string(kId) + "/elf", kId);
    std::filesystem::create_directories(folder_ / "cache/.build-id/aa");
    std::filesystem::create_directory_symlink("../../usr/bin/app/" + std::string(kId),
                                              (folder_ / "cache") + std::string(kPlace));
    const auto* old = "bb00000000000000000000000000000000000002";
    put_elf("cache/.build-id/bb/00000000000000000000000000000000000002", old);
    sources_.buildid_dir = folder_ / "cache";
    SourcedFiles files(sources_);
    ASSERT_NE(files.file_of(dso("/usr/bin/app")), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/bin/app"))->build_id.hex(), kId);
    EXPECT_NE(files.file_of(dso("/renamed", old)), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/bin/app", "")), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/bin/app", "aa")), nullptr);  // too short for a name
}

TEST_F(SourcedFilesTest, ACacheThatLiesIsNotBelieved) {
    put_elf(std::string("cache") + kPlace + "/elf", "cc");
    sources_.buildid_dir = folder_ / "cache";
    EXPECT_EQ(SourcedFiles(sources_).file_of(dso("/usr/bin/app")), nullptr);
}

TEST_F(SourcedFilesTest, BelowSymfsTheBuildIdDecides) {
    put_elf("root/usr/bin/app", kId);
    put_elf("root/usr/bin/other", "bb");
    put_elf("root/usr/bin/unmarked", "");
    sources_.symfs = folder_ / "root";
    SourcedFiles files(sources_);
    EXPECT_NE(files.file_of(dso("/usr/bin/app")), nullptr);
    EXPECT_NE(files.file_of(dso("/usr/bin/app (deleted)")), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/bin/nothing")), nullptr);
    EXPECT_EQ(files.file_of(dso("usr/bin/app")), nullptr);
    EXPECT_THAT(files.refusals(), IsEmpty());
    EXPECT_EQ(files.file_of(dso("/usr/bin/other")), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/bin/unmarked")), nullptr);
    EXPECT_THAT(
        files.refusals(),
        ElementsAre(testing::AllOf(HasSubstr("root/usr/bin/other was not used: its build-id is bb"), HasSubstr(kId)),
                    HasSubstr("its build-id is none")));
    // What the recording does not know cannot contradict.
    EXPECT_NE(files.file_of(dso("/usr/bin/other", "")), nullptr);
}

TEST_F(SourcedFilesTest, LinksBelowSymfsStayInside) {
    put_elf("root/usr/lib/libreal.so", kId);
    std::filesystem::create_directories(folder_ / "root");
    std::filesystem::create_directory_symlink("/usr/lib", folder_ / "root/lib");
    std::filesystem::create_symlink("../../../../../../etc/passwd", folder_ / "root/usr/lib/escape");
    sources_.symfs = folder_ / "root";
    SourcedFiles files(sources_);
    EXPECT_NE(files.file_of(dso("/lib/libreal.so")), nullptr);
    EXPECT_EQ(files.file_of(dso("/usr/lib/escape", "")), nullptr);
    EXPECT_EQ(files.file_of(dso("/../../../../../../../etc/passwd", "")), nullptr);
}

// "--symfs /" must not put this host's names on addresses of another one.
TEST_F(SourcedFilesTest, ThisHostsRootNeedsBuildIds) {
    sources_.symfs = "/";
    SourcedFiles files(sources_);
    EXPECT_EQ(files.file_of(dso(test::kPerfvigilSymbols, "")), nullptr);
    EXPECT_EQ(files.file_of(dso(test::kPerfvigilSymbols)), nullptr);
    EXPECT_THAT(files.refusals(), SizeIs(1));
}

TEST_F(SourcedFilesTest, RefusalsAreNotCountless) {
    sources_.symfs = folder_ / "root";
    for (int i = 0; i < 20; ++i) put_elf("root/bin/" + std::to_string(i), "bb");
    SourcedFiles files(sources_);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(files.file_of(dso("/bin/" + std::to_string(i))), nullptr);
    EXPECT_THAT(files.refusals(), SizeIs(9));
    EXPECT_THAT(files.refusals().back(), HasSubstr("12 more files"));
}

TEST_F(SourcedFilesTest, DebugFilesLieInThreePlaces) {
    const auto name = std::string(kPlace) + ".debug";
    put_elf("second" + name, kId);
    sources_.debug_dirs = {folder_ / "first", folder_ / "second"};
    EXPECT_NE(SourcedFiles(sources_).debug_file_of(build_id_of(kId)), nullptr);
    sources_.debug_dirs.clear();
    EXPECT_EQ(SourcedFiles(sources_).debug_file_of(build_id_of(kId)), nullptr);
    put_elf("root/usr/lib/debug" + name, kId);
    sources_.symfs = folder_ / "root";
    EXPECT_NE(SourcedFiles(sources_).debug_file_of(build_id_of(kId)), nullptr);
    sources_.symfs.reset();
    put_elf(std::string("cache") + kPlace + "/debug", kId);
    sources_.buildid_dir = folder_ / "cache";
    EXPECT_NE(SourcedFiles(sources_).debug_file_of(build_id_of(kId)), nullptr);
}

TEST_F(SourcedFilesTest, ADebugFileOfAnotherBuildIsNotTaken) {
    put_elf("debug" + std::string(kPlace) + ".debug", "bb");
    sources_.debug_dirs = {folder_ / "debug"};
    EXPECT_EQ(SourcedFiles(sources_).debug_file_of(build_id_of(kId)), nullptr);
}

TEST_F(SourcedFilesTest, TheKernelsSymbolsLieUnderItsBuildId) {
    const auto path = folder_.write(std::string("cache") + kPlace + "/kallsyms", "1000 T _text\n");
    sources_.buildid_dir = folder_ / "cache";
    EXPECT_EQ(SourcedFiles(sources_).kallsyms_of(build_id_of(kId)), path);
    EXPECT_EQ(SourcedFiles(sources_).kallsyms_of(build_id_of("bb00")), std::nullopt);
}

TEST_F(SourcedFilesTest, WhatIsNotThereIsSaidBeforehand) {
    EXPECT_TRUE(check({}));
    const auto expect_refused = [](const SymbolSources& sources, std::string_view sentence) {
        const auto checked = check(sources);
        ASSERT_FALSE(checked);
        EXPECT_THAT(checked.error().message, HasSubstr(sentence));
    };
    const auto file = folder_.write("file", "text");
    expect_refused({.symfs = "/nonexistent"}, "--symfs: /nonexistent: No such file");
    expect_refused({.symfs = file}, "not a folder");
    expect_refused({.buildid_dir = file}, "--buildid-dir: ");
    expect_refused({.kallsyms = "/nonexistent"}, "--kallsyms: /nonexistent: No such file");
    EXPECT_TRUE(check({.symfs = folder_ / "", .kallsyms = file, .buildid_dir = ""}));
}

}  // namespace
}  // namespace perfvigil::analyzer
