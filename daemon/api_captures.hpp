// SPDX-License-Identifier: GPL-2.0-or-later
// The routes of captures on demand: /v1/captures. Who may is decided before (api.cpp: the control socket).
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "daemon/api.hpp"
#include "daemon/api_parts.hpp"
#include "daemon/body_stream.hpp"
#include "daemon/capture_request.hpp"

namespace perfvigil::daemon::api {

struct Refusal {
    unsigned status = 400;
    std::string why;
};

// Whoever makes captures.
class Captures {
public:
    virtual ~Captures() = default;
    // Starts one, or lets it wait; the stream tells the rest. `peer`: who asked.
    [[nodiscard]] virtual std::expected<std::shared_ptr<BodyStream>, Refusal> begin(
        CaptureRequest request, const std::optional<Peer>& peer) = 0;
    // {"captures": [...]}: those that run, then those that wait.
    [[nodiscard]] virtual std::string list_json() const = 0;
    [[nodiscard]] virtual Nanoseconds longest() const = 0;
};

[[nodiscard]] Response captures(const Request& request, const Parameters& parameters, Source& source);

}  // namespace perfvigil::daemon::api
