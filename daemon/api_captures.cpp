// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_captures.hpp"

#include <utility>

#include "daemon/protocol.hpp"

namespace perfvigil::daemon::api {
namespace {

std::string_view type_of(CaptureRequest::Format format) {
    switch (format) {
        case CaptureRequest::Format::kText: return protocol::kTextType;
        case CaptureRequest::Format::kJson: return protocol::kJsonType;
        case CaptureRequest::Format::kProfile: return protocol::kProfileType;
        case CaptureRequest::Format::kStream: break;
    }
    return protocol::kCaptureType;
}

}  // namespace

Response captures(const Request& request, const Parameters& parameters, Source& source) {
    if (request.door != Door::kControl) return refuse(request, 403, "served on the control socket only");
    Captures* captures = source.captures();
    if (captures == nullptr) return refuse(request, 501, "nothing is recorded here: a capture is replayed");
    if (request.method != "POST") {
        if (!parameters.empty()) return refuse(request, 400, unknown_parameter(parameters.front().first).message);
        return {.content_type = protocol::kJsonType, .body = captures->list_json() + "\n"};
    }
    auto wanted = parse_capture_request(parameters, captures->longest());
    if (!wanted) return refuse(request, 400, wanted.error().message);
    const auto format = wanted->format;
    auto stream = captures->begin(std::move(*wanted), request.peer);
    if (!stream) return refuse(request, stream.error().status, stream.error().why);
    return {.content_type = type_of(format), .stream = std::move(*stream)};
}

}  // namespace perfvigil::daemon::api
