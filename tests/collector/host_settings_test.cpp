// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/host_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class Settings : public testing::Test {
protected:
    HostSettings read(std::string_view cpuinfo = "") const { return read_host_settings(folder_.path(), cpuinfo); }
    void section(const std::string& module, const std::string& name) const {
        folder_.write("sys/module/" + module + "/sections/" + name, "0x0\n");
    }
    TempFolder folder_;
};

TEST_F(Settings, WhatCannotBeReadIsNotThere) { EXPECT_THAT(read(), IsEmpty()); }

TEST_F(Settings, AreNamedByTheirState) {
    folder_.write("sys/devices/system/cpu/smt/active", "1\n");
    folder_.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    EXPECT_THAT(
        read("processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"),
        ElementsAre(Pair("smt", "on"), Pair("transparent_hugepage", "madvise"), Pair("virtual_machine", "yes")));
}

TEST_F(Settings, OddStatesSayNothing) {
    folder_.write("sys/devices/system/cpu/smt/active", "maybe\n");
    folder_.write("sys/kernel/mm/transparent_hugepage/enabled", "] always [\n");
    EXPECT_THAT(read("flags : fpu hypervisors\n"), ElementsAre(Pair("virtual_machine", "no")));
    EXPECT_THAT(read("Features : fp asimd\n"), IsEmpty()) << "arm64 has no such flag";
}

TEST_F(Settings, AModuleWithASectionPerFunctionIsCounted) {
    for (int i = 0; i < 7; ++i) section("nfsd", ".text.f" + std::to_string(i));
    section("nfsd", ".text");
    section("nfsd", ".text.unlikely");
    section("nfsd", ".rodata.f1");
    EXPECT_THAT(read(), ElementsAre(Pair("module_sections", "read"), Pair("split_text.nfsd", "7")));
}

TEST_F(Settings, AnOrdinaryModuleIsNot) {
    for (const char* name : {".text", ".text.unlikely", ".text.hot", ".text.startup", ".text.exit", ".init.text",
                             ".exit.text", ".noinstr.text", ".text.a", ".text.b", ".text.c", ".text.d"}) {
        section("ext4", name);
    }
    EXPECT_THAT(read(), ElementsAre(Pair("module_sections", "read")));
}

TEST_F(Settings, BuiltInModulesHaveNoSectionsToList) {
    folder_.write("sys/module/printk/parameters/time", "Y\n");
    EXPECT_THAT(read(), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::collector
