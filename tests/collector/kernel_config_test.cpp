// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kernel_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::IsEmpty;

std::string value_of(const KernelConfig& config, std::string_view option) {
    for (const auto& [name, value] : config) {
        if (name == option) return value;
    }
    return "absent";
}

// printf 'CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\n' | gzip -n9
constexpr std::string_view kPacked(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x73\xf6\xf7\x73\xf3\x74\x8f\xf7\x76\x0c\x76\xf4\xb3\xad\xe4\x52\x56"
    "\x70\x86\x0a\x38\x03\x05\x14\x32\x8b\x15\xf2\xf2\x4b\x14\x8a\x53\x4b\xb8\x00\x3c\x3f\xf4\x7b\x29\x00\x00\x00",
    54);

TEST(KernelConfig, ListsWhatIsSetAndWhatIsNot) {
    const auto config = parse_kernel_config(
        "#\n# Linux/x86 6.1.0 Kernel Configuration\n#\nCONFIG_SMP=y\nCONFIG_KASAN=y\n# CONFIG_KCSAN is not set\n"
        "CONFIG_HARDENED_USERCOPY=y\r\nCONFIG_LTO_CLANG=m\n");
    EXPECT_EQ(value_of(config, "CONFIG_KASAN"), "y");
    EXPECT_EQ(value_of(config, "CONFIG_HARDENED_USERCOPY"), "y");
    EXPECT_EQ(value_of(config, "CONFIG_LTO_CLANG"), "m");
    EXPECT_EQ(value_of(config, "CONFIG_KCSAN"), "n");
    EXPECT_EQ(value_of(config, "CONFIG_PROVE_LOCKING"), "n");
    EXPECT_EQ(value_of(config, "CONFIG_SMP"), "absent") << "only what bears on profiles";
}

TEST(KernelConfig, AnOptionStandsOnceHoweverOftenItIsSaid) {
    const auto config = parse_kernel_config("CONFIG_KASAN=y\nCONFIG_KASAN=y\n");
    EXPECT_EQ(std::ranges::count(config, "CONFIG_KASAN", [](const auto& row) { return row.first; }), 1);
}

TEST(KernelConfig, WhatIsNoConfigurationSaysNothing) {
    EXPECT_THAT(parse_kernel_config(""), IsEmpty());
    EXPECT_THAT(parse_kernel_config("#!/bin/sh\necho CONFIG_KASAN=y\n"), IsEmpty());
}

TEST(KernelConfig, ThePackedOneOfTheRunningKernelWins) {
    TempFolder folder;
    folder.write("boot/config-6.1", "CONFIG_KCSAN=y\n");
    EXPECT_EQ(value_of(read_kernel_config(folder.path(), "6.1"), "CONFIG_KCSAN"), "y");
    folder.write("proc/config.gz", kPacked);
    const auto config = read_kernel_config(folder.path(), "6.1");
    EXPECT_EQ(value_of(config, "CONFIG_KASAN"), "y");
    EXPECT_EQ(value_of(config, "CONFIG_KCSAN"), "n");
}

TEST(KernelConfig, ADamagedPackedOneIsPassedOver) {
    TempFolder folder;
    folder.write("proc/config.gz", kPacked.substr(0, 40));
    EXPECT_THAT(read_kernel_config(folder.path(), "6.1"), IsEmpty());
    folder.write("lib/modules/6.1/config", "CONFIG_KASAN=y\n");
    EXPECT_EQ(value_of(read_kernel_config(folder.path(), "6.1"), "CONFIG_KASAN"), "y");
    EXPECT_THAT(read_kernel_config(folder.path(), "6.2"), IsEmpty()) << "another kernel's";
}

TEST(Gunzip, StopsAtTheLimitAndSaysWhatIsWrong) {
    const Bytes packed = std::as_bytes(std::span(kPacked));
    EXPECT_EQ(gunzip(packed, 100).value_or(""), "CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\n");
    const auto over = gunzip(packed, 10);
    ASSERT_FALSE(over.has_value());
    EXPECT_EQ(over.error().code, ErrorCode::kExhausted);
    for (std::size_t length = 0; length < packed.size(); ++length) {
        EXPECT_FALSE(gunzip(packed.first(length), 100).has_value()) << length;
    }
    const auto plain = gunzip(std::as_bytes(std::span(std::string_view("CONFIG_KASAN=y\n"))), 100);
    ASSERT_FALSE(plain.has_value());
    EXPECT_THAT(plain.error().message, HasSubstr("damaged"));
}

}  // namespace
}  // namespace perfvigil::collector
