// SPDX-License-Identifier: GPL-2.0-or-later
// What one record costs between ring and slice: decoding, ordering, looking its frames up. Times are per record.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "collector/processes.hpp"
#include "collector/record.hpp"
#include "collector/time_order.hpp"
#include "tests/support/record_bytes.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;

constexpr std::size_t kSamples = 1024;  // a drain of fifty busy CPUs at 99 Hz
constexpr std::size_t kKernelFrames = 10;
constexpr std::size_t kUserFrames = 15;
constexpr std::uint64_t kProcesses = 64;
constexpr std::uint64_t kLibraries = 30;

constexpr std::uint64_t library_start(std::uint64_t process, std::uint64_t library) {
    return 0x7f0000000000 + process * 0x100000000 + library * 0x400000;
}

// 25 frames: ten of the kernel, then user frames that wander between a program and its libraries.
test::SampleFields sample(std::mt19937_64& random, std::uint64_t index) {
    const std::uint64_t process = random() % kProcesses;
    test::SampleFields s;
    const Pid pid{static_cast<std::int32_t>(1000 + process)};
    s.id = {0, pid, Tid{pid.value}, monotonic_from_ns(1'000'000'000 + index * 10'000), EventId{5}, 0, CpuId{1}};
    s.period = 10101010;
    s.chain.push_back(kContextKernel);
    for (std::size_t i = 0; i < kKernelFrames; ++i) s.chain.push_back(0xffffffff81000000 + random() % 0x1000000);
    s.chain.push_back(kContextUser);
    std::uint64_t library = random() % kLibraries;
    for (std::size_t i = 0; i < kUserFrames; ++i) {
        if (random() % 3 == 0) library = random() % kLibraries;
        s.chain.push_back(library_start(process, library) + random() % 0x100000);
    }
    s.ip = s.chain[1];
    return s;
}

RecordLayout layout() { return RecordLayout::of(test::cpu_clock_attr()); }

std::vector<test::RecordBytes> samples() {
    std::mt19937_64 random(1);
    std::vector<test::RecordBytes> out;
    out.reserve(kSamples);
    for (std::size_t i = 0; i < kSamples; ++i) out.push_back(record_bytes(layout(), sample(random, i)));
    return out;
}

MmapRecord library(std::uint64_t process, std::uint64_t number, const std::string& path) {
    MmapRecord mmap;
    mmap.misc = kMiscUser;
    mmap.pid = Pid{static_cast<std::int32_t>(1000 + process)};
    mmap.tid = Tid{mmap.pid.value};
    mmap.start = library_start(process, number);
    mmap.length = 0x100000;
    mmap.protection = 5;
    mmap.has_inode = true;
    mmap.inode = number + 1;
    mmap.path = path;
    return mmap;
}

void fill(ProcessTable& table) {
    for (std::uint64_t process = 0; process < kProcesses; ++process) {
        for (std::uint64_t number = 0; number < kLibraries; ++number) {
            table.apply(library(process, number, "/usr/lib/x86_64-linux-gnu/lib" + std::to_string(number) + ".so.1"));
        }
    }
}

// The user frames of one sample, looked up as a slice builder does.
std::uint64_t look_up(ProcessTable& table, const SampleRecord& sample) {
    const Process& process = table.process(sample.sample.pid);
    std::uint64_t sum = 0;
    bool user = false;
    for (std::size_t i = 0; i < sample.chain.size(); ++i) {
        const std::uint64_t address = sample.chain[i];
        if (address >= kContextMax) {
            user = address == kContextUser;
        } else if (user) {
            if (const Mapping* const found = process.maps.find(address)) sum += found->offset_of(address);
        }
    }
    return sum;
}

void per_record(benchmark::State& state, std::int64_t records) {
    const std::int64_t total = state.iterations() * records;
    state.SetItemsProcessed(total);
    state.counters["ns/record"] =
        benchmark::Counter(static_cast<double>(total) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void decode(benchmark::State& state) {
    const auto records = samples();
    const RecordLayout session = layout();
    for (auto _ : state) {
        for (const auto& bytes : records) {
            auto record = decode_record(bytes, session);
            benchmark::DoNotOptimize(record);
        }
    }
    per_record(state, std::int64_t{kSamples});
}
BENCHMARK(decode);

void peek(benchmark::State& state) {
    const auto records = samples();
    const RecordLayout session = layout();
    for (auto _ : state) {
        for (const auto& bytes : records) {
            auto key = peek_key(bytes, session);
            benchmark::DoNotOptimize(key);
        }
    }
    per_record(state, std::int64_t{kSamples});
}
BENCHMARK(peek);

// Copies of a drain of range(0) rings, delivered in one order.
void order(benchmark::State& state) {
    const auto records = samples();
    const auto rings = static_cast<std::size_t>(state.range(0));
    TimeOrder time_order;
    std::uint64_t base = 0;
    for (auto _ : state) {
        for (std::size_t ring = 0; ring < rings; ++ring) {
            for (std::size_t i = ring; i < kSamples; i += rings) {
                time_order.push_copy(monotonic_from_ns(base + i), records[i], 0);
            }
        }
        base += kSamples;
        time_order.flush_before(monotonic_from_ns(base - kSamples / 5),
                                [](const TimeOrder::Item& item) { benchmark::DoNotOptimize(item.data); });
    }
    per_record(state, std::int64_t{kSamples});
}
BENCHMARK(order)->Arg(1)->Arg(4)->Arg(64)->Arg(256);

void lookup(benchmark::State& state) {
    ProcessTable table;
    fill(table);
    const auto records = samples();
    std::vector<Record> decoded;
    decoded.reserve(records.size());
    for (const auto& bytes : records) decoded.push_back(*decode_record(bytes, layout()));
    for (auto _ : state) {
        for (const Record& record : decoded) benchmark::DoNotOptimize(look_up(table, std::get<SampleRecord>(record)));
    }
    per_record(state, std::int64_t{kSamples});
}
BENCHMARK(lookup);

// Everything between ring and slice.
void ring_to_lookup(benchmark::State& state) {
    ProcessTable table;
    fill(table);
    const auto records = samples();
    const RecordLayout session = layout();
    TimeOrder time_order;
    std::uint64_t base = 0;
    for (auto _ : state) {
        for (std::size_t ring = 0; ring < 4; ++ring) {
            for (std::size_t i = ring; i < kSamples; i += 4) {
                benchmark::DoNotOptimize(peek_key(records[i], session));
                time_order.push_copy(monotonic_from_ns(base + i), records[i], 0);
            }
        }
        base += kSamples;
        time_order.flush_before(monotonic_from_ns(base - kSamples / 5), [&](const TimeOrder::Item& item) {
            const auto record = decode_record(item.bytes(), session);
            table.apply(*record);
            benchmark::DoNotOptimize(look_up(table, std::get<SampleRecord>(*record)));
        });
    }
    per_record(state, std::int64_t{kSamples});
}
BENCHMARK(ring_to_lookup);

// A short process: fork, exec, six mappings, exit; per record.
void fork_exec_storm(benchmark::State& state) {
    ProcessTable table;
    fill(table);
    std::int32_t next = 100'000;
    std::int64_t now = 0;
    std::vector<std::string> paths(6);
    for (std::size_t i = 0; i < paths.size(); ++i)
        paths[i] = "/usr/lib/x86_64-linux-gnu/lib" + std::to_string(i) + ".so.1";
    for (auto _ : state) {
        const Pid pid{next++};
        const Tid tid{pid.value};
        const MonotonicTime time{Nanoseconds(++now)};
        table.apply(TaskRecord{{}, false, false, pid, Pid{1000}, tid, Tid{1000}, time});
        table.apply(CommRecord{{}, pid, tid, true, "true"});
        for (std::uint64_t i = 0; i < 6; ++i) {
            MmapRecord mmap = library(0, i, paths[i]);
            mmap.pid = pid;
            mmap.tid = tid;
            table.apply(mmap);
        }
        table.apply(TaskRecord{{}, true, false, pid, Pid{1000}, tid, Tid{1000}, time});
        if (now % 16384 == 0) table.forget_exited_before(time);
    }
    per_record(state, 9);
}
BENCHMARK(fork_exec_storm);

}  // namespace

BENCHMARK_MAIN();
