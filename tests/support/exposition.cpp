// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/exposition.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::test {
namespace {

bool is_name(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; };
    const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    return !text.empty() && letter(text.front()) && std::ranges::all_of(text, fits);
}

// Takes `"…"` with its escapes from the front.
std::optional<std::string> take_quoted(std::string_view& rest) {
    if (!rest.starts_with('"')) return std::nullopt;
    std::string out;
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i] == '"') {
            rest.remove_prefix(i + 1);
            return out;
        }
        if (rest[i] != '\\') {
            out += rest[i];
            continue;
        }
        if (++i == rest.size()) return std::nullopt;
        if (rest[i] == 'n')
            out += '\n';
        else if (rest[i] == '"' || rest[i] == '\\')
            out += rest[i];
        else
            return std::nullopt;
    }
    return std::nullopt;
}

bool take_labels(std::string_view& rest, std::map<std::string, std::string>& labels) {
    rest.remove_prefix(1);
    while (!rest.starts_with('}')) {
        const auto equals = rest.find('=');
        if (equals == std::string_view::npos || !is_name(rest.substr(0, equals))) return false;
        const std::string name(rest.substr(0, equals));
        rest.remove_prefix(equals + 1);
        auto value = take_quoted(rest);
        if (!value || !labels.emplace(name, std::move(*value)).second) return false;
        if (rest.starts_with(','))
            rest.remove_prefix(1);
        else if (!rest.starts_with('}'))
            return false;
    }
    rest.remove_prefix(1);
    return true;
}

std::optional<ExpositionSeries> parse_series(std::string_view line) {
    ExpositionSeries series;
    const auto name_end = line.find_first_of("{ ");
    if (name_end == std::string_view::npos || !is_name(line.substr(0, name_end))) return std::nullopt;
    series.name = line.substr(0, name_end);
    line.remove_prefix(name_end);
    if (line.starts_with('{') && !take_labels(line, series.labels)) return std::nullopt;
    if (!line.starts_with(' ')) return std::nullopt;
    line.remove_prefix(1);
    const std::string value(next_piece(line, ' '));
    char* end = nullptr;
    series.value = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') return std::nullopt;
    if (!line.empty()) {
        series.timestamp_ms = parse_number<std::int64_t>(line);
        if (!series.timestamp_ms) return std::nullopt;
    }
    return series;
}

}  // namespace

std::optional<double> Exposition::value(std::string_view name, const std::map<std::string, std::string>& labels) const {
    for (const auto& one : series) {
        if (one.name == name && one.labels == labels) return one.value;
    }
    return std::nullopt;
}

std::vector<const ExpositionSeries*> Exposition::family(std::string_view name) const {
    std::vector<const ExpositionSeries*> found;
    for (const auto& one : series) {
        if (one.name == name) found.push_back(&one);
    }
    return found;
}

double Exposition::sum(std::string_view name, const std::map<std::string, std::string>& labels) const {
    double sum = 0;
    for (const auto* one : family(name)) {
        const bool match = std::ranges::all_of(labels, [&](const auto& label) {
            const auto found = one->labels.find(label.first);
            return found != one->labels.end() && found->second == label.second;
        });
        if (match) sum += one->value;
    }
    return sum;
}

Result<Exposition> parse_exposition(std::string_view text) {
    Exposition exposition;
    std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
    std::set<std::string> ended;
    std::string current;
    if (!text.ends_with('\n')) return fail(ErrorCode::kInvalid, "the last line has no end");
    while (!text.empty()) {
        std::string_view line = next_piece(text, '\n');
        const auto refuse = [&](std::string_view why) {
            return fail(ErrorCode::kInvalid, std::string(why) + ": " + std::string(line));
        };
        if (line.starts_with("# ")) {
            std::string_view rest = line.substr(2);
            const auto kind = next_piece(rest, ' ');
            const std::string name(next_piece(rest, ' '));
            auto& table = kind == "TYPE" ? exposition.types : exposition.helps;
            if ((kind != "TYPE" && kind != "HELP") || rest.empty()) return refuse("unknown comment");
            if (!table.emplace(name, rest).second || ended.contains(name)) return refuse("family told twice");
            if (name != current) ended.insert(std::exchange(current, name));
            continue;
        }
        auto series = parse_series(line);
        if (!series) return refuse("malformed");
        if (series->name != current || !exposition.types.contains(current) || !exposition.helps.contains(current)) {
            return refuse("not under its HELP and TYPE");
        }
        if (!seen.emplace(series->name, series->labels).second) return refuse("series told twice");
        exposition.series.push_back(std::move(*series));
    }
    return exposition;
}

}  // namespace perfvigil::test
