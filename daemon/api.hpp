// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon answers: one pure function from a request to a response, for every listener. Knows no sockets; who
// may ask what is decided here from the request alone. Everything in a request is hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon::api {

enum class Door : std::uint8_t { kTcp, kControl };

struct Header {
    std::string_view name;
    std::string_view value;
};

struct Request {
    std::string_view method;
    std::string_view target;  // path and query as sent
    std::span<const Header> headers;
    Door door = Door::kTcp;
};

struct Response {
    unsigned status = 200;
    std::string_view content_type{};
    std::string body{};
    std::shared_ptr<const std::string> shared_body{};  // instead of body, where many may get the same
    std::vector<std::pair<std::string_view, std::string>> headers{};

    [[nodiscard]] std::string_view content() const { return shared_body ? std::string_view(*shared_body) : body; }
};

// Who may ask over TCP; see config::ListenOptions.
struct Rules {
    std::vector<std::string> allowed_hosts;
    std::string token;  // empty: none is asked for
};

// Where the answers come from.
class Source {
public:
    virtual ~Source() = default;
    [[nodiscard]] virtual std::shared_ptr<const std::string> exposition() = 0;
    [[nodiscard]] virtual std::string unhealthy() = 0;  // why; empty: healthy
    [[nodiscard]] virtual std::string not_ready() = 0;
    [[nodiscard]] virtual std::string status_json() = 0;
    [[nodiscard]] virtual std::shared_ptr<const Catalog> catalog() = 0;
    [[nodiscard]] virtual Result<std::vector<std::byte>> encoded_profile(const Window& window) = 0;
};

[[nodiscard]] Response respond(const Request& request, const Rules& rules, Source& source);

// An answer to bytes that are no request.
[[nodiscard]] Response refusal(unsigned status, std::string why);

}  // namespace perfvigil::daemon::api
