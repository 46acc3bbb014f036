// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/elf_symbols.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/elf_image.hpp"

namespace perfvigil::analyzer {
namespace {

using test::build_id_of;
using test::ElfImageSpec;
using test::make_elf;

UniqueFd file_of(Bytes bytes) {
    UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
    EXPECT_TRUE(write_all(fd.get(), bytes));
    return fd;
}

ElfSymbols read(Bytes bytes, const ElfLimits& limits = {}) { return read_elf_symbols(file_of(bytes).get(), limits); }

std::map<std::string, FunctionSymbol> by_name(const ElfSymbols& symbols) {
    std::map<std::string, FunctionSymbol> names;
    for (const auto& function : symbols.functions) names.emplace(function.name, function);
    return names;
}

TEST(ElfSymbols, AreFileOffsetsInEveryClassAndByteOrder) {
    for (const bool wide : {true, false}) {
        for (const bool big : {true, false}) {
            ElfImageSpec spec;
            spec.wide = wide;
            spec.big_endian = big;
            spec.build_id = build_id_of("00112233");
            // p_offset and p_vaddr differ by more than a page count of the same kind.
            spec.text_offset = 0x3000;
            spec.text_address = 0x7654'3000;
            spec.symtab = {{"first", 0x7654'3010, 0x20}, {"second", 0x7654'3040, 8, STT_FUNC, STB_LOCAL}};
            spec.dynsym = {{"exported", 0x7654'3100, 4, STT_GNU_IFUNC, STB_WEAK}};
            const auto symbols = read(make_elf(spec));
            ASSERT_EQ(symbols.state, FileState::kFunctions) << wide << big;
            EXPECT_EQ(symbols.flags, kTableSymtab | kTableDynsym);
            EXPECT_EQ(symbols.build_id, spec.build_id);
            const auto names = by_name(symbols);
            ASSERT_EQ(names.size(), 3U);
            EXPECT_EQ(names.at("first").start, 0x3010U);
            EXPECT_EQ(names.at("first").size, 0x20U);
            EXPECT_TRUE(names.at("first").global);
            EXPECT_EQ(names.at("second").start, 0x3040U);
            EXPECT_FALSE(names.at("second").global);
            EXPECT_EQ(names.at("exported").start, 0x3100U);
            EXPECT_TRUE(names.at("exported").weak);
            ASSERT_EQ(symbols.segments.size(), 2U);
            EXPECT_EQ(symbols.segments[1].offset, 0x3000U);
            EXPECT_EQ(symbols.segments[1].address, 0x7654'3000U);
        }
    }
}

TEST(ElfSymbols, OfADebugFileAreLinkAddresses) {
    for (const bool wide : {true, false}) {
        ElfImageSpec spec;
        spec.wide = wide;
        spec.debug_file = true;
        spec.build_id = build_id_of("00112233");
        spec.symtab = {{"first", 0x401010, 0x20}, {"second", 0x401040, 8}, {"outside", 0x500000, 8}};
        const auto symbols = read(make_elf(spec), {.link_addresses = true});
        ASSERT_EQ(symbols.state, FileState::kFunctions) << wide;
        EXPECT_EQ(symbols.build_id, spec.build_id);
        const auto names = by_name(symbols);
        ASSERT_EQ(names.size(), 2U);
        EXPECT_EQ(names.at("first").start, 0x401010U);
        EXPECT_EQ(names.at("second").start, 0x401040U);
        EXPECT_EQ(names.at("second").limit, 0x402000U);
        // Read as if it held its code it has no function.
        EXPECT_EQ(read(make_elf(spec)).state, FileState::kStripped);
    }
}

TEST(ElfSymbols, TakeFunctionsAndLabelsInCodeOnly) {
    ElfImageSpec spec;
    spec.symtab = {{"function", 0x401000, 8},
                   {"label", 0x401020, 0, STT_NOTYPE},
                   {"undefined", 0x401000, 8, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
                   {"object", 0x401000, 8, STT_OBJECT},
                   {"data_label", 0x800000, 0, STT_NOTYPE, STB_GLOBAL, 2},
                   {"end_of_text", 0x402000, 0, STT_NOTYPE},
                   {"outside_segments", 0x900000, 8},
                   {"$x", 0x401040, 0, STT_NOTYPE},
                   {"", 0x401050, 8}};
    const auto names = by_name(read(make_elf(spec)));
    std::set<std::string> kept;
    for (const auto& [name, symbol] : names) kept.insert(name);
    EXPECT_EQ(kept, (std::set<std::string>{"function", "label"}));
    EXPECT_TRUE(names.at("label").label);
    EXPECT_EQ(names.at("label").limit, 0x2000U);
}

TEST(ElfSymbols, ThumbBitIsNoAddress) {
    ElfImageSpec spec;
    spec.wide = false;
    spec.machine = EM_ARM;
    spec.symtab = {{"thumb", 0x401011, 8}};
    EXPECT_EQ(by_name(read(make_elf(spec))).at("thumb").start, 0x1010U);
}

TEST(ElfSymbols, SayWhatTheFileIs) {
    ElfImageSpec spec;
    spec.with_symtab = false;
    spec.with_dynsym = false;
    EXPECT_EQ(read(make_elf(spec)).state, FileState::kStripped);
    EXPECT_EQ(read(std::as_bytes(std::span("#!/bin/sh"))).state, FileState::kNotElf);
    EXPECT_EQ(read({}).state, FileState::kNotElf);
    EXPECT_EQ(read(std::as_bytes(std::span("\x7f"
                                           "ELFrest")))
                  .state,
              FileState::kDamaged);
    spec.dynsym = {{"exported", 0x401000, 8}};
    spec.with_dynsym = true;
    const auto dynamic_only = read(make_elf(spec));
    EXPECT_EQ(dynamic_only.state, FileState::kFunctions);
    EXPECT_EQ(dynamic_only.flags, kTableDynsym);
}

TEST(ElfSymbols, AreLimited) {
    ElfImageSpec spec;
    for (int i = 0; i < 100; ++i) spec.symtab.push_back({"f" + std::to_string(i), 0x401000U + 8 * i, 8});
    ElfLimits limits;
    limits.functions = 10;
    const auto few = read(make_elf(spec), limits);
    EXPECT_EQ(few.functions.size(), 10U);
    EXPECT_NE(few.flags & kTableCut, 0U);
    limits = {};
    limits.section_bytes = 100;
    const auto none = read(make_elf(spec), limits);
    EXPECT_TRUE(none.functions.empty());
    EXPECT_EQ(none.state, FileState::kDamaged);
}

std::vector<std::byte> packed(const std::vector<std::byte>& plain) {
    std::vector<std::byte> out(lzma_stream_buffer_bound(plain.size()));
    std::size_t size = 0;
    EXPECT_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(plain.data()),
                                      plain.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
              LZMA_OK);
    out.resize(size);
    return out;
}

TEST(ElfSymbols, AreCompletedFromTheSymbolsThatAStrippedFileCarriesPacked) {
    ElfImageSpec inner;
    inner.debug_file = true;
    inner.with_dynsym = false;
    inner.text_offset = 0x3000;
    inner.symtab = {{"local", 0x401100, 0x20, STT_FUNC, STB_LOCAL}, {"elsewhere", 0x700000, 8}};
    ElfImageSpec spec;
    spec.text_offset = 0x3000;
    spec.with_symtab = false;
    spec.dynsym = {{"exported", 0x401000, 0x20}};
    const auto stripped = read(make_elf(spec));
    EXPECT_EQ(stripped.flags, kTableDynsym);
    spec.more = {{".gnu_debugdata", packed(make_elf(inner))}};
    const auto symbols = read(make_elf(spec));
    EXPECT_EQ(symbols.flags, kTableDynsym | kTableMini);
    const auto names = by_name(symbols);
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names.at("local").start, 0x3100U);  // of the file, not of what it carries
    EXPECT_EQ(names.at("exported").start, 0x3000U);
    // What a whole file carries is not needed.
    spec.with_symtab = true;
    spec.symtab = {{"own", 0x401040, 8}};
    EXPECT_EQ(by_name(read(make_elf(spec))).size(), 2U);
}

TEST(ElfSymbols, OfAFileThatCarriesRubbishAreItsOwn) {
    ElfImageSpec spec;
    spec.with_symtab = false;
    spec.dynsym = {{"exported", 0x401000, 0x20}};
    for (const auto& rubbish : {std::vector<std::byte>(100, std::byte{1}), packed(std::vector<std::byte>(1000))}) {
        spec.more = {{".gnu_debugdata", rubbish}};
        const auto symbols = read(make_elf(spec));
        EXPECT_EQ(symbols.flags, kTableDynsym | kTableDamaged);
        EXPECT_EQ(by_name(symbols).size(), 1U);
    }
}

TEST(ElfSymbols, ComeWithTheLinkToADebugFile) {
    ElfImageSpec spec;
    std::vector<std::byte> link;
    ByteWriter writer(link);
    writer.text("app.debug");
    writer.zeros(3);
    writer.u32(0x11223344);
    spec.more = {{".gnu_debuglink", link}};
    const auto symbols = read(make_elf(spec));
    EXPECT_EQ(symbols.debug_link.name, "app.debug");
    EXPECT_EQ(symbols.debug_link.crc, 0x11223344U);
    spec.more = {{".gnu_debuglink", std::vector<std::byte>(5, std::byte{'x'})}};
    const auto damaged = read(make_elf(spec));
    EXPECT_TRUE(damaged.debug_link.name.empty());
    EXPECT_NE(damaged.flags & kTableDamaged, 0U);
}

TEST(ElfSymbols, OfADebugFileAloneNeedProgramHeadersThatWereKept) {
    ElfImageSpec spec;
    spec.debug_file = true;
    spec.text_offset = 0x3000;
    spec.symtab = {{"first", 0x401010, 0x20}};
    EXPECT_EQ(read(make_elf(spec)).state, FileState::kStripped);
    spec.offsets_kept = true;
    EXPECT_EQ(by_name(read(make_elf(spec))).at("first").start, 0x3010U);
    // No page of a process could hold such a segment.
    spec.text_offset = 0x3010;
    EXPECT_NE(read(make_elf(spec)).state, FileState::kFunctions);
}

ElfImageSpec rich() {
    ElfImageSpec spec;
    spec.build_id = build_id_of("0011223344");
    spec.symtab = {{"one", 0x401000, 8}, {"two", 0x401010, 8}, {"three", 0x401020, 0}};
    spec.dynsym = {{"four", 0x401030, 8}};
    return spec;
}

// Names may only be ones that the whole file has: no stray bytes are ever read as a name.
void expect_sane(const ElfSymbols& symbols, const std::set<std::string>& names) {
    for (const auto& function : symbols.functions) EXPECT_TRUE(names.contains(std::string(function.name)));
}

TEST(ElfSymbols, OfAFileCutAnywhere) {
    const auto file = make_elf(rich());
    const std::set<std::string> names{"one", "two", "three", "four"};
    for (std::size_t size = 0; size < file.size(); size += size < 0x300 ? 1 : 64) {
        const auto symbols = read(Bytes(file).first(size));
        expect_sane(symbols, names);
        EXPECT_NE(symbols.state, FileState::kStripped) << size;
    }
}

TEST(ElfSymbols, OfAFileWhoseEveryHeaderByteLies) {
    const auto file = make_elf(rich());
    // All but .text, which nothing reads.
    for (std::size_t at = 0; at < file.size(); at = at == 0x240 ? 0x2000 : at + 1) {
        for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
            auto lie = file;
            lie[at] = std::byte{static_cast<unsigned char>(value)};
            const auto symbols = read(lie);
            for (const auto& function : symbols.functions) {
                EXPECT_LE(function.start, function.limit);
                EXPECT_LE(function.name.size(), lie.size());
            }
        }
    }
}

TEST(ElfSymbols, OfAFileTruncatedWhileItIsRead) {
    ElfImageSpec spec;
    for (int i = 0; i < 2000; ++i) spec.symtab.push_back({"function_" + std::to_string(i), 0x401000U + i, 1});
    const auto whole = make_elf(spec);
    const auto fd = file_of(whole);
    std::jthread owner([&](const std::stop_token& stop) {
        for (std::size_t cut = 0; !stop.stop_requested(); cut = (cut + 977) % whole.size()) {
            ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(cut)), 0);
            ASSERT_EQ(::pwrite(fd.get(), whole.data(), whole.size(), 0), static_cast<ssize_t>(whole.size()));
        }
    });
    // A mapped file would raise SIGBUS here. Zeros may be read where the file was cut; names stay inside the table.
    for (int i = 0; i < 300; ++i) {
        const auto symbols = read_elf_symbols(fd.get());
        EXPECT_LE(symbols.functions.size(), 2000U);
    }
}

TEST(ElfSymbols, NeverMapTheFile) {
    // Write-sealing fails while any shared mapping exists, and a private one shows in our own list of mappings.
    const auto fd = file_of(make_elf(rich()));
    const auto symbols = read_elf_symbols(fd.get());
    ASSERT_EQ(symbols.state, FileState::kFunctions);
    const auto maps = read_file("/proc/self/maps");
    ASSERT_TRUE(maps);
    EXPECT_EQ(maps->find("memfd:elf"), std::string::npos);
}

// --- against nm(1)

std::multimap<std::uint64_t, std::string> functions_by_nm(const std::string& options, const std::string& file) {
    std::multimap<std::uint64_t, std::string> functions;
    const auto command = "nm " + options + " --defined-only -f posix '" + file + "' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::array<char, 65536> line{};
    while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
        // "name type value size"
        std::string_view text = trim(line.data());
        const auto name = next_piece(text, ' ');
        const auto type = next_piece(text, ' ');
        const auto value = parse_number<std::uint64_t>(next_piece(text, ' '), 16);
        if (value && (type == "T" || type == "t" || type == "W" || type == "i")) functions.emplace(*value, name);
    }
    return functions;
}

void expect_as_nm_says(const std::string& file, const std::string& options, std::size_t at_least) {
    const auto expected = functions_by_nm(options, file);
    if (expected.empty()) GTEST_SKIP() << "nm (binutils) shows nothing of " << file;
    const auto fd = open_file(file, O_RDONLY);
    ASSERT_TRUE(fd);
    const auto symbols = read_elf_symbols(fd->get());
    ASSERT_EQ(symbols.state, FileState::kFunctions);
    std::size_t compared = 0;
    for (const auto& function : symbols.functions) {
        if (function.label || function.stub) continue;
        // Back to link addresses, by the segments that were reported.
        const auto holds = [&](const ElfSegment& s) {
            return function.start >= s.offset && function.start - s.offset < s.size;
        };
        const auto segment = std::ranges::find_if(symbols.segments, holds);
        ASSERT_NE(segment, symbols.segments.end());
        const auto address = function.start - segment->offset + segment->address;
        const auto [from, to] = expected.equal_range(address);
        const auto bare = function.name.substr(0, function.name.find('@'));
        const bool named = std::any_of(from, to, [&](const auto& entry) {
            return std::string_view(entry.second).substr(0, entry.second.find('@')) == bare;
        });
        EXPECT_TRUE(named) << function.name << " at " << hex_address(address);
        ++compared;
    }
    EXPECT_GE(compared, at_least);
}

TEST(ElfSymbols, OfThisProgramAreThoseOfNm) {
    expect_as_nm_says(std::filesystem::read_symlink("/proc/self/exe"), "", 1000);
}

// Stubs as objdump(1) labels them in its disassembly: "0000000000001030 <puts@plt>:".
std::map<std::uint64_t, std::string> stubs_by_objdump(const std::string& file) {
    std::map<std::uint64_t, std::string> stubs;
    const auto command = "objdump -d -j .plt -j .plt.sec -j .plt.got '" + file + "' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::array<char, 65536> line{};
    while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
        std::string_view text = trim(line.data());
        if (!text.ends_with("@plt>:")) continue;
        const auto address = parse_number<std::uint64_t>(next_piece(text, ' '), 16);
        text.remove_prefix(1);
        const auto name = text.substr(0, text.find('@'));
        if (address && !name.starts_with("*ABS*")) stubs.emplace(*address, name);
    }
    return stubs;
}

TEST(ElfSymbols, HaveStubsWhereObjdumpSeesThem) {
    const std::string file = std::filesystem::read_symlink("/proc/self/exe");
    const auto expected = stubs_by_objdump(file);
    if (expected.empty()) GTEST_SKIP() << "objdump (binutils) shows no stubs of " << file;
    const auto fd = open_file(file, O_RDONLY);
    ASSERT_TRUE(fd);
    const auto symbols = read_elf_symbols(fd->get());
    std::map<std::uint64_t, std::string> stubs;
    for (const auto& function : symbols.functions) {
        if (!function.stub) continue;
        const auto holds = [&](const ElfSegment& s) {
            return function.start >= s.offset && function.start - s.offset < s.size;
        };
        const auto segment = std::ranges::find_if(symbols.segments, holds);
        ASSERT_NE(segment, symbols.segments.end());
        stubs.emplace(function.start - segment->offset + segment->address, function.name);
    }
    EXPECT_GE(expected.size(), 100U);
    for (const auto& [address, name] : expected) {
        const auto found = stubs.find(address);
        ASSERT_NE(found, stubs.end()) << name << " at " << hex_address(address);
        EXPECT_EQ(found->second, name) << hex_address(address);
    }
}

TEST(ElfSymbols, OfTheCLibraryAreThoseOfNm) {
    // Stripped: the dynamic symbols alone.
    std::string libc;
    const auto maps = read_file("/proc/self/maps");
    ASSERT_TRUE(maps);
    if (const auto at = maps->find("libc.so.6"); at != std::string::npos) {
        const auto from = maps->rfind(' ', at) + 1;
        libc = maps->substr(from, maps->find('\n', at) - from);
    }
    if (libc.empty()) GTEST_SKIP() << "no libc.so.6 is mapped";
    expect_as_nm_says(libc, "-D", 1000);
}

}  // namespace
}  // namespace perfvigil::analyzer
