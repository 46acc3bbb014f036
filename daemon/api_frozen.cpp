// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_frozen.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "config/values.hpp"
#include "daemon/capture_request.hpp"
#include "daemon/frozen_captures.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon::api {
namespace {

Result<FreezeRequest> freeze_request(const Parameters& parameters) {
    FreezeRequest request;
    bool label = false;
    bool last = false;
    for (const auto& [name, value] : parameters) {
        auto& seen = name == protocol::parameter::kLabel ? label : last;
        if (name != protocol::parameter::kLabel && name != protocol::parameter::kLast) {
            return fail(unknown_parameter(name));
        }
        if (std::exchange(seen, true)) return fail(ErrorCode::kInvalid, std::string(name) + " is given twice");
        if (&seen == &label) {
            if (value.size() > kLongestLabel) {
                return fail(ErrorCode::kInvalid, fmt::format("label: longer than {} bytes", kLongestLabel));
            }
            request.label = escape(value);
            continue;
        }
        auto duration = config::DurationFormat{std::chrono::seconds(1), std::chrono::hours(24 * 366)}.parse(value);
        if (!duration) {
            const auto& [why, suggestion] = duration.error();
            return fail(ErrorCode::kInvalid, "last: " + why + (suggestion.empty() ? "" : ", " + suggestion));
        }
        request.last = *duration;
    }
    return request;
}

}  // namespace

Response frozen(const Request& request, std::string_view rest, const Parameters& parameters, Source& source) {
    Frozen* frozen = source.frozen();
    if (frozen == nullptr) {
        return refuse(request, 501, "there is nothing to freeze: captures.enabled is false, or a capture is replayed");
    }
    Frozen::Answer answer;
    if (request.method != "POST") {
        if (!rest.empty()) return refuse(request, 404, "no such path");
        if (!parameters.empty()) return refuse(request, 400, unknown_parameter(parameters.front().first).message);
        return {.content_type = protocol::kJsonType, .body = frozen->list_json() + "\n"};
    }
    if (rest.empty()) {
        auto wanted = freeze_request(parameters);
        if (!wanted) return refuse(request, 400, wanted.error().message);
        answer = frozen->freeze(std::move(*wanted), request.peer);
    } else {
        if (!parameters.empty()) return refuse(request, 400, unknown_parameter(parameters.front().first).message);
        rest.remove_prefix(1);
        const auto id = next_piece(rest, '/');
        if (rest != protocol::kThaw) return refuse(request, 404, "no such path");
        if (!is_frozen_id(id)) return refuse(request, 404, "nothing is frozen under the id " + escape(id));
        answer = frozen->thaw(std::string(id));
    }
    if (!answer) return refuse(request, answer.error().status, answer.error().why);
    return {.content_type = protocol::kJsonType, .stream = std::move(*answer)};
}

}  // namespace perfvigil::daemon::api
