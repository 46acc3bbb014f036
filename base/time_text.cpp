// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/time_text.hpp"

#include <ctime>

#include <fmt/core.h>

namespace perfvigil {
namespace {

struct Parts {
    std::tm tm{};
    long milliseconds = 0;
};

Parts parts_of(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const std::time_t since_epoch = seconds.time_since_epoch().count();
    Parts parts;
    ::gmtime_r(&since_epoch, &parts.tm);
    parts.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
    return parts;
}

std::string date_and_time(const Parts& p, const char* date_separator, char between, const char* time_separator) {
    return fmt::format("{:04}{}{:02}{}{:02}{}{:02}{}{:02}{}{:02}", p.tm.tm_year + 1900, date_separator, p.tm.tm_mon + 1,
                       date_separator, p.tm.tm_mday, between, p.tm.tm_hour, time_separator, p.tm.tm_min, time_separator,
                       p.tm.tm_sec);
}

}  // namespace

std::string iso_time(WallTime time) {
    const auto parts = parts_of(time);
    return fmt::format("{}.{:03}Z", date_and_time(parts, "-", 'T', ":"), parts.milliseconds);
}

std::string readable_time(WallTime time) { return date_and_time(parts_of(time), "-", ' ', ":"); }

std::string compact_time(WallTime time) { return date_and_time(parts_of(time), "", 'T', "") + "Z"; }

}  // namespace perfvigil
