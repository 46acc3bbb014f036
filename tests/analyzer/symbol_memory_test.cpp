// SPDX-License-Identifier: GPL-2.0-or-later
// What names cost on a busy host: two thousand processes that map three hundred different programs and libraries, real
// files read by the real child. The tables do not fit their limit together, so they go and come.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/host_symbolizer.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/processes.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/length.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kTableBytes = 4U << 20;
constexpr std::size_t kFunctions = 1000;  // of one file: a table of about 50 KiB
constexpr std::size_t kOpenFiles = 64;
constexpr std::uint64_t kCode = 0x1000;

std::string function_name(std::size_t file, std::size_t function) {
    return "function_" + std::to_string(file) + "_with_a_name_of_some_length_" + std::to_string(function);
}

BuildId build_id(std::size_t file) {
    std::vector<std::byte> id(20, std::byte{0xab});
    id[0] = std::byte{static_cast<unsigned char>(file)};
    id[1] = std::byte{static_cast<unsigned char>(file >> 8U)};
    return BuildId(id);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

std::uint64_t resident_bytes() {
    const auto statm = read_file("/proc/self/statm");
    std::string_view text = statm ? std::string_view(*statm) : std::string_view{};
    (void)next_piece(text, ' ');
    return parse_number<std::uint64_t>(next_piece(text, ' ')).value_or(0) * 4096;
}

TEST(SymbolMemory, OfManyProcessesAndFilesIsBounded) {
    const auto file_count = static_cast<std::size_t>(test::by_length(100, 300));
    const auto process_count = static_cast<std::size_t>(test::by_length(400, 2000));
    const test::TempFolder folder;
    for (std::size_t file = 0; file < file_count; ++file) {
        test::ElfImageSpec spec;
        spec.build_id = build_id(file);
        spec.text_size = kFunctions * 16;
        for (std::size_t i = 0; i < kFunctions; ++i)
            spec.symtab.push_back({function_name(file, i), spec.text_address + 16 * i, 16});
        (void)folder.write("file_" + std::to_string(file), Bytes(test::make_elf(spec)));
    }

    test::ManualClock clock;
    SymbolChildOptions child_options;
    child_options.program = test::kPerfvigilSymbols;
    SymbolChild child(child_options, clock);
    FileOpener opener(Origin::kLive, {}, {.files = kOpenFiles}, clock);
    HostSymbolizerOptions options;
    options.table_bytes = kTableBytes;
    options.sources.debug_dirs.clear();
    HostSymbolizer symbolizer(options, opener, child, clock);
    collector::ProcessTable processes({}, &opener);

    const auto descriptors = open_descriptors();
    const auto resident = resident_bytes();
    std::size_t wrong = 0;
    for (std::size_t number = 0; number < process_count; ++number) {
        if (number % 100 == 0) {
            symbolizer.begin_window();
            EXPECT_LE(symbolizer.table_bytes(), kTableBytes);
        }
        const Pid pid{static_cast<std::int32_t>(4'000'000 + number)};  // beyond what the kernel numbers
        for (std::size_t i = 0; i < 3; ++i) {
            const std::size_t file = (number * 7 + i * 31) % file_count;
            const std::string path = folder / ("file_" + std::to_string(file));
            collector::MmapRecord mmap;
            mmap.misc = collector::kMiscUser;
            mmap.pid = pid;
            mmap.tid = Tid{pid.value};
            mmap.start = 0x10000 * (i + 1);
            mmap.length = 0x8000;
            mmap.protection = 5;
            mmap.path = path;
            mmap.build_id = build_id(file);
            processes.apply(mmap);
            const auto* mapping = processes.process(pid).maps.find(mmap.start);
            ASSERT_NE(mapping, nullptr);
            for (const std::size_t function : {std::size_t{0}, kFunctions / 2, kFunctions - 1}) {
                const auto symbol = symbolizer.resolve(mapping->dso, kCode + 16 * function + 3);
                wrong += symbol.name == function_name(file, function) ? 0 : 1;
            }
        }
    }
    EXPECT_EQ(wrong, 0U);
    // Within a window nothing goes, so that names stay; the next one starts within the limit.
    symbolizer.begin_window();
    EXPECT_LE(symbolizer.table_bytes(), kTableBytes);
    EXPECT_LT(symbolizer.table_count(), file_count);
    EXPECT_LE(symbolizer.dso_count(), file_count);
    EXPECT_LE(open_descriptors(), descriptors + kOpenFiles + 8);
    EXPECT_EQ(child.counters().died, 0U);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(resident_bytes() - std::min(resident, resident_bytes()), 64U << 20);
#endif
    RecordProperty("resident_growth", std::to_string(resident_bytes() - std::min(resident, resident_bytes())));
}

}  // namespace
}  // namespace perfvigil::analyzer
