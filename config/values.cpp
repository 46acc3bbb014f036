// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/values.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "collector/host_facts.hpp"

namespace perfvigil::config {
namespace {

std::string quoted(std::string_view text) { return "\"" + escape(text) + "\""; }

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};
constexpr std::array<Unit, 5> kByteUnits{
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};
constexpr std::array<Unit, 5> kTimeUnits{{{"d", 86'400'000'000'000},
                                          {"h", 3'600'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000}}};

// "64 MiB" → number and unit, a blank between them allowed.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
    const auto unit = text.find_first_not_of("0123456789.");
    if (unit == std::string_view::npos) return {text, {}};
    return {trim(text.substr(0, unit)), trim(text.substr(unit))};
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
    const auto found = std::ranges::find(units, name, &Unit::name);
    return found == units.end() ? nullptr : &*found;
}

// The largest unit of which `value` is a whole multiple.
std::string print_with_unit(std::span<const Unit> units, std::uint64_t value) {
    for (const auto& unit : units) {
        if (value >= unit.factor && value % unit.factor == 0) {
            return std::to_string(value / unit.factor) + std::string(unit.name);
        }
    }
    return std::to_string(value);
}

Parsed<std::uint64_t> scaled(std::string_view text, std::string_view number_text, std::uint64_t factor) {
    const auto number = parse_number<std::uint64_t>(number_text);
    if (!number) return refuse(quoted(text) + " does not begin with a whole number");
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(*number, factor, &product)) return refuse(quoted(text) + " is too large");
    return product;
}

std::optional<double> parse_decimal(std::string_view text) {
    double value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
    if (error != std::errc{} || end != last || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace

Parsed<std::uint64_t> BytesFormat::parse(std::string_view text) const {
    const auto [number, unit_name] = split_unit(text);
    const auto* unit = unit_name.empty() ? &kByteUnits.back() : find_unit(kByteUnits, unit_name);
    if (unit == nullptr) {
        return refuse("unit " + quoted(unit_name) + " is not known", "write B, KiB, MiB, GiB or TiB");
    }
    auto bytes = scaled(text, number, unit->factor);
    if (!bytes) return refuse(bytes.error().why, "write a size such as 64MiB");
    if (*bytes < min) return refuse(quoted(text) + " is below " + print(min));
    if (*bytes > max) return refuse(quoted(text) + " is above " + print(max));
    return bytes;
}

std::string BytesFormat::print(std::uint64_t bytes) const { return print_with_unit(kByteUnits, bytes); }

Parsed<Nanoseconds> DurationFormat::parse(std::string_view text) const {
    const auto [number, unit_name] = split_unit(text);
    const auto* unit = unit_name.empty() && number == "0" ? &kTimeUnits.back() : find_unit(kTimeUnits, unit_name);
    if (unit == nullptr) {
        if (unit_name.empty() && parse_number<std::uint64_t>(number)) {
            return refuse(quoted(text) + " has no unit", "write " + std::string(number) + "s for seconds");
        }
        return refuse(quoted(text) + " is not a duration", "write a number with ms, s, min, h or d, such as 5s");
    }
    const auto ns = scaled(text, number, unit->factor);
    if (!ns) return refuse(ns.error().why, "write a duration such as 5s");
    if (*ns > static_cast<std::uint64_t>(Nanoseconds::max().count())) return refuse(quoted(text) + " is too long");
    const Nanoseconds duration(static_cast<std::int64_t>(*ns));
    if (duration < min) return refuse(quoted(text) + " is below " + print(min));
    if (duration > max) return refuse(quoted(text) + " is above " + print(max));
    return duration;
}

std::string DurationFormat::print(Nanoseconds duration) const {
    return duration == Nanoseconds{} ? "0s" : print_with_unit(kTimeUnits, static_cast<std::uint64_t>(duration.count()));
}

Parsed<std::uint32_t> FrequencyFormat::parse(std::string_view text) const {
    const auto [number_text, unit] = split_unit(text);
    const auto number = parse_number<std::uint32_t>(number_text);
    if (!number || (!unit.empty() && unit != "Hz")) {
        return refuse(quoted(text) + " is not a frequency", "write samples per second, such as 99Hz");
    }
    if (*number < min) return refuse(quoted(text) + " is below " + print(min));
    if (*number > max) return refuse(quoted(text) + " is above " + print(max));
    return *number;
}

std::string FrequencyFormat::print(std::uint32_t hertz) const { return std::to_string(hertz) + "Hz"; }

Parsed<double> PercentFormat::parse(std::string_view text) const {
    const bool has_sign = text.ends_with('%');
    const auto number = parse_decimal(trim(has_sign ? text.substr(0, text.size() - 1) : text));
    if (!number) return refuse(quoted(text) + " is not a percentage", "write it as 1%");
    if (!has_sign) return refuse(quoted(text) + " has no percent sign", "write " + std::string(text) + "%");
    const double ratio = *number / 100;
    if (ratio < min) return refuse(quoted(text) + " is below " + print(min));
    if (ratio > max) return refuse(quoted(text) + " is above " + print(max));
    return ratio;
}

std::string PercentFormat::print(double ratio) const {
    // 15 digits: 0.01 × 100 prints as 1, and what it prints reads back as the same ratio.
    return fmt::format("{:.15g}%", ratio * 100);
}

Parsed<bool> BoolFormat::parse(std::string_view text) const {
    if (text == "true") return true;
    if (text == "false") return false;
    return refuse(quoted(text) + " is neither true nor false");
}

Parsed<std::string> PathFormat::parse(std::string_view text) const {
    if (text.empty() && empty == Empty::kAllowed) return std::string();
    if (!text.starts_with('/')) return refuse(quoted(text) + " is not an absolute path", "begin it with /");
    if (text.find('\0') != std::string_view::npos) return refuse("a path cannot hold a zero byte");
    if (text.size() > max_length) return refuse("longer than " + std::to_string(max_length) + " bytes");
    return std::string(text);
}

Parsed<std::string> NameFormat::parse(std::string_view text) const {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
    if (text.size() > 32 || !std::ranges::all_of(text, fits)) return refuse(quoted(text) + " is not a name");
    return std::string(text);
}

Parsed<std::string> PatternFormat::parse(std::string_view text) const {
    constexpr std::size_t kLongest = 255;
    if (trim(text).empty()) return refuse("a pattern is empty", "remove it, or write * for all");
    if (text.size() > kLongest) return refuse("longer than " + std::to_string(kLongest) + " bytes");
    return std::string(text);
}

Parsed<std::string> UserFormat::parse(std::string_view text) const {
    if (text.empty()) return refuse("a user is empty", "write a name or a number");
    return NameFormat{}.parse(text);
}

Parsed<Redact> RedactFormat::parse(std::string_view text) const {
    if (text == "nothing") return Redact::kNothing;
    if (text == "paths") return Redact::kPaths;
    return refuse(quoted(text) + " cannot be redacted", "write nothing or paths");
}

std::string RedactFormat::print(Redact redact) const { return redact == Redact::kPaths ? "paths" : "nothing"; }

Parsed<std::uint32_t> ModeFormat::parse(std::string_view text) const {
    const auto mode = parse_number<std::uint32_t>(text, 8);
    if (!mode) return refuse(quoted(text) + " is not an octal mode", "write it as 0660");
    if ((*mode & ~0666U) != 0) return refuse(quoted(text) + " sets more than read and write", "write it as 0660");
    if ((*mode & 0600U) != 0600U) return refuse(quoted(text) + " shuts out the owner", "write it as 0660");
    if ((*mode & 0006U) != 0) {
        return refuse(quoted(text) + " lets every user of this host in", "use 0660 and sockets.group");
    }
    return *mode;
}

std::string ModeFormat::print(std::uint32_t mode) const { return fmt::format("{:04o}", mode); }

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevels{{{"error", LogLevel::kError},
                                                                        {"warning", LogLevel::kWarning},
                                                                        {"info", LogLevel::kInfo},
                                                                        {"debug", LogLevel::kDebug}}};

Parsed<LogLevel> LogLevelFormat::parse(std::string_view text) const {
    for (const auto& [name, level] : kLevels) {
        if (name == text) return level;
    }
    return refuse(quoted(text) + " is not a level", "write error, warning, info or debug");
}

std::string LogLevelFormat::print(LogLevel level) const {
    return std::string(kLevels[static_cast<std::size_t>(level)].first);
}

Parsed<CpuSelection> CpusFormat::parse(std::string_view text) const {
    if (text == "all") return CpuSelection{CpuSelection::Kind::kAll, {}};
    if (text == "except-isolated") return CpuSelection{CpuSelection::Kind::kExceptIsolated, {}};
    auto list = collector::parse_cpu_list(text);
    if (!list || list->empty()) {
        return refuse(quoted(text) + " is not a list of CPUs", "write all, except-isolated, or numbers such as 0-3,8");
    }
    return CpuSelection{CpuSelection::Kind::kList, std::move(*list)};
}

std::string CpusFormat::print(const CpuSelection& cpus) const {
    if (cpus.kind == CpuSelection::Kind::kAll) return "all";
    if (cpus.kind == CpuSelection::Kind::kExceptIsolated) return "except-isolated";
    std::string text;
    for (std::size_t i = 0; i < cpus.list.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.list.size() && cpus.list[last + 1].value == cpus.list[last].value + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(cpus.list[i].value);
        if (last > i) text += "-" + std::to_string(cpus.list[last].value);
        i = last + 1;
    }
    return text;
}

Parsed<ListenOptions> ListenFormat::parse(std::string_view text) const {
    constexpr std::string_view kSuggestion = "write it as 127.0.0.1:9909, [::1]:9909 or off";
    ListenOptions listen;
    if (text == "off") {
        listen.enabled = false;
        return listen;
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return refuse(quoted(text) + " has no port", std::string(kSuggestion));
    auto address = text.substr(0, colon);
    const bool bracketed = address.starts_with('[') && address.ends_with(']');
    if (bracketed) address = address.substr(1, address.size() - 2);
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    in6_addr binary{};
    listen.address = address;
    const bool numeric = ::inet_pton(bracketed ? AF_INET6 : AF_INET, listen.address.c_str(), &binary) == 1;
    if (!port || !numeric || listen.address.find('\0') != std::string::npos) {
        return refuse(quoted(text) + " is not a numeric address and port", std::string(kSuggestion));
    }
    listen.port = *port;
    return listen;
}

std::string ListenFormat::print(const ListenOptions& listen) const {
    if (!listen.enabled) return "off";
    const bool v6 = listen.address.find(':') != std::string::npos;
    return (v6 ? "[" + listen.address + "]" : listen.address) + ":" + std::to_string(listen.port);
}

Parsed<collector::EventSpec> EventFormat::parse(std::string_view text) const {
    auto event = collector::parse_event(text);
    if (!event) return refuse(event.error().message, "write a name such as cycles or cpu-clock");
    return std::move(*event);
}

Parsed<std::string> HostFormat::parse(std::string_view text) const {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == ':'; };
    if (text.empty() || text.size() > 253 || !std::ranges::all_of(text, fits)) {
        return refuse(quoted(text) + " is not a host name", "write the name alone, without http:// and port");
    }
    return std::string(text);
}

Parsed<std::string> UrlFormat::parse(std::string_view text) const {
    const bool known = text.starts_with("http://") || text.starts_with("https://");
    const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f; };
    if (!known || text.size() > 2000 || !std::ranges::all_of(text, fits)) {
        return refuse(quoted(text) + " is not the URL of a server", "write one such as https://debuginfod.debian.net");
    }
    return std::string(text);
}

bool is_loopback(const std::string& address) {
    in_addr v4{};
    if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
    in6_addr v6{};
    return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace perfvigil::config
