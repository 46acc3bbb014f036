// SPDX-License-Identifier: GPL-2.0-or-later
// Every capture of the corpus cut short and with flipped bits: whatever is left of it is read or refused with a
// sentence, in bounded time and memory.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "collector/capture_reader.hpp"
#include "collector/processes.hpp"
#include "tests/support/corpus.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;

constexpr std::size_t kCuts = 200;
constexpr auto kMaxTime = std::chrono::seconds(10);  // of one reading, sanitizers included
constexpr long kMaxGrowthKib = 1L << 20;

// Touches every byte that a record shows, as a consumer would.
class Touching final : public RecordSink {
public:
    void on_record(const OrderedRecord& record) override {
        ++records;
        table_.apply(record.record);
        for (const std::byte b : record.bytes) sum_ += std::to_integer<unsigned>(b);
        const auto* sample = std::get_if<SampleRecord>(&record.record);
        if (sample == nullptr) return;
        for (std::size_t i = 0; i < sample->chain.size(); ++i) sum_ += sample->chain[i];
        for (std::size_t i = 0; i < sample->read.size(); ++i) sum_ += sample->read[i].value;
        (void)table_.process(sample->sample.pid);
    }
    void on_cut(const Cut& cut) override {
        ++cuts;
        ended = cut.last;
    }

    std::uint64_t records = 0;
    std::uint64_t cuts = 0;
    bool ended = false;

private:
    ProcessTable table_;
    std::uint64_t sum_ = 0;
};

long peak_kib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

void read_damaged(std::vector<std::byte> bytes, const std::string& what) {
    const auto start = std::chrono::steady_clock::now();
    const std::size_t size = bytes.size();
    auto reader = CaptureReader::from_bytes(std::move(bytes), "damaged");
    if (!reader) {
        EXPECT_GT(reader.error().message.size(), 20U) << what;
        return;
    }
    Touching sink;
    const auto finished = (*reader)->finish(sink);
    EXPECT_TRUE(finished.has_value() || finished.error().message.size() > 20) << what;
    EXPECT_TRUE(sink.ended) << what;
    EXPECT_LE(sink.cuts, 16 * sink.records + 1) << what;
    EXPECT_LE((*reader)->warnings().size(), 80U) << what;
    EXPECT_LT(std::chrono::steady_clock::now() - start, kMaxTime) << what << " of " << size << " bytes";
}

std::size_t flips_per_file() { return std::getenv("PERFVIGIL_LONG") != nullptr ? 1000 : 100; }

class CorpusDamage : public testing::Test {
protected:
    void SetUp() override {
        if (!has_corpus()) GTEST_SKIP() << corpus_absent();
        peak_before_ = peak_kib();
    }
    void TearDown() override {
        if (has_corpus()) {
            EXPECT_LT(peak_kib() - peak_before_, kMaxGrowthKib);
        }
    }

    template <class Visit>
    void for_each_file(Visit&& visit) {
        const auto manifest = corpus_manifest();
        for (const auto& entry : manifest.as_object().at("binaries").as_array())
            visit(std::string(entry.as_object().at("path").as_string()));
    }

private:
    long peak_before_ = 0;
};

TEST_F(CorpusDamage, CutShortAtTwoHundredPlaces) {
    for_each_file([](const std::string& path) {
        const auto whole = corpus_bytes(path);
        for (std::size_t i = 0; i < kCuts; ++i) {
            // Densely within the first kilobytes, where headers are.
            const std::size_t span = i % 2 == 0 ? std::min<std::size_t>(whole.size(), 2048) : whole.size();
            const std::size_t length = span * i / kCuts;
            read_damaged({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)},
                         path + " cut at " + std::to_string(length));
        }
    });
}

TEST_F(CorpusDamage, WithFlippedBits) {
    std::mt19937_64 random(20260131);
    const std::size_t flips = flips_per_file();
    for_each_file([&](const std::string& path) {
        const auto whole = corpus_bytes(path);
        for (std::size_t i = 0; i < flips; ++i) {
            auto damaged = whole;
            const std::size_t count = 1 + random() % 8;
            std::string what = path + " with bits flipped at";
            for (std::size_t n = 0; n < count; ++n) {
                const std::size_t span = i % 2 == 0 ? std::min<std::size_t>(damaged.size(), 1024) : damaged.size();
                const std::size_t at = random() % span;
                damaged[at] ^= std::byte{static_cast<unsigned char>(1U << random() % 8)};
                what += " " + std::to_string(at);
            }
            read_damaged(std::move(damaged), what);
        }
    });
}

}  // namespace
}  // namespace perfvigil::collector
