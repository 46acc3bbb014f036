// SPDX-License-Identifier: GPL-2.0-or-later
// Every text of the corpus and every old profile cut short, with flipped bits, and with its lines shuffled: whatever is
// left of it becomes a profile that adds up, or a sentence.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/cpu_profile.hpp"
#include "analyzer/input/folded.hpp"
#include "analyzer/input/gzip_source.hpp"
#include "analyzer/input/perf_report.hpp"
#include "analyzer/input/perf_script.hpp"
#include "analyzer/input/pprof.hpp"
#include "analyzer/input/recognize.hpp"
#include "analyzer/input/text_lines.hpp"
#include "base/text.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/profile_check.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;

constexpr std::size_t kCuts = 25;
constexpr auto kMaxTime = std::chrono::seconds(5);  // of one reading, sanitizers included

Result<Profile> read_as(InputFormat format, ByteSource& source, Bytes bytes) {
    TextLines lines(source);
    switch (format) {
        case InputFormat::kScript: return read_perf_script(lines);
        case InputFormat::kFolded: return read_folded(lines);
        case InputFormat::kReport: return read_perf_report(lines);
        case InputFormat::kPprof: return read_pprof(bytes);
        case InputFormat::kCpuProfile: return read_cpu_profile(bytes);
        default: return fail(ErrorCode::kUnsupported, "read by readers of their own");
    }
}

// As every kind, for nothing stops a user from forcing one.
void read_damaged(Bytes bytes, const std::string& what) {
    const auto start = std::chrono::steady_clock::now();
    (void)recognize_binary(bytes);
    (void)recognize_text(bytes);
    for (const auto format : {InputFormat::kScript, InputFormat::kFolded, InputFormat::kReport, InputFormat::kPprof,
                              InputFormat::kCpuProfile}) {
        std::unique_ptr<ByteSource> source = std::make_unique<MemorySource>(bytes);
        if (is_gzip(bytes)) source = std::make_unique<GzipSource>(std::move(source));
        const auto profile = read_as(format, *source, bytes);
        if (profile)
            check_profile(*profile);
        else
            EXPECT_GE(profile.error().message.size(), 8U) << what;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kMaxTime) << what;
}

class CorpusTextsDamage : public testing::Test {
protected:
    void SetUp() override {
        if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    }
    template <class Visit>
    void for_each_file(Visit&& visit) {
        std::size_t files = 0;
        for (const char* folder : {"text", "export/pprof", "export/speedscope"}) {
            for (const auto& entry : std::filesystem::directory_iterator(corpus_folder() + "/" + folder)) {
                if (!entry.is_regular_file()) continue;
                ++files;
                const std::string path = std::string(folder) + "/" + entry.path().filename().string();
                auto bytes = corpus_bytes(path);
                // Damage at the front matters most, and reading is repeated many times.
                bytes.resize(std::min<std::size_t>(bytes.size(), 16384));
                visit(path, bytes);
            }
        }
        EXPECT_GE(files, 40U);
    }
};

TEST_F(CorpusTextsDamage, CutShort) {
    for_each_file([](const std::string& path, const std::vector<std::byte>& whole) {
        for (std::size_t i = 0; i < kCuts; ++i) {
            const std::size_t size = whole.size() * i / kCuts;
            read_damaged(Bytes(whole).first(size), path + " cut at " + std::to_string(size));
        }
    });
}

TEST_F(CorpusTextsDamage, WithFlippedBits) {
    std::mt19937_64 random(20260131);
    for_each_file([&](const std::string& path, const std::vector<std::byte>& whole) {
        for (int i = 0; i < 25 && !whole.empty(); ++i) {
            auto damaged = whole;
            for (std::size_t n = 0; n < 1 + random() % 64; ++n) {
                damaged[random() % damaged.size()] ^= std::byte{static_cast<unsigned char>(1U << random() % 8)};
            }
            read_damaged(damaged, path + " with flipped bits, try " + std::to_string(i));
        }
    });
}

TEST_F(CorpusTextsDamage, WithItsLinesShuffled) {
    std::mt19937_64 random(20260131);
    for_each_file([&](const std::string& path, const std::vector<std::byte>& whole) {
        const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
        auto lines = split(text, '\n');
        for (int i = 0; i < 10; ++i) {
            std::ranges::shuffle(lines, random);
            std::string shuffled;
            for (const auto line : lines) shuffled.append(line).append("\n");
            read_damaged(std::as_bytes(std::span(shuffled)), path + " shuffled, try " + std::to_string(i));
        }
    });
}

}  // namespace
}  // namespace perfvigil::analyzer
