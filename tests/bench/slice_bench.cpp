// SPDX-License-Identifier: GPL-2.0-or-later
// What aggregation costs: samples that are decoded already, resolved and counted into slices, and slices merged into a
// profile. With PERFVIGIL_BENCH_CAPTURE=FILE also the whole way from a file's bytes to slices, beside hashing the file
// once (where xxhash.h is installed).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analyzer/profile/builder.hpp"
#include "analyzer/slice/builder.hpp"
#include "base/fd.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/fake_symbolizer.hpp"
#include "tests/support/record_bytes.hpp"

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

namespace {

using namespace perfvigil;

constexpr std::size_t kSamples = 100'000;
constexpr std::size_t kDepth = 25;
constexpr EventId kId{7};

// Samples of threads that walk through a call tree: from one to the next a thread returns some levels and calls others.
// `turnover`: how many of the 25 levels change on average.
class Walk {
public:
    Walk(std::size_t threads, std::size_t turnover) {
        const auto attr = test::cpu_clock_attr();
        table.add_event({"cpu-clock", collector::EventRole::kSampling, attr});
        collector::EventInstance instance;
        instance.cpu = CpuId{0};
        instance.nominal_period = Nanoseconds(50'000);
        instance.layout = collector::RecordLayout::of(attr);
        table.add_instance(kId, instance);

        std::mt19937_64 random(1);
        std::vector<std::vector<std::uint64_t>> stacks(threads, std::vector<std::uint64_t>(kDepth, address(0)));
        for (std::size_t i = 0; i < kSamples; ++i) {
            const std::size_t thread = random() % threads;
            auto& stack = stacks[thread];
            const std::size_t changed = std::min(kDepth, static_cast<std::size_t>(random() % (2 * turnover + 1)));
            for (std::size_t level = kDepth - changed; level < kDepth; ++level) stack[level] = address(random());
            test::SampleFields fields;
            fields.id.id = kId;
            fields.id.pid = Pid{static_cast<std::int32_t>(1000 + thread)};
            fields.id.tid = Tid{fields.id.pid.value};
            fields.id.time = monotonic_from_ns(1'000'000'000 + i * 50'000);
            fields.chain.push_back(collector::kContextUser);
            fields.chain.insert(fields.chain.end(), stack.rbegin(), stack.rend());
            fields.ip = fields.chain[1];
            bytes.push_back(test::record_bytes(instance.layout, fields));
        }
        for (const auto& record : bytes) records.push_back(*collector::decode_record(record, instance.layout));
    }
    void map_programs(analyzer::SliceBuilder& builder) const {
        collector::MmapRecord mmap;
        mmap.start = test::SyntheticCode::kProgramStart;
        mmap.length = 0x1000000;
        mmap.protection = 5;
        mmap.path = "/usr/bin/worker";
        for (std::int32_t pid = 1000; pid < 1100; ++pid) {
            mmap.pid = Pid{pid};
            mmap.tid = Tid{pid};
            const collector::Record record = mmap;
            builder.on_record({{}, nullptr, record, {}, false});
        }
    }
    void run(analyzer::SliceBuilder& builder) const {
        const auto* instance = table.find(kId);
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto& sample = std::get<collector::SampleRecord>(records[i]);
            builder.on_record({sample.sample.time, instance, records[i], bytes[i], false});
        }
        collector::Cut cut;
        cut.time = monotonic_from_ns(10'000'000'000);
        builder.on_cut(cut);
    }

    collector::EventTable table;
    std::vector<test::RecordBytes> bytes;
    std::vector<collector::Record> records;

private:
    // 2 000 call sites of 40 functions.
    static std::uint64_t address(std::uint64_t choice) {
        return test::SyntheticCode::kProgramStart + (choice % 2000) * 5 + 1;
    }
};

analyzer::SliceLimits wide() {
    analyzer::SliceLimits limits;
    limits.max_bytes = 1U << 30;
    return limits;
}

void BM_Aggregate(benchmark::State& state) {
    const Walk walk(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    collector::ProcessTable processes;
    analyzer::SliceBuilder* self = nullptr;
    std::size_t stacks = 0;
    analyzer::SliceBuilder builder(walk.table, processes, {}, wide(), [&](std::unique_ptr<analyzer::Slice> slice) {
        stacks = slice->stacks.size();
        self->recycle(std::move(slice));
    });
    self = &builder;
    walk.map_programs(builder);
    for (auto _ : state) walk.run(builder);
    const auto samples = static_cast<double>(kSamples);
    state.counters["per_frame"] = benchmark::Counter(
        samples * kDepth, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.counters["distinct"] = static_cast<double>(stacks) / samples;
}
BENCHMARK(BM_Aggregate)
    ->ArgNames({"threads", "turnover"})
    ->Args({1, 0})
    ->Args({1, 3})
    ->Args({16, 3})
    ->Args({16, 25})
    ->Unit(benchmark::kMillisecond);

void BM_SliceIntoProfile(benchmark::State& state) {
    const Walk walk(16, static_cast<std::size_t>(state.range(0)));
    collector::ProcessTable processes;
    std::unique_ptr<analyzer::Slice> slice;
    analyzer::SliceBuilder builder(walk.table, processes, {}, wide(),
                                   [&](std::unique_ptr<analyzer::Slice> made) { slice = std::move(made); });
    walk.map_programs(builder);
    walk.run(builder);
    test::FakeSymbolizer symbolizer;
    for (auto _ : state) {
        analyzer::ProfileBuilder profile(walk.table.events(), symbolizer);
        benchmark::DoNotOptimize(profile.add(*slice).rows.size());
        benchmark::DoNotOptimize(profile.build({}, "id").samples.size());
    }
}
BENCHMARK(BM_SliceIntoProfile)->ArgName("turnover")->Arg(3)->Arg(25)->Unit(benchmark::kMillisecond);

// Slices of five seconds, as a recording would cut them.
class CuttingSink final : public collector::RecordSink {
public:
    explicit CuttingSink(analyzer::SliceBuilder& builder) : builder_(builder) {}
    void on_record(const collector::OrderedRecord& record) override {
        ++records;
        builder_.on_record(record);
    }
    void on_cut(const collector::Cut& cut) override { builder_.on_cut(cut); }
    std::size_t records = 0;

private:
    analyzer::SliceBuilder& builder_;
};

void BM_CaptureIntoSlices(benchmark::State& state) {
    const char* path = std::getenv("PERFVIGIL_BENCH_CAPTURE");
    if (path == nullptr) return state.SkipWithError("set PERFVIGIL_BENCH_CAPTURE to a perf.data file");
    std::size_t records = 0;
    for (auto _ : state) {
        auto reader = collector::CaptureReader::open(path);
        if (!reader) return state.SkipWithError(reader.error().message.c_str());
        collector::ProcessTable processes;
        analyzer::SliceBuilder* self = nullptr;
        analyzer::SliceBuilder builder(
            (*reader)->events(), processes, analyzer::KernelText((*reader)->host().text_ranges), wide(),
            [&](std::unique_ptr<analyzer::Slice> slice) { self->recycle(std::move(slice)); });
        self = &builder;
        CuttingSink sink(builder);
        while ((*reader)->next_pump()) {
            if (auto pumped = (*reader)->pump(sink); !pumped)
                return state.SkipWithError(pumped.error().message.c_str());
        }
        if (auto done = (*reader)->finish(sink); !done) return state.SkipWithError(done.error().message.c_str());
        records = sink.records;
    }
    state.counters["per_record"] = benchmark::Counter(
        static_cast<double>(records), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_CaptureIntoSlices)->Unit(benchmark::kMillisecond);

#ifdef XXH_INLINE_ALL
void BM_HashOfTheCapture(benchmark::State& state) {
    const char* path = std::getenv("PERFVIGIL_BENCH_CAPTURE");
    if (path == nullptr) return state.SkipWithError("set PERFVIGIL_BENCH_CAPTURE to a perf.data file");
    for (auto _ : state) {
        const auto file = MappedFile::open(path);
        if (!file) return state.SkipWithError(file.error().message.c_str());
        benchmark::DoNotOptimize(XXH64(file->bytes().data(), file->bytes().size(), 0));
    }
}
BENCHMARK(BM_HashOfTheCapture)->Unit(benchmark::kMillisecond);
#endif

}  // namespace

BENCHMARK_MAIN();
