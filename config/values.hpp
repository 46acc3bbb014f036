// SPDX-License-Identifier: GPL-2.0-or-later
// How one value is written in the configuration: "512KiB", "5s", "99Hz", "1%". A format both reads and prints, so that
// what --print-config shows can be read again. Each refusal says what would have been right.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/time.hpp"
#include "collector/recording_options.hpp"
#include "config/fault.hpp"
#include "config/options.hpp"

namespace perfvigil::config {

template <class T>
using Parsed = std::expected<T, Complaint>;

[[nodiscard]] inline std::unexpected<Complaint> refuse(std::string why, std::string suggestion = {}) {
    return std::unexpected(Complaint{std::move(why), std::move(suggestion)});
}

// Bytes: a whole number, alone or with B, KiB, MiB, GiB, TiB (powers of 1024; KB and k are refused as ambiguous).
struct BytesFormat {
    std::uint64_t min = 0;
    std::uint64_t max = UINT64_MAX;
    [[nodiscard]] Parsed<std::uint64_t> parse(std::string_view text) const;
    [[nodiscard]] std::string print(std::uint64_t bytes) const;
};

// A duration: a whole number with ms, s, min, h or d; never without a unit, except 0.
struct DurationFormat {
    Nanoseconds min{};
    Nanoseconds max = Nanoseconds::max();
    [[nodiscard]] Parsed<Nanoseconds> parse(std::string_view text) const;
    [[nodiscard]] std::string print(Nanoseconds duration) const;
};

// Samples per second: "99Hz" or 99.
struct FrequencyFormat {
    std::uint32_t min = 1;
    std::uint32_t max = UINT32_MAX;
    [[nodiscard]] Parsed<std::uint32_t> parse(std::string_view text) const;
    [[nodiscard]] std::string print(std::uint32_t hertz) const;
};

// A share: "1%" or "0.05%"; never a bare number, which could mean either 0.01 or 1.
struct PercentFormat {
    double min = 0;  // as a ratio
    double max = 1;
    [[nodiscard]] Parsed<double> parse(std::string_view text) const;
    [[nodiscard]] std::string print(double ratio) const;
};

template <class T>
struct NumberFormat {
    T min{};
    T max{};
    [[nodiscard]] Parsed<T> parse(std::string_view text) const {
        const auto number = parse_number<std::uint64_t>(text);
        if (!number) return refuse("\"" + escape(text) + "\" is not a whole number");
        if (*number < min) return refuse(std::to_string(*number) + " is below " + std::to_string(min));
        if (*number > max) return refuse(std::to_string(*number) + " is above " + std::to_string(max));
        return static_cast<T>(*number);
    }
    [[nodiscard]] std::string print(T number) const { return std::to_string(number); }
};

struct BoolFormat {
    [[nodiscard]] Parsed<bool> parse(std::string_view text) const;
    [[nodiscard]] std::string print(bool value) const { return value ? "true" : "false"; }
};

struct PathFormat {
    enum class Empty : std::uint8_t { kRefused, kAllowed };
    Empty empty = Empty::kRefused;
    std::size_t max_length = 4095;
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& path) const { return path; }
};

// A user or group name, or nothing.
struct NameFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& name) const { return name; }
};

// A name or a glob.
struct PatternFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& pattern) const { return pattern; }
};

// A user by name or number.
struct UserFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& user) const { return user; }
};

struct RedactFormat {
    [[nodiscard]] Parsed<Redact> parse(std::string_view text) const;
    [[nodiscard]] std::string print(Redact redact) const;
};

// Permission bits in octal: 0660.
struct ModeFormat {
    [[nodiscard]] Parsed<std::uint32_t> parse(std::string_view text) const;
    [[nodiscard]] std::string print(std::uint32_t mode) const;
};

struct LogLevelFormat {
    [[nodiscard]] Parsed<LogLevel> parse(std::string_view text) const;
    [[nodiscard]] std::string print(LogLevel level) const;
};

// "all", "except-isolated", or numbers as the kernel writes them: 0-3,8.
struct CpusFormat {
    [[nodiscard]] Parsed<CpuSelection> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const CpuSelection& cpus) const;
};

// "127.0.0.1:9909", "[::1]:9909" or "off". Fills enabled, address and port of ListenOptions.
struct ListenFormat {
    [[nodiscard]] Parsed<ListenOptions> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const ListenOptions& listen) const;
};

struct EventFormat {
    [[nodiscard]] Parsed<collector::EventSpec> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const collector::EventSpec& event) const { return event.name; }
};

// One name of a host, as a Host header holds it without its port.
struct HostFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& host) const { return host; }
};

// Of a server.
struct UrlFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& url) const { return url; }
};

// Whether only this host itself can reach a numeric address (127.0.0.0/8, ::1).
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace perfvigil::config
