// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/input_format.hpp"

#include <array>

namespace perfvigil::analyzer {
namespace {

struct Name {
    InputFormat format;
    std::string_view text;
};

constexpr std::array kNames{
    Name{InputFormat::kCapture, "perf.data"}, Name{InputFormat::kScript, "script"},
    Name{InputFormat::kFolded, "folded"},     Name{InputFormat::kReport, "report"},
    Name{InputFormat::kPprof, "pprof"},       Name{InputFormat::kCpuProfile, "cpuprofile"},
    Name{InputFormat::kProfile, "profile"},
};

}  // namespace

std::string_view input_format_name(InputFormat format) {
    for (const auto& name : kNames) {
        if (name.format == format) return name.text;
    }
    return "unknown";
}

std::optional<InputFormat> parse_input_format(std::string_view name) {
    for (const auto& known : kNames) {
        if (known.text == name) return known.format;
    }
    return std::nullopt;
}

std::string input_format_names() {
    std::string names;
    for (const auto& name : kNames) {
        if (!names.empty()) names += ", ";
        names += name.text;
    }
    return names;
}

}  // namespace perfvigil::analyzer
