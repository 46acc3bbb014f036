// SPDX-License-Identifier: GPL-2.0-or-later
// What the raw captures that are kept still know: when exactly CPUs were busy, and where, for any stretch of time.
// Reads files, takes seconds; for the AnalysisDesk's thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "daemon/capture_files.hpp"
#include "daemon/stored_profiles.hpp"

namespace perfvigil::daemon {

inline constexpr std::size_t kMostHeatRows = 100;
inline constexpr Nanoseconds kLongestHeat = std::chrono::minutes(10);

// Samples of a clock while a task ran, by second and by the part of the second: columns are whole seconds of wall time,
// rows equal parts of them, the first at the second's start.
struct HeatMap {
    WallTime start{};  // a whole second
    std::size_t rows = 0;
    std::vector<std::uint32_t> busy{};  // columns × rows, a column's rows together
    std::vector<std::uint32_t> cpus{};  // recorded, by column; 0: nothing is kept of that second
    double hertz = 0;                   // samples that a busy CPU brings per second
    std::string event{};

    [[nodiscard]] std::size_t columns() const { return cpus.size(); }
};

// The continuous recording's captures: those of the rotation, and those that freezes alone still hold. Each once; what
// was recorded beside, on demand, is not among them.
[[nodiscard]] std::vector<CaptureFileInfo> kept_captures(const std::string& directory);

// Those that may hold something of the stretch, oldest first.
[[nodiscard]] std::vector<CaptureFileInfo> captures_between(std::vector<CaptureFileInfo> files,
                                                            const WallStretch& stretch);

// The parts of a second that all get as many ticks of such a clock, so that none looks idler than another: its largest
// divisor up to 50.
[[nodiscard]] std::size_t even_rows(double hertz);

// `rows` 0: even ones. kNotFound: nothing is kept of that time.
[[nodiscard]] Result<HeatMap> heat_map(const std::string& directory, const WallStretch& stretch, std::size_t rows,
                                       const std::stop_token& stop);
[[nodiscard]] std::string heat_json(const HeatMap& map);

// Of the samples of exactly that stretch, with the names that this host gives.
[[nodiscard]] Result<analyzer::Profile> raw_profile(const std::string& directory, const WallStretch& stretch,
                                                    const std::stop_token& stop);

}  // namespace perfvigil::daemon
