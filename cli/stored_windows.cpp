// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/stored_windows.hpp"

#include <cstdio>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <boost/json.hpp>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/merge.hpp"
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/profile_source.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

// As for a side of a comparison: a day of windows of a minute.
constexpr std::size_t kMostMerged = 1440;

Error unreadable_list() {
    return {ErrorCode::kInvalid, 0, "the daemon's list of windows is not one this program can read"};
}

std::string text_at(const json::object& row, std::string_view name) {
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_at(const json::object& row, std::string_view name) {
    const auto* value = row.if_contains(name);
    if (value == nullptr) return 0;
    boost::system::error_code wrong;
    const auto number = value->to_number<std::uint64_t>(wrong);
    return wrong ? 0 : number;
}

bool flag_at(const json::object& row, std::string_view name, bool otherwise) {
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

Result<StoredWindow> window_of(const json::value& value) {
    const auto* row = value.if_object();
    if (row == nullptr) return fail(unreadable_list());
    StoredWindow window{.id = text_at(*row, field::kId),
                        .kind = text_at(*row, field::kKind),
                        .samples = number_at(*row, field::kSamples),
                        .lost = number_at(*row, field::kLost),
                        .bytes = number_at(*row, field::kBytes),
                        .parts = number_at(*row, field::kParts),
                        .partial = flag_at(*row, field::kPartial, false),
                        .stored = flag_at(*row, field::kStored, true)};
    const auto start = parse_wall_time(text_at(*row, field::kStart), {});
    const auto end = parse_wall_time(text_at(*row, field::kEnd), {});
    if (window.id.empty() || !start || !end) return fail(unreadable_list());
    window.start = *start;
    window.end = *end;
    return window;
}

void say_what_it_holds(const WallSpan& asked, const std::vector<StoredWindow>& windows) {
    const WallSpan held{windows.front().start, windows.back().end};
    fmt::print(stderr, "perfvigil: {}, {} profile{}\n", local_span(held), windows.size(),
               windows.size() == 1 ? "" : "s");
    // A window that is under way, or a boundary between two, is nothing to tell.
    constexpr Nanoseconds kNoticeable = std::chrono::minutes(2);
    if (held.since > asked.since + kNoticeable || held.until + kNoticeable < asked.until) {
        fmt::print(stderr, "perfvigil: asked for was {}; more is not kept of it\n", local_span(asked));
    } else if (held.since + kNoticeable < asked.since || held.until > asked.until + kNoticeable) {
        fmt::print(stderr, "perfvigil: asked for was {}; of then only longer profiles are kept\n", local_span(asked));
    }
}

}  // namespace

Result<std::vector<StoredWindow>> parse_windows(std::string_view text) {
    boost::system::error_code broken;
    const auto parsed = json::parse(text, broken);
    const auto* object = broken ? nullptr : parsed.if_object();
    const auto* list = object == nullptr ? nullptr : object->if_contains(field::kWindowList);
    if (list == nullptr || !list->is_array()) return fail(unreadable_list());
    std::vector<StoredWindow> windows;
    for (const auto& value : list->get_array()) {
        auto window = window_of(value);
        if (!window) return fail(std::move(window.error()));
        windows.push_back(std::move(*window));
    }
    return windows;
}

Result<std::vector<StoredWindow>> windows_of(const WallSpan& span, const std::string& socket) {
    const auto reply =
        get(socket, fmt::format("{}?since={}&until={}", protocol::kWindows, span.since.time_since_epoch().count(),
                                span.until.time_since_epoch().count()));
    if (!reply) return fail(reply.error());
    auto windows = parse_windows(reply->body);
    if (windows && windows->empty()) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("nothing is kept of {}: perfvigil windows says what is", local_span(span)));
    }
    return windows;
}

Result<analyzer::Profile> profile_of(const WallSpan& span, const std::string& socket) {
    const auto windows = windows_of(span, socket);
    if (!windows) return fail(windows.error());
    if (windows->size() > kMostMerged) {
        return fail(ErrorCode::kExhausted,
                    fmt::format("{}: {} profiles; {} can be one", local_span(span), windows->size(), kMostMerged));
    }
    std::vector<analyzer::Profile> profiles;
    for (const auto& window : *windows) {
        const auto bytes = stored_window(window.id, socket);
        if (!bytes) return fail(bytes.error());
        auto profile = analyzer::decode_profile(std::as_bytes(std::span(*bytes)));
        if (!profile) return fail(std::move(profile.error()).at(window.id));
        profiles.push_back(std::move(*profile));
    }
    say_what_it_holds(span, *windows);
    return analyzer::merge_profiles(std::move(profiles));
}

}  // namespace perfvigil::cli
