// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff_sides.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <ranges>

#include <fmt/core.h>
#include <boost/json.hpp>

#include "analyzer/profile/merge.hpp"
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/profile_source.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

constexpr std::string_view kTo = "..";
constexpr std::size_t kMostListed = 10000;  // as the daemon lists at most
// A day of windows of a minute: more is no comparison of two stretches any more, and would take the memory of all.
constexpr std::size_t kMostMerged = 1440;

bool is_window(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
}

struct Stretch {
    std::string_view from;
    std::string_view to;
};
std::optional<Stretch> stretch_of(std::string_view text) {
    const auto at = text.find(kTo);
    if (at == std::string_view::npos) return std::nullopt;
    const Stretch stretch{.from = text.substr(0, at), .to = text.substr(at + kTo.size())};
    if (!is_window(stretch.from) || !is_window(stretch.to)) return std::nullopt;
    return stretch;
}

bool exists(const std::string& path) { return path == "-" || ::access(path.c_str(), F_OK) == 0; }

// What a comma list stands for: files, and windows one by one.
Result<std::vector<std::string>> pieces_of(const std::string& source, const std::string& socket) {
    if (exists(source)) return std::vector{source};
    std::vector<std::string> pieces;
    for (const auto piece : split(source, ',')) {
        if (piece.empty()) return fail(ErrorCode::kInvalid, fmt::format("{}: a name is missing in the list", source));
        const std::string name(piece);
        const auto stretch = exists(name) ? std::nullopt : stretch_of(piece);
        if (!stretch) {
            pieces.push_back(name);
            continue;
        }
        const auto reply = get(socket, fmt::format("{}?limit={}", protocol::kWindows, kMostListed));
        if (!reply) return fail(reply.error());
        auto ids = windows_between(reply->body, stretch->from, stretch->to);
        if (!ids) return fail(std::move(ids.error()));
        std::ranges::move(*ids, std::back_inserter(pieces));
    }
    return pieces;
}

}  // namespace

Result<std::vector<std::string>> windows_between(std::string_view list, std::string_view from, std::string_view to) {
    boost::system::error_code broken;
    const auto parsed = boost::json::parse(list, broken);
    const auto* object = broken ? nullptr : parsed.if_object();
    const auto* windows = object == nullptr ? nullptr : object->if_contains(protocol::field::kWindowList);
    if (windows == nullptr || !windows->is_array()) {
        return fail(ErrorCode::kInvalid, "the daemon's list of windows is not one this program can read");
    }
    std::vector<std::string> ids;
    for (const auto& window : windows->get_array()) {
        const auto* entry = window.if_object();
        const auto* id = entry == nullptr ? nullptr : entry->if_contains(protocol::field::kId);
        if (id != nullptr && id->is_string()) ids.emplace_back(id->get_string());
    }
    std::ranges::reverse(ids);  // it lists the newest first
    const auto place = [&](std::string_view id) {
        return id == protocol::kLatest && !ids.empty() ? ids.end() - 1 : std::ranges::find(ids, id);
    };
    for (const auto end : {from, to}) {
        if (place(end) == ids.end()) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("no window {}: perfvigil status says which there are", escape(end)));
        }
    }
    const auto first = place(from);
    const auto last = place(to);
    if (last < first)
        return fail(ErrorCode::kInvalid, fmt::format("{}..{}: ends before it begins", escape(from), escape(to)));
    return std::vector<std::string>(first, last + 1);
}

Result<analyzer::Profile> side_from(const std::string& source, const std::string& socket,
                                    const analyzer::LoadOptions& options) {
    const auto pieces = pieces_of(source, socket);
    if (!pieces) return fail(pieces.error());
    if (pieces->size() > kMostMerged) {
        return fail(ErrorCode::kExhausted,
                    fmt::format("{}: {} windows; a side may have {}", source, pieces->size(), kMostMerged));
    }
    std::vector<analyzer::Profile> profiles;
    for (const auto& piece : *pieces) {
        auto profile = profile_from(piece, socket, options);
        if (!profile) return fail(std::move(profile.error()));
        profiles.push_back(std::move(*profile));
    }
    return analyzer::merge_profiles(std::move(profiles));
}

}  // namespace perfvigil::cli
