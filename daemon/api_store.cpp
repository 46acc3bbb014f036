// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_store.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "base/time_text.hpp"
#include "daemon/protocol.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::daemon::api {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

constexpr std::size_t kDefaultWindows = 100;
constexpr std::size_t kMaxWindows = 10000;

struct Wanted {
    std::size_t limit = kDefaultWindows;
    std::optional<WindowKind> kind = WindowKind::kWindow;  // nullopt: all
    std::optional<WallTime> since;
    std::optional<WallTime> until;
};

// Nanoseconds since 1970, UTC: what callers have computed already.
Result<WallTime> time_parameter(std::string_view name, std::string_view value) {
    const auto number = parse_number<std::int64_t>(value);
    if (number) return WallTime(Nanoseconds(*number));
    return fail(ErrorCode::kInvalid, std::string(name) + " must be a number of nanoseconds since 1970");
}

Result<std::optional<WindowKind>> kind_parameter(std::string_view value) {
    if (value == "all") return std::nullopt;
    for (const auto kind : {WindowKind::kWindow, WindowKind::kRollup, WindowKind::kArchive}) {
        if (value == kind_name(kind)) return kind;
    }
    return fail(ErrorCode::kInvalid, "kind must be window, rollup, archive or all");
}

Result<Wanted> wanted_of(const Parameters& parameters) {
    Wanted wanted;
    for (const auto& [name, value] : parameters) {
        if (name == "limit") {
            const auto number = number_parameter(name, value, kMaxWindows);
            if (!number) return fail(number.error());
            wanted.limit = *number;
        } else if (name == "kind") {
            const auto kind = kind_parameter(value);
            if (!kind) return fail(kind.error());
            wanted.kind = *kind;
        } else if (name == "since" || name == "until") {
            const auto time = time_parameter(name, value);
            if (!time) return fail(time.error());
            (name == "since" ? wanted.since : wanted.until) = *time;
        } else {
            return fail(unknown_parameter(name));
        }
    }
    if (wanted.since.has_value() != wanted.until.has_value()) {
        return fail(ErrorCode::kInvalid, "since and until go together");
    }
    return wanted;
}

json::object window_json(const Window& window) {
    const auto& info = window.info;
    json::object made{{field::kId, info.id},
                      {field::kKind, kind_name(info.kind())},
                      {field::kStart, iso_time(info.start)},
                      {field::kEnd, iso_time(info.end)},
                      {field::kDurationSeconds, to_seconds(info.duration)},
                      {field::kSamples, info.samples},
                      {field::kLost, info.lost},
                      {field::kBytes, info.bytes},
                      {field::kPartial, info.partial},
                      {field::kStored, window.in_memory == nullptr}};
    if (info.recorded > Nanoseconds{}) made[field::kBusy] = to_seconds(info.busy) / to_seconds(info.recorded);
    if (!info.parts.empty()) made[field::kParts] = split(info.parts, ' ').size();
    return made;
}

}  // namespace

Response windows(const Request& request, const Parameters& parameters, const Catalog& catalog) {
    const auto wanted = wanted_of(parameters);
    if (!wanted) return refuse(request, 400, wanted.error().message);
    json::array list;
    std::size_t total = 0;
    if (wanted->since) {
        const auto chosen = cover(catalog, *wanted->since, *wanted->until);
        total = chosen.size();
        for (const auto& window : chosen) list.push_back(window_json(*window));
    } else {
        for (auto window = catalog.rbegin(); window != catalog.rend(); ++window) {
            if (wanted->kind && (*window)->info.kind() != *wanted->kind) continue;
            ++total;
            if (list.size() < wanted->limit) list.push_back(window_json(**window));
        }
    }
    const json::object out{{field::kWindowList, std::move(list)}, {field::kTotal, total}};
    return {.content_type = protocol::kJsonType, .body = json::serialize(out) + "\n"};
}

}  // namespace perfvigil::daemon::api
