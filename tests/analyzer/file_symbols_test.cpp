// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/file_symbols.hpp"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/symbols/child/table_writer.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/memory_file.hpp"

namespace perfvigil::analyzer {
namespace {

using test::build_id_of;
using test::ElfImageSpec;
using test::make_elf;
using test::memory_file;

std::vector<std::byte> table_of(const ElfImageSpec& spec) {
    const auto elf = memory_file(make_elf(spec));
    const auto out = memory_file({});
    EXPECT_TRUE(write_table(out.get(), read_elf_symbols(elf.get()), 1U << 20));
    const auto mapped = MappedFile::map(out.get());
    return test::bytes_of(*mapped);
}

ElfImageSpec two_functions() {
    ElfImageSpec spec;
    spec.build_id = build_id_of("00112233445566778899aabbccddeeff00112233");
    spec.symtab = {{"_ZN3foo3barEi", 0x401010, 0x20}, {"main", 0x401040, 0x10}};
    return spec;
}

TEST(FileSymbols, FindByFileOffset) {
    const auto table = table_of(two_functions());
    const auto symbols = FileSymbols::from_bytes(table);
    ASSERT_TRUE(symbols);
    EXPECT_EQ(symbols->state(), FileState::kFunctions);
    EXPECT_TRUE(symbols->has_symtab());
    EXPECT_EQ(symbols->build_id().hex(), "00112233445566778899aabbccddeeff00112233");
    EXPECT_EQ(symbols->size(), 2U);

    struct {
        std::uint64_t offset;
        const char* name;  // nullptr: nothing covers it
    } const cases[] = {{0, nullptr},         {0x100f, nullptr}, {0x1010, "foo::bar"},
                       {0x102f, "foo::bar"}, {0x1030, nullptr}, {0x1040, "main"},
                       {0x104f, "main"},     {0x1050, nullptr}, {~0ULL, nullptr}};
    for (const auto& [offset, name] : cases) {
        const auto found = symbols->find(FileOffset{offset});
        ASSERT_EQ(found.has_value(), name != nullptr) << offset;
        if (name == nullptr) continue;
        EXPECT_EQ(found->name, name);
        EXPECT_LE(found->start.value, offset);
        EXPECT_LT(offset, found->start.value + found->size);
    }
}

TEST(FileSymbols, KnowLinkAddresses) {
    const auto table = table_of(two_functions());
    const auto symbols = FileSymbols::from_bytes(table);
    ASSERT_TRUE(symbols);
    EXPECT_EQ(symbols->link_address(FileOffset{0x1010}), LinkAddress{0x401010});
    EXPECT_EQ(symbols->link_address(FileOffset{0x10}), LinkAddress{0x10});
    EXPECT_EQ(symbols->link_address(FileOffset{0x9999999}), std::nullopt);
}

TEST(FileSymbols, OfStrippedAndForeignFiles) {
    ElfImageSpec spec;
    spec.with_symtab = false;
    spec.with_dynsym = false;
    const auto stripped = table_of(spec);
    EXPECT_EQ(FileSymbols::from_bytes(stripped)->state(), FileState::kStripped);
    EXPECT_EQ(FileSymbols::from_bytes(stripped)->find(FileOffset{0x1010}), std::nullopt);

    const auto out = memory_file({});
    const auto text = memory_file(std::as_bytes(std::span("#!/bin/sh")));
    ASSERT_TRUE(write_table(out.get(), read_elf_symbols(text.get()), 1U << 20));
    EXPECT_EQ(FileSymbols::from_mapping(*MappedFile::map(out.get()))->state(), FileState::kNotElf);
}

TEST(FileSymbols, WithoutAByteOfCodeAreNone) {
    ElfImageSpec spec;
    spec.symtab = {{"nothing", 0x401000 + spec.text_size - 1, 0, STT_FUNC, STB_GLOBAL, SHN_ABS}};
    spec.text_size = 0x1000;
    EXPECT_EQ(FileSymbols::from_bytes(table_of(spec))->state(), FileState::kFunctions);
    auto elf = read_elf_symbols(memory_file(make_elf(spec)).get());
    ASSERT_EQ(elf.functions.size(), 1U);
    elf.functions[0].limit = elf.functions[0].start;
    const auto out = memory_file({});
    ASSERT_TRUE(write_table(out.get(), std::move(elf), 1U << 20));
    EXPECT_EQ(FileSymbols::from_mapping(*MappedFile::map(out.get()))->state(), FileState::kStripped);
}

TEST(FileSymbols, OfATableOverItsLimitAreNotWritten) {
    for (const std::uint64_t limit : {0U, 63U, 100U, 150U}) {
        const auto elf = memory_file(make_elf(two_functions()));
        const auto out = memory_file({});
        const auto written = write_table(out.get(), read_elf_symbols(elf.get()), limit);
        ASSERT_FALSE(written) << limit;
        EXPECT_EQ(written.error().code, ErrorCode::kExhausted);
        EXPECT_EQ(MappedFile::map(out.get())->bytes().size(), 0U);
    }
}

// Everything that a hostile child could answer: accepted tables answer every question without leaving their bytes.
void ask_everything(Bytes table) {
    const auto symbols = FileSymbols::from_bytes(table);
    if (!symbols) {
        EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid);
        return;
    }
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < symbols->size(); ++i) {
        const auto function = symbols->at(i);
        EXPECT_GE(function.start.value, position);
        position = function.start.value + function.size;
        EXPECT_LE(function.name.size(), table.size());
        EXPECT_EQ(symbols->find(function.start)->start, function.start);
    }
    for (std::uint64_t offset = 0; offset < 0x2000; offset += 7) (void)symbols->find(FileOffset{offset});
    (void)symbols->link_address(FileOffset{~0ULL});
}

TEST(FileSymbols, OfAHostileTable) {
    const auto table = table_of(two_functions());
    for (std::size_t size = 0; size < table.size(); ++size) {
        EXPECT_FALSE(FileSymbols::from_bytes(Bytes(table).first(size))) << size;
    }
    for (std::size_t at = 0; at < table.size(); ++at) {
        for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
            auto lie = table;
            lie[at] = std::byte{static_cast<unsigned char>(value)};
            ask_everything(lie);
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
