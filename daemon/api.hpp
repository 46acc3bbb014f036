// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon answers: one pure function from a request to a response, for every listener. Knows no sockets; who
// may ask what is decided here from the request alone. Everything in a request is hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "daemon/body_stream.hpp"
#include "daemon/live_feed.hpp"
#include "daemon/page.hpp"
#include "daemon/peer.hpp"
#include "daemon/web_sessions.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {
class AnalysisDesk;
}

namespace perfvigil::daemon::api {

// kControl may do everything, kRead reads all that changes nothing; kTcp: see Rules.
enum class Door : std::uint8_t { kTcp, kControl, kRead };
inline constexpr std::size_t kDoors = 3;

struct Header {
    std::string_view name;
    std::string_view value;
};

struct Request {
    std::string_view method;
    std::string_view target;  // path and query as sent
    std::span<const Header> headers;
    Door door = Door::kTcp;
    std::optional<Peer> peer{};  // of a Unix socket
};

class Later;  // later.hpp

struct Response {
    unsigned status = 200;
    std::string_view content_type{};
    std::string body{};
    std::shared_ptr<const std::string> shared_body{};  // instead of body, where many may get the same
    std::shared_ptr<BodyStream> stream{};              // instead of both: what comes over time
    std::shared_ptr<Later> later{};                    // instead of all: the answer that another thread works out
    std::vector<std::pair<std::string_view, std::string>> headers{};

    [[nodiscard]] std::string_view content() const { return shared_body ? std::string_view(*shared_body) : body; }
};

// Who may ask over TCP; see config::ListenOptions. Without a token everybody may see metrics and health, and nothing
// else; with one whoever knows it may read profiles too, and so may who opened the page (WebSessions).
struct Rules {
    std::vector<std::string> allowed_hosts{};
    std::string token{};
    std::string origin{};  // "http://127.0.0.1:9909": where TCP is answered; empty: nowhere
};

class Captures;
class Frozen;

// Where the answers come from.
class Source {
public:
    virtual ~Source() = default;
    [[nodiscard]] virtual std::shared_ptr<const std::string> exposition() = 0;
    [[nodiscard]] virtual std::string unhealthy() = 0;  // why; empty: healthy
    [[nodiscard]] virtual std::string not_ready() = 0;
    [[nodiscard]] virtual std::string status_json() = 0;
    [[nodiscard]] virtual LiveFeed& live_feed() = 0;
    [[nodiscard]] virtual std::string live_json(const LiveSlices& slices) = 0;  // with what holds now around them
    [[nodiscard]] virtual Page& page() = 0;
    [[nodiscard]] virtual WebSessions& web_sessions() = 0;
    [[nodiscard]] virtual std::shared_ptr<const Catalog> catalog() = 0;
    [[nodiscard]] virtual Result<std::vector<std::byte>> encoded_profile(const Window& window) = 0;
    // The same for any thread; outlives this.
    [[nodiscard]] virtual std::function<Result<std::vector<std::byte>>(const Window&)> profile_reader() = 0;
    [[nodiscard]] virtual AnalysisDesk& analyses() = 0;
    [[nodiscard]] virtual std::string captures_directory() = 0;  // of raw captures; where none are made it holds none
    [[nodiscard]] virtual Captures* captures() { return nullptr; }  // nullptr: nothing can be recorded
    [[nodiscard]] virtual Frozen* frozen() { return nullptr; }      // nullptr: no captures are kept
};

[[nodiscard]] Response respond(const Request& request, const Rules& rules, Source& source);

// An answer to bytes that are no request.
[[nodiscard]] Response refusal(unsigned status, std::string why);

}  // namespace perfvigil::daemon::api
