// SPDX-License-Identifier: GPL-2.0-or-later
// The routes of frozen captures: /v1/frozen. What changes something is the control socket's alone (api.cpp).
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/api.hpp"
#include "daemon/api_captures.hpp"
#include "daemon/api_parts.hpp"
#include "daemon/body_stream.hpp"

namespace perfvigil::daemon::api {

struct FreezeRequest {
    Nanoseconds last = std::chrono::minutes(10);
    std::string label{};
};

// Whoever keeps captures.
class Frozen {
public:
    virtual ~Frozen() = default;
    using Answer = std::expected<std::shared_ptr<BodyStream>, Refusal>;
    // JSON that tells what came of it: the disk answers when it has done it.
    [[nodiscard]] virtual Answer freeze(FreezeRequest request, const std::optional<Peer>& peer) = 0;
    [[nodiscard]] virtual Answer thaw(std::string id) = 0;
    [[nodiscard]] virtual std::string list_json() const = 0;
};

// `rest`: what follows /v1/frozen in the path.
[[nodiscard]] Response frozen(const Request& request, std::string_view rest, const Parameters& parameters,
                              Source& source);

}  // namespace perfvigil::daemon::api
