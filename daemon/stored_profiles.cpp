// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stored_profiles.hpp"

#include <fmt/format.h>

#include <utility>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/merge.hpp"
#include "base/text.hpp"
#include "daemon/protocol.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::daemon {
namespace {

std::optional<WallTime> wall_time(std::string_view text) {
    const auto number = parse_number<std::int64_t>(text);
    if (!number) return std::nullopt;
    return WallTime(Nanoseconds(*number));
}

Result<Catalog> chosen(const Catalog& catalog, const StoredChoice& choice) {
    if (choice.stretch) {
        auto found = cover(catalog, choice.stretch->from, choice.stretch->to);
        if (found.empty()) return fail(ErrorCode::kNotFound, "nothing is kept of that time");
        if (found.size() <= kMostMerged) return found;
        return fail(ErrorCode::kInvalid,
                    fmt::format("that stretch is {} profiles, and the daemon joins at most {}: choose a shorter one, "
                                "or let perfvigil do it (perfvigil report, diff, export)",
                                found.size(), kMostMerged));
    }
    auto window = choice.id == protocol::kLatest ? latest_window(catalog) : find_window(catalog, choice.id);
    if (window == nullptr) return fail(ErrorCode::kNotFound, "there is no window " + escape(choice.id));
    return Catalog{std::move(window)};
}

}  // namespace

Result<StoredChoice> parse_choice(std::string_view name, std::string_view text) {
    constexpr std::string_view kTo = "..";
    if (text == protocol::kLatest || is_window_id(text)) return StoredChoice{.id = std::string(text)};
    if (const auto at = text.find(kTo); at != std::string_view::npos) {
        const auto from = wall_time(text.substr(0, at));
        const auto to = wall_time(text.substr(at + kTo.size()));
        if (from && to && *from < *to) return StoredChoice{.stretch = WallStretch{*from, *to}};
    }
    return fail(ErrorCode::kInvalid,
                std::string(name) + " must be the id of a window, latest, or FROM..TO in nanoseconds since 1970");
}

Result<analyzer::Profile> stored_profile(const Catalog& catalog, const StoredChoice& choice, const ReadProfile& read,
                                         const std::stop_token& stop) {
    const auto windows = chosen(catalog, choice);
    if (!windows) return fail(windows.error());
    std::vector<analyzer::Profile> profiles;
    for (const auto& window : *windows) {
        if (stop.stop_requested()) return fail(ErrorCode::kBusy, "the daemon ends");
        const auto encoded = read(*window);
        if (!encoded) return fail(encoded.error());
        auto profile = analyzer::decode_profile(*encoded);
        if (!profile) {
            return fail(ErrorCode::kIo,
                        "the stored profile " + window->info.id + " cannot be read: " + profile.error().message);
        }
        profiles.push_back(std::move(*profile));
    }
    return analyzer::merge_profiles(std::move(profiles));
}

}  // namespace perfvigil::daemon
