// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/host_state.hpp"

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

std::string_view value_of(const std::vector<ProfileFact>& facts, std::string_view name) {
    for (const auto& fact : facts) {
        if (fact.name == name) return fact.value;
    }
    return {};
}

}  // namespace

std::string_view vulnerability(const ProfileHost& host, std::string_view name) {
    return value_of(host.vulnerabilities, name);
}

std::string_view kernel_option(const ProfileHost& host, std::string_view name) {
    return value_of(host.kernel_config, name);
}

std::string_view setting(const ProfileHost& host, std::string_view name) { return value_of(host.settings, name); }

std::optional<std::string_view> kernel_parameter(const ProfileHost& host, std::string_view name) {
    std::optional<std::string_view> found;
    std::string_view words = host.kernel_command_line;
    while (!words.empty()) {
        std::string_view value = next_piece(words, ' ');
        if (value == "--") break;  // what follows is init's
        if (next_piece(value, '=') == name) found = value;
    }
    return found;
}

}  // namespace perfvigil::analyzer
