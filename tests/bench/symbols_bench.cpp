// SPDX-License-Identifier: GPL-2.0-or-later
// What names cost: reading kallsyms, reading a file's functions through the symbol child, and looking addresses up.
#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "analyzer/symbols/child/demangle.hpp"
#include "analyzer/symbols/kernel_symbols.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/fd.hpp"
#include "base/time.hpp"
#include "tests/support/paths.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::analyzer;

void load_kallsyms(benchmark::State& state) {
    std::size_t functions = 0;
    std::size_t bytes = 0;
    for (auto _ : state) {
        auto symbols = KernelSymbols::load();
        if (!symbols || symbols->hidden()) return state.SkipWithError("kallsyms is hidden from us");
        functions = symbols->size();
        bytes = symbols->bytes();
    }
    state.counters["functions"] = static_cast<double>(functions);
    state.counters["MiB"] = static_cast<double>(bytes) / (1U << 20);
}
BENCHMARK(load_kallsyms)->Unit(benchmark::kMillisecond);

void parse_kallsyms(benchmark::State& state) {
    const auto text = read_file("/proc/kallsyms", 1U << 30);
    if (!text) return state.SkipWithError("kallsyms cannot be read");
    for (auto _ : state) benchmark::DoNotOptimize(KernelSymbols::parse(*text));
}
BENCHMARK(parse_kallsyms)->Unit(benchmark::kMillisecond);

void find_in_kernel(benchmark::State& state) {
    const auto symbols = KernelSymbols::load();
    if (!symbols || symbols->size() == 0) return state.SkipWithError("kallsyms is hidden from us");
    std::mt19937_64 random(1);
    std::vector<RuntimeAddress> addresses;
    for (int i = 0; i < 4096; ++i) {
        const auto function = symbols->at(random() % symbols->size());
        addresses.push_back(RuntimeAddress{function.start.value + random() % function.size});
    }
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(symbols->find(addresses[i++ % addresses.size()]));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(find_in_kernel);

// The first of these files that is there.
std::string first_of(std::initializer_list<const char*> paths) {
    for (const char* path : paths) {
        if (std::filesystem::exists(path)) return path;
    }
    return {};
}

std::string c_library() { return first_of({"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6"}); }
std::string large_file() {
    return first_of({"/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1", "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1",
                     "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"});
}

Result<FileSymbols> read(SymbolChild& child, const std::string& path) {
    auto file = open_file(path, O_RDONLY);
    if (!file) return fail(std::move(file.error()));
    return child.read(file->get());
}

void read_file_symbols(benchmark::State& state, const std::string& path) {
    if (path.empty()) return state.SkipWithError("not installed");
    SymbolChildOptions options;
    options.program = test::kPerfvigilSymbols;
    SymbolChild child(options, system_clock());
    std::size_t functions = 0;
    std::size_t bytes = 0;
    for (auto _ : state) {
        const auto symbols = read(child, path);
        if (!symbols) return state.SkipWithError(symbols.error().message.c_str());
        functions = symbols->size();
        bytes = symbols->bytes();
    }
    state.counters["functions"] = static_cast<double>(functions);
    state.counters["MiB"] = static_cast<double>(bytes) / (1U << 20);
}
BENCHMARK_CAPTURE(read_file_symbols, libc, c_library())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(read_file_symbols, libLLVM, large_file())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(read_file_symbols, this_program, std::string("/proc/self/exe"))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void find_in_file(benchmark::State& state, const std::string& path) {
    if (path.empty()) return state.SkipWithError("not installed");
    SymbolChildOptions options;
    options.program = test::kPerfvigilSymbols;
    SymbolChild child(options, system_clock());
    const auto symbols = read(child, path);
    if (!symbols || symbols->size() == 0) return state.SkipWithError("no symbols");
    std::mt19937_64 random(1);
    std::vector<FileOffset> offsets;
    for (int i = 0; i < 4096; ++i) offsets.push_back(symbols->at(random() % symbols->size()).start);
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(symbols->find(offsets[i++ % offsets.size()]));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(find_in_file, libc, c_library());
BENCHMARK_CAPTURE(find_in_file, libLLVM, large_file());

void demangle(benchmark::State& state) {
    const std::vector<std::string> names{
        "memcpy", "_ZNSt6vectorIiSaIiEE9push_backEOi", "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
        "_ZN9perfvigil8analyzer13KernelSymbols4loadERKNSt7__cxx1112basic_stringIcSt11char_"
        "traitsIcESaIcEEE"};
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(display_name(names[i++ % names.size()]));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(demangle);

void start_child(benchmark::State& state) {
    for (auto _ : state) {
        SymbolChildOptions options;
        options.program = test::kPerfvigilSymbols;
        SymbolChild child(options, system_clock());
        benchmark::DoNotOptimize(read(child, test::kPerfvigilSymbols));
    }
}
BENCHMARK(start_child)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
