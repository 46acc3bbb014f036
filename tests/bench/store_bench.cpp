// SPDX-License-Identifier: GPL-2.0-or-later
// A day in the store: what its upkeep costs, how long one piece of it takes, and how long a question about the whole
// day takes to be answered. Windows of a host of 8 CPUs that is 70 % busy, with 20 000 call chains.
#include <ctime>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/merge.hpp"
#include "daemon/store.hpp"
#include "daemon/window_cover.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/window_maker.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::daemon;
using std::chrono::minutes;

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}
double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Upkeep {
    double cpu = 0;
    double longest = 0;  // CPU of one piece
    int pieces = 0;
};

void tend(ProfileStore& store, WallTime now, Upkeep& upkeep) {
    for (bool more = true; more; ++upkeep.pieces) {
        const double begin = cpu_seconds();
        more = store.tend(now, minutes(1));
        const double used = cpu_seconds() - begin;
        upkeep.cpu += used;
        upkeep.longest = std::max(upkeep.longest, used);
    }
}

void print_kinds(const Catalog& catalog) {
    std::map<std::string_view, std::pair<std::size_t, std::uint64_t>> kinds;
    for (const auto& window : catalog) {
        auto& [count, bytes] = kinds[kind_name(window->info.kind())];
        ++count;
        bytes += window->info.bytes;
    }
    for (const auto& [kind, sums] : kinds) {
        std::printf("%-8.*s %5zu files  %7.1f KiB each\n", static_cast<int>(kind.size()), kind.data(), sums.first,
                    static_cast<double>(sums.second) / 1024 / static_cast<double>(sums.first));
    }
}

}  // namespace

int main() {
    constexpr int kMinutes = 24 * 60;
    test::TempFolder folder;
    const std::string directory = folder / "store";
    config::StoreOptions options;
    options.directory = directory;
    ProfileStore store(options);
    store.open();
    test::WindowMaker maker(1, {.stacks = 20000, .cpus = 8});
    const auto begin = WallTime(std::chrono::hours(24 * 20000));
    Upkeep upkeep;
    std::uint64_t samples = 0;
    for (int minute = 1; minute <= kMinutes; ++minute) {
        auto profile = maker.make(begin + minutes(minute));
        samples += profile.events[0].samples;
        store.put(std::move(profile));
        tend(store, begin + minutes(minute), upkeep);
    }
    print_kinds(*store.catalog());
    std::printf("upkeep: %.1f CPU s a day (%.4f %% of a CPU) in %d pieces, the longest %.0f ms\n", upkeep.cpu,
                100 * upkeep.cpu / (60 * kMinutes), upkeep.pieces, 1000 * upkeep.longest);

    const auto asked = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    const auto chosen = cover(*store.catalog(), begin, begin + minutes(kMinutes));
    std::vector<analyzer::Profile> profiles;
    for (const auto& window : chosen) {
        const auto bytes = read_window(directory, *window);
        if (!bytes) return 1;
        auto profile = analyzer::decode_profile(*bytes);
        if (!profile) return 1;
        profiles.push_back(std::move(*profile));
    }
    const auto day = analyzer::merge_profiles(std::move(profiles));
    if (!day) return 1;
    const auto totals = function_totals(*day, 0, analyzer::IdleRows::kExclude);
    std::printf("a day from %zu profiles: %.3f s, %.3f CPU s; %zu functions, %llu samples\n", chosen.size(),
                seconds_since(asked), cpu_seconds() - cpu, totals.size(),
                static_cast<unsigned long long>(day->events[0].samples));
    return day->events[0].samples == samples ? 0 : 1;
}
