// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/wall_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <optional>

#include <fmt/core.h>

#include "base/text.hpp"
#include "config/values.hpp"

namespace perfvigil::cli {
namespace {

std::time_t seconds_of(WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::tm local_parts(WallTime time) {
    const std::time_t seconds = seconds_of(time);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return parts;
}

Error no_time(std::string_view text) {
    return {ErrorCode::kInvalid, 0,
            fmt::format("'{}' is no time: write 2h (so long ago), 09:00, 2026-11-29 09:00, or the same in UTC with a Z",
                        escape(text))};
}

// A number of exactly so many digits, and what stands behind it, which is taken too.
std::optional<int> take_digits(std::string_view& text, std::size_t digits, std::string_view behind) {
    if (text.size() < digits) return std::nullopt;
    const auto number = parse_number<unsigned>(text.substr(0, digits));
    if (!number) return std::nullopt;
    text.remove_prefix(digits);
    if (!behind.empty()) {
        if (text.empty() || behind.find(text.front()) == std::string_view::npos) return std::nullopt;
        text.remove_prefix(1);
    }
    return static_cast<int>(*number);
}

struct Written {
    std::optional<std::tm> date;
    std::tm time{};
    Nanoseconds fraction{};
    bool utc = false;
};

bool take_date(std::string_view& text, Written& written) {
    std::tm date{};
    const auto year = take_digits(text, 4, "-");
    const auto month = year ? take_digits(text, 2, "-") : std::nullopt;
    const auto day = month ? take_digits(text, 2, "") : std::nullopt;
    if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
    date.tm_year = *year - 1900;
    date.tm_mon = *month - 1;
    date.tm_mday = *day;
    written.date = date;
    return true;
}

bool take_time(std::string_view& text, Written& written) {
    const auto hour = take_digits(text, 2, ":");
    const auto minute = hour ? take_digits(text, 2, "") : std::nullopt;
    if (!minute || *hour > 23 || *minute > 59) return false;
    written.time.tm_hour = *hour;
    written.time.tm_min = *minute;
    if (!text.starts_with(':')) return true;
    text.remove_prefix(1);
    const auto second = take_digits(text, 2, "");
    if (!second || *second > 59) return false;
    written.time.tm_sec = *second;
    if (!text.starts_with('.')) return true;
    const auto end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    const auto digits = text.substr(1, end - 1);
    const auto number = parse_number<std::uint32_t>(digits);
    if (!number || digits.size() > 9) return false;
    written.fraction = Nanoseconds(static_cast<std::int64_t>(*number * std::pow(10, 9 - digits.size())));
    text.remove_prefix(end);
    return true;
}

std::optional<Written> parse_written(std::string_view text) {
    Written written;
    if (text.size() >= 10 && text[4] == '-') {
        if (!take_date(text, written)) return std::nullopt;
        if (text.empty()) return written;
        if (text.front() != 'T' && text.front() != ' ') return std::nullopt;
        text.remove_prefix(1);
    }
    if (!take_time(text, written)) return std::nullopt;
    if (text == "Z") {
        written.utc = true;
        return written;
    }
    return text.empty() ? std::optional(written) : std::nullopt;
}

// Of a day and a time of day; nullopt: there is none.
std::optional<WallTime> moment_of(std::tm parts, const Written& written) {
    parts.tm_hour = written.time.tm_hour;
    parts.tm_min = written.time.tm_min;
    parts.tm_sec = written.time.tm_sec;
    parts.tm_isdst = -1;
    std::tm made = parts;
    const std::time_t seconds = written.utc ? ::timegm(&made) : ::mktime(&made);
    const bool same = made.tm_mday == parts.tm_mday && made.tm_mon == parts.tm_mon && made.tm_hour == parts.tm_hour &&
                      made.tm_min == parts.tm_min;
    if (!same) return std::nullopt;
    return WallTime(std::chrono::seconds(seconds)) + written.fraction;
}

}  // namespace

Result<WallTime> parse_wall_time(std::string_view text, WallTime now) {
    const auto word = trim(text);
    if (word == "now") return now;
    if (const auto ago = config::DurationFormat{}.parse(word)) return now - *ago;
    const auto written = parse_written(word);
    if (!written) return fail(no_time(text));
    std::tm today{};
    const std::time_t seconds = seconds_of(now);
    (written->utc ? ::gmtime_r : ::localtime_r)(&seconds, &today);
    auto moment = moment_of(written->date.value_or(today), *written);
    if (moment && !written->date && *moment > now) {
        --today.tm_mday;
        today.tm_hour = 12;
        today.tm_isdst = -1;
        (void)(written->utc ? ::timegm(&today) : ::mktime(&today));  // the first of a month has a day before it too
        moment = moment_of(today, *written);
    }
    if (!moment) return fail(ErrorCode::kInvalid, fmt::format("there is no {} that day", escape(text)));
    return *moment;
}

Result<WallSpan> wall_span(std::string_view since, std::string_view until, WallTime now) {
    const auto begin = parse_wall_time(since, now);
    if (!begin) return fail(begin.error());
    const auto end = until.empty() ? Result<WallTime>(now) : parse_wall_time(until, now);
    if (!end) return fail(end.error());
    if (*end <= *begin) {
        return fail(ErrorCode::kInvalid, fmt::format("{} ends before it begins", local_span({*begin, *end})));
    }
    return WallSpan{*begin, *end};
}

Result<WallSpan> parse_wall_span(std::string_view text, WallTime now) {
    constexpr std::string_view kTo = "..";
    const auto at = text.find(kTo);
    if (at == std::string_view::npos || text.substr(at + kTo.size()).empty()) {
        return fail(ErrorCode::kInvalid, fmt::format("'{}' is no span: write 09:00..09:10", escape(text)));
    }
    return wall_span(text.substr(0, at), text.substr(at + kTo.size()), now);
}

std::string local_time(WallTime time) {
    const auto parts = local_parts(time);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string local_zone(WallTime time) {
    const auto parts = local_parts(time);
    const long minutes = parts.tm_gmtoff / 60;
    return fmt::format("{} (UTC{}{:02}:{:02})", parts.tm_zone, minutes < 0 ? '-' : '+', std::abs(minutes) / 60,
                       std::abs(minutes) % 60);
}

std::string local_span(const WallSpan& span) {
    return fmt::format("{} to {} {}", local_time(span.since), local_time(span.until), local_zone(span.until));
}

}  // namespace perfvigil::cli
