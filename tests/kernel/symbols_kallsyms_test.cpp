// SPDX-License-Identifier: GPL-2.0-or-later
// Names of this running kernel against those that perf gives to the same samples.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "analyzer/symbols/kernel_symbols.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/kallsyms.hpp"
#include "tests/support/client.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kPerf = "/usr/bin/perf";

// Every name that kallsyms has for an address.
std::multimap<std::uint64_t, std::string> all_names() {
    std::multimap<std::uint64_t, std::string> names;
    const auto text = read_file("/proc/kallsyms", 1U << 30);
    collector::KallsymsStream stream(
        [&](const collector::KallsymsLine& line) { names.emplace(line.address, line.name); });
    if (text) stream.feed(*text);
    return names;
}

TEST(SymbolsKallsyms, NameSamplesAsPerfDoes) {
    if (::access(kPerf, X_OK) != 0) GTEST_SKIP() << kPerf << " is not installed";
    const auto symbols = KernelSymbols::load();
    ASSERT_TRUE(symbols) << symbols.error().message;
    if (symbols->hidden()) GTEST_SKIP() << explain_hidden_kernel().detail;

    const test::TempFolder folder;
    const auto capture = folder / "kernel.data";
    test::Client record(kPerf,
                        {"record", "-q", "-o", capture, "-a", "-g", "-F", "2000", "-e", "cpu-clock", "--", "sh", "-c",
                         "find /usr/lib -type f | head -3000; for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; "
                         "dd if=/dev/zero of=/dev/null bs=4k count=1000000 2>&1"});
    (void)record.output();
    test::Client script(kPerf, {"script", "-i", capture, "-F", "ip,sym,dso"});
    const auto text = script.output();

    const auto names = all_names();
    std::size_t compared = 0;
    std::size_t aliases = 0;
    for (auto line : split(text, '\n')) {
        // "  ffffffff81001234 schedule ([kernel.kallsyms])"
        line = trim(line);
        if (!line.ends_with(" ([kernel.kallsyms])")) continue;
        const auto address = parse_number<std::uint64_t>(next_piece(line, ' '), 16);
        const auto theirs = next_piece(line, ' ');
        ASSERT_TRUE(address);
        if (theirs == "[unknown]") continue;
        ++compared;
        const auto ours = symbols->find(RuntimeAddress{*address});
        ASSERT_TRUE(ours) << hex_address(*address) << ' ' << theirs;
        if (ours->name == theirs) continue;
        // A return address right behind a function lies in the padding of the next one, which perf shows by its own
        // name.
        if (theirs == "__pfx_" + std::string(ours->name)) continue;
        // Else only another name of the same address (perf 6.1 takes the last one in kallsyms).
        const auto [from, to] = names.equal_range(ours->start.value);
        const bool alias = std::any_of(from, to, [&](const auto& entry) { return entry.second == theirs; });
        EXPECT_TRUE(alias) << hex_address(*address) << " perf: " << theirs << ", ours: " << ours->name;
        ++aliases;
    }
    EXPECT_GT(compared, 500U);
    EXPECT_LT(aliases, compared / 10);
}

TEST(SymbolsKallsyms, KnowTheFunctionsOfTheIdleLoop) {
    const auto symbols = KernelSymbols::load();
    ASSERT_TRUE(symbols);
    if (symbols->hidden()) GTEST_SKIP() << explain_hidden_kernel().detail;
    EXPECT_EQ(symbols->malformed_lines(), 0U);
    for (const char* name : {"do_idle", "cpu_startup_entry"}) {
        const auto address = symbols->address_of(name);
        ASSERT_TRUE(address) << name;
        EXPECT_TRUE(symbols->in_core_text(*address)) << name;
        EXPECT_EQ(symbols->find(*address)->name, name);
        EXPECT_EQ(symbols->find(*address)->dso, "[kernel.kallsyms]");
    }
    // In the core's text every byte but padding between sections belongs to a function.
    const auto from = symbols->address_of("_stext").value_or(RuntimeAddress{});
    const auto to = symbols->address_of("_etext").value_or(RuntimeAddress{});
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < symbols->size(); ++i) {
        const auto function = symbols->at(i);
        if (function.start >= from && function.start < to) covered += function.size;
    }
    EXPECT_GT(covered, (to.value - from.value) / 2);
    EXPECT_LE(covered, to.value - from.value);
}

}  // namespace
}  // namespace perfvigil::analyzer
