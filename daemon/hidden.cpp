// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hidden.hpp"

#include <pwd.h>

#include <array>
#include <optional>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

std::optional<collector::Uid> find_user(const std::string& name) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return collector::Uid{found->pw_uid};
    const auto number = parse_number<std::uint32_t>(name);
    return number ? std::optional(collector::Uid{*number}) : std::nullopt;
}

}  // namespace

analyzer::Hidden hidden_of(const config::Options& options, std::vector<std::string>& unknown) {
    analyzer::Hidden hidden{.exclude = {.units = options.exclude.units, .comms = options.exclude.comms},
                            .paths = options.redact == config::Redact::kPaths};
    for (const auto& user : options.exclude.users) {
        if (const auto found = find_user(user))
            hidden.exclude.users.push_back(*found);
        else
            unknown.push_back(user);
    }
    return hidden;
}

}  // namespace perfvigil::daemon
