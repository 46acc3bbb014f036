// SPDX-License-Identifier: GPL-2.0-or-later
// What Prometheus makes of our metrics: expositions of a simulated host, recorded as a server would scrape them, are
// handed to promtool, and its increase() and rate() are judged against what the host really did.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/metrics.hpp"
#include "daemon/metrics_shelf.hpp"
#include "tests/support/exposition.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kTick = 10101010;
constexpr std::uint64_t kDue = 495;  // ticks of a slice

std::optional<std::string> find_promtool() {
    std::vector<fs::path> places;
    if (const char* given = std::getenv("PERFVIGIL_PROMTOOL")) places.emplace_back(given);
    std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
    for (std::size_t at = 0; at <= path.size();) {
        const auto end = std::min(path.find(':', at), path.size());
        places.emplace_back(fs::path(path.substr(at, end - at)) / "promtool");
        at = end + 1;
    }
    if (const char* home = std::getenv("HOME")) places.emplace_back(fs::path(home) / ".cache/perfvigil/bin/promtool");
    for (const auto& place : places) {
        if (::access(place.c_str(), X_OK) == 0 && fs::is_regular_file(place)) return place.string();
    }
    return std::nullopt;
}

struct Ran {
    int status = -1;
    std::string output;
};
Ran run(const std::string& command) {
    Ran ran;
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
        ran.output.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}

collector::EventInfo clock_event() {
    collector::EventInfo info;
    info.name = "cpu-clock";
    info.attr.type = collector::kTypeSoftware;
    info.attr.config = collector::kSwCpuClock;
    info.attr.sample_period_or_freq = 99;
    info.attr.set(collector::kFlagFreq);
    return info;
}

// One life of the daemon: slices in, expositions out.
class Life {
public:
    explicit Life(MonotonicTime start, MetricsOptions options = {}) : metrics_(std::move(options)) {
        slice_.end = start;
        slice_.wall_end = WallTime(start.time_since_epoch() + seconds(1'700'000'000));
    }

    void slice(const std::vector<std::uint64_t>& busy_ticks, const analyzer::SliceHotspots& hotspots = {}) {
        slice_.end += seconds(5);
        slice_.wall_end += seconds(5);
        slice_.cpus.clear();
        for (std::uint32_t cpu = 0; cpu < busy_ticks.size(); ++cpu) {
            analyzer::CpuSlice& one = slice_.cpus.emplace_back();
            one.cpu = CpuId{cpu};
            one.clock_recorded = one.times_known = true;
            one.enabled = Nanoseconds(kTick * static_cast<std::int64_t>(kDue));
            one.ticks_due = kDue;
            one.samples = kDue;
            one.idle_samples = kDue - busy_ticks[cpu];
            one.mode_time[index_of(analyzer::Mode::kUser)] = busy_ticks[cpu] * Nanoseconds(kTick);
            one.mode_time[index_of(analyzer::Mode::kIdle)] = one.idle_samples * Nanoseconds(kTick);
        }
        metrics_.add_slice(slice_, hotspots, events_, newest_served_);
    }
    std::string scrape() {
        newest_served_ = slice_.end;
        return metrics_.exposition();
    }

private:
    Metrics metrics_;
    analyzer::Slice slice_;
    std::vector<collector::EventInfo> events_{clock_event()};
    MonotonicTime newest_served_ = MonotonicTime::min();
};

// Scrapes on a grid, as promtool's input_series: every series that was ever seen, with gaps and staleness markers.
class Recording {
public:
    explicit Recording(int grid_seconds) : grid_(grid_seconds) {}

    // `exposition` empty: the scrape failed.
    void scrape(std::size_t step, const std::string& exposition) {
        std::map<std::string, std::string> now;
        if (!exposition.empty()) {
            auto parsed = test::parse_exposition(exposition);
            ASSERT_TRUE(parsed) << parsed.error().message;
            for (const auto& series : parsed->series) {
                if (!series.name.starts_with("perfvigil_") || !series.name.ends_with("cpu_seconds_total")) {
                    if (series.name != "perfvigil_cpu_seconds_total") continue;
                }
                const std::string name = written(series);
                now[name] = fmt::format("{:.17g}", series.value);
                put(name, step, now[name]);
            }
        }
        for (const auto& [name, value] : last_) {
            if (!now.contains(name)) put(name, step, "stale");
        }
        last_ = std::move(now);
    }

    [[nodiscard]] std::string yaml() const {
        std::string out;
        for (const auto& [name, values] : series_) {
            out += fmt::format("      - series: '{}'\n        values: '", quoted(name));
            std::size_t next = 0;
            for (const auto& [step, value] : values) {
                if (step > next) out += fmt::format("_x{} ", step - next);
                out += value + " ";
                next = step + 1;
            }
            out += "'\n";
        }
        return out;
    }
    [[nodiscard]] int grid() const { return grid_; }
    [[nodiscard]] std::size_t size() const { return series_.size(); }

private:
    // A repeated scrape of one moment changes nothing; staleness never replaces a value.
    void put(const std::string& name, std::size_t step, const std::string& value) {
        auto& values = series_[name];
        if (value == "stale")
            values.emplace(step, value);
        else
            values[step] = value;
    }
    static std::string written(const test::ExpositionSeries& series) {
        std::string out = series.name + "{";
        for (const auto& [label, value] : series.labels) {
            out += label + "=\"";
            for (const char c : value) {
                if (c == '"' || c == '\\') out += '\\';
                out += c;
            }
            out += "\",";
        }
        return out + "}";
    }
    static std::string quoted(std::string_view text) {
        std::string out;
        for (const char c : text) {
            if (c == '\'') out += '\'';
            out += c;
        }
        return out;
    }

    int grid_;
    std::map<std::string, std::map<std::size_t, std::string>> series_;
    std::map<std::string, std::string> last_;
};

class MetricsPromtool : public testing::Test {
protected:
    void SetUp() override {
        const auto found = find_promtool();
        if (!found) GTEST_SKIP() << "promtool is missing: ./dev deps test";
        promtool_ = *found;
        std::string name = (fs::temp_directory_path() / "perfvigil-promtool-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    // Whether promtool, at `time` of the recording, finds each of these conditions (PromQL that yields one number,
    // compared with `bool`) to be 1.
    Ran evaluate(const Recording& recording, seconds time, const std::vector<std::string>& conditions) {
        std::string text =
            fmt::format("rule_files: []\nevaluation_interval: {0}s\ntests:\n  - interval: {0}s\n    input_series:\n",
                        recording.grid());
        text += recording.yaml() + "    promql_expr_test:\n";
        for (const auto& condition : conditions) {
            text += fmt::format(
                "      - expr: '{}'\n        eval_time: {}s\n        exp_samples:\n"
                "          - labels: '{{}}'\n            value: 1\n",
                condition, time.count());
        }
        const auto file = folder_ / "test.yml";
        std::ofstream(file) << text;
        return run(promtool_ + " test rules " + file.string());
    }

    std::string promtool_;
    fs::path folder_;
};

TEST_F(MetricsPromtool, ChecksWithoutAComplaint) {
    const std::vector<std::string> names{"f<int>::g(char const*)", "a\"b\\c\nd", "naïve", std::string(10240, 'y')};
    analyzer::SliceHotspots hotspots;
    for (const auto& name : names) {
        hotspots.rows.push_back({.function = name,
                                 .dso = "/bin/app",
                                 .unit = "a.service",
                                 .event = 0,
                                 .samples = 50,
                                 .weight = 50 * kTick,
                                 .reason = analyzer::UnknownReason::kNone});
    }
    Life life(MonotonicTime(seconds(0)), {.version = "1"});
    life.slice({100, 100}, hotspots);
    life.slice({100, 100}, hotspots);
    Metrics daemon({.version = "1"});
    daemon.set({.degraded = {{"no_pmu", "", ""}}, .session = collector::SessionCounters{}, .budgets = {{"cpu", 1, 2}}});
    int number = 0;
    for (const std::string& text : {life.scrape(), daemon.exposition()}) {
        const auto file = folder_ / fmt::format("exposition{}", number++);
        std::ofstream(file) << text;
        const Ran checked = run(promtool_ + " check metrics < " + file.string());
        EXPECT_EQ(checked.status, 0);
        EXPECT_EQ(checked.output, "");
    }
}

// Functions of a host whose programs come and go: Zipf's weights over ranks; now and then another name takes a rank.
class Programs {
public:
    explicit Programs(unsigned seed) : random_(seed) {}

    analyzer::SliceHotspots slice() {
        names_.clear();
        analyzer::SliceHotspots hotspots;
        if (random_() % 60 == 0) ++generation_[random_() % kRanks];
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            const auto samples =
                std::poisson_distribution<std::uint64_t>(60.0 / static_cast<double>(rank + 1))(random_);
            if (samples == 0) continue;
            names_.push_back(fmt::format("f{}_{}", rank, generation_[rank]));
            hotspots.rows.push_back({.function = {},
                                     .dso = "/bin/app",
                                     .unit = {},
                                     .event = 0,
                                     .samples = samples,
                                     .weight = samples * static_cast<std::uint64_t>(kTick),
                                     .reason = analyzer::UnknownReason::kNone});
            truth_ += samples * static_cast<std::uint64_t>(kTick);
        }
        for (std::size_t i = 0; i < names_.size(); ++i) hotspots.rows[i].function = names_[i];
        return hotspots;
    }
    [[nodiscard]] double truth() const { return static_cast<double>(truth_) * 1e-9; }

private:
    static constexpr std::size_t kRanks = 120;
    std::mt19937 random_;
    std::array<unsigned, kRanks> generation_{};
    std::vector<std::string> names_;
    std::uint64_t truth_ = 0;
};

// Issue: Σ of increase() over a recording with entries, exits and a restart is the truth to 0.1 %.
TEST_F(MetricsPromtool, IncreaseOfHotspotsIsTheTruth) {
    constexpr int kSlices = 6 * 3600 / 5;
    constexpr int kRestart = 2 * kSlices / 3;
    Recording recording(15);
    Programs programs(7);
    auto life = std::make_unique<Life>(MonotonicTime(seconds(0)));
    double truth_at_first = 0;
    double truth_at_last = 0;
    std::size_t step = 0;
    for (int slice = 1; slice <= kSlices; ++slice) {
        const bool down = slice >= kRestart && slice < kRestart + 6;  // half a minute without a daemon
        if (slice == kRestart + 6) life = std::make_unique<Life>(MonotonicTime(seconds(5 * slice)));
        if (!down) life->slice({}, programs.slice());
        if (slice % 3 != 0) continue;
        ASSERT_NO_FATAL_FAILURE(recording.scrape(step++, down ? std::string() : life->scrape()));
        if (step == 1) truth_at_first = programs.truth();
        truth_at_last = programs.truth();
    }
    const double truth = truth_at_last - truth_at_first;
    const seconds length(15 * static_cast<std::int64_t>(step - 1));
    const auto within = [&](const std::string& expression, double part) {
        return fmt::format("abs({} / {:.6f} - 1) < bool {}", expression, truth, part);
    };
    const std::string range = fmt::format("perfvigil_function_cpu_seconds_total[{}s]", length.count());
    const std::string all = fmt::format("sum(increase({}))", range);
    const std::string other =
        fmt::format("sum(increase(perfvigil_function_cpu_seconds_total{{function=\"(other)\"}}[{}s]))", length.count());
    const Ran right =
        evaluate(recording, length,
                 {within(all, 0.001),
                  within(fmt::format("sum(increase(perfvigil_dso_cpu_seconds_total[{}s]))", length.count()), 0.001),
                  fmt::format("{} / {} < bool 0.5", other, all)});
    EXPECT_EQ(right.status, 0) << right.output.substr(0, 4000);
    EXPECT_GT(recording.size(), 100U) << "entries were to be had";

    // The other way round, exits and entries read as restarts (docs/metrics.md). Also shows that this test can fail.
    const std::string wrong_way =
        fmt::format("increase(sum(perfvigil_function_cpu_seconds_total)[{}s:15s])", length.count());
    EXPECT_NE(evaluate(recording, length, {within("sum(" + wrong_way + ")", 0.001)}).status, 0);
}

// Appears so long after its slice's end: as an analyst on a busy host does it.
milliseconds ready_after(int slice) { return milliseconds(120 + 37 * slice % 200); }

enum class Publishing { kAtOnce, kByShelf };

// A constant load of 50 % on two CPUs for an hour, scraped every 15 s, give or take 20 ms, this long after slices'
// ends.
Recording constant_load(milliseconds phase, Publishing publishing) {
    Recording recording(1);
    std::mt19937 random(3);
    std::binomial_distribution<std::uint64_t> half(kDue, 0.5);
    std::uniform_int_distribution<int> jitter(-20, 20);
    Life life(MonotonicTime(seconds(0)));
    MetricsShelf shelf(seconds(5));
    std::string at_once;
    int slice = 0;
    for (int scrape = 1; scrape <= 240; ++scrape) {
        const MonotonicTime now(seconds(15 * scrape) + phase + milliseconds(jitter(random)));
        for (; MonotonicTime(seconds(5 * (slice + 1)) + ready_after(slice + 1)) <= now; ++slice) {
            life.slice({half(random), half(random)});
            const MonotonicTime end(seconds(5 * (slice + 1)));
            at_once = life.scrape();
            shelf.put(at_once, end, end);
        }
        const std::string text = publishing == Publishing::kAtOnce ? at_once : *shelf.take(now);
        recording.scrape(static_cast<std::size_t>(15 * scrape), text);
    }
    return recording;
}

std::string busy_within(double part) {
    const std::string busy = R"(sum(rate(perfvigil_cpu_seconds_total{mode!="idle"}[1m])))";
    return fmt::format("max_over_time(abs({} - 1)[55m:15s]) < bool {}", busy, part);
}

// Issue: rate[1m] of busy at a 15 s scrape stays within 5 % of a constant load. Also where slices become ready, and
// where they are shown.
TEST_F(MetricsPromtool, RateOfBusyFollowsAConstantLoadAtAnyPhase) {
    for (const int phase : {20, 120, 220, 320, 990, 1000, 1010, 2000, 3000, 4000, 4980}) {
        const Ran ran =
            evaluate(constant_load(milliseconds(phase), Publishing::kByShelf), seconds(3600), {busy_within(0.05)});
        EXPECT_EQ(ran.status, 0) << "phase " << phase << " ms: " << ran.output.substr(0, 2000);
    }
    // What it would be without the shelf; and that nothing here passes by itself.
    const Ran at_once =
        evaluate(constant_load(milliseconds(220), Publishing::kAtOnce), seconds(3600), {busy_within(0.05)});
    EXPECT_NE(at_once.status, 0);
}

}  // namespace
}  // namespace perfvigil::daemon
