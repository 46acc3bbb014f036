// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_live.hpp"

#include <optional>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon::api {
namespace {

Result<std::optional<std::uint64_t>> after_of(const Parameters& parameters) {
    std::optional<std::uint64_t> after;
    for (const auto& [name, value] : parameters) {
        if (name != "after") return fail(unknown_parameter(name));
        after = parse_number<std::uint64_t>(value);
        if (!after) return fail(ErrorCode::kInvalid, "after must be the number of a slice, or 0");
    }
    return after;
}

}  // namespace

Response live(const Request& request, const Parameters& parameters, Source& source) {
    const auto after = after_of(parameters);
    if (!after) return refuse(request, 400, after.error().message);
    auto& feed = source.live_feed();
    const auto slices = *after ? feed.after(**after) : feed.newest();
    // To a HEAD there is nothing to wait for.
    if (!*after || !slices.empty() || request.method == "HEAD") {
        return {.content_type = protocol::kJsonType, .body = source.live_json(slices)};
    }
    const auto& clock = system_clock();
    auto stream = feed.wait(**after, clock.monotonic() + kLongestLiveWait, clock,
                            [&source](const LiveSlices& found) { return source.live_json(found); });
    if (!stream) {
        auto refused = refuse(request, 429, "too many wait for the next slice already");
        refused.headers.emplace_back("Retry-After", "5");
        return refused;
    }
    return {.content_type = protocol::kJsonType, .stream = std::move(stream)};
}

}  // namespace perfvigil::daemon::api
