// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_page.hpp"

#include <boost/json.hpp>

#include "base/text.hpp"
#include "base/time.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon::api {
namespace {

// Nothing but the page's own files and the daemon's answers; text never becomes markup (trusted types).
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

void harden(Response& response) {
    response.headers.emplace_back("Content-Security-Policy", std::string(kPolicy));
    response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

Response small_page(unsigned status, std::string_view sentence) {
    std::string body = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" ";
    body += "content=\"light dark\"><meta name=\"viewport\" content=\"width=device-width\"><title>perfvigil</title>";
    body.append("<h1>perfvigil</h1><p>").append(sentence).append("</p></html>\n");
    Response response{.status = status, .content_type = "text/html; charset=utf-8", .body = std::move(body)};
    harden(response);
    return response;
}

}  // namespace

bool has_session(std::string_view cookies, WebSessions& sessions) {
    const auto secret = cookie(cookies, sessions.cookie_name());
    return !secret.empty() && sessions.knows(secret, system_clock().monotonic());
}

std::optional<Response> page_file(std::string_view path, std::string_view etag, Page& page) {
    const auto* file = page.find(path);
    if (file == nullptr && path == "/") {
        return small_page(404, "The page is not installed: perfvigild was built without npm.");
    }
    if (file == nullptr) return std::nullopt;
    Response response{.content_type = file->content_type};
    if (etag == file->etag)
        response.status = 304;
    else
        response.shared_body = file->content;
    response.headers.emplace_back("ETag", file->etag);
    response.headers.emplace_back("Cache-Control", "no-cache");  // kept, and asked for each time
    harden(response);
    return response;
}

Response locked_page() {
    return small_page(401,
                      "To open this page, run <code>perfvigil web</code> on its host and go to the address that it "
                      "prints.");
}

Response open_page(const Request& request, std::string_view query, WebSessions& sessions) {
    // A head would use the key up for nothing.
    if (request.method != "GET") return refuse(request, 405, "only GET is answered there");
    const auto parameters = parameters_of(query);
    const bool one = parameters && parameters->size() == 1 && parameters->front().first == "key";
    const auto secret = one ? sessions.redeem(parameters->front().second, system_clock().monotonic()) : std::nullopt;
    if (!secret) {
        return small_page(401,
                          "This address was opened already, or is older than five minutes. Run <code>perfvigil "
                          "web</code> again.");
    }
    auto response = small_page(303, "<a href=\"/\">perfvigil</a>");
    response.headers.emplace_back("Location", "/");
    response.headers.emplace_back("Set-Cookie",
                                  sessions.cookie_name() + "=" + *secret + "; Path=/; HttpOnly; SameSite=Strict");
    return response;
}

Response invite(const Request& request, const Parameters& parameters, const Rules& rules, Source& source) {
    if (!parameters.empty()) return refuse(request, 400, unknown_parameter(parameters.front().first).message);
    if (!source.page().installed()) {
        return refuse(request, 501, "the page is not installed: perfvigild was built without npm");
    }
    if (rules.origin.empty()) {
        return refuse(request, 503, "nothing is served over TCP (listen.enabled; perfvigil status names the trouble)");
    }
    const auto key = source.web_sessions().new_key(system_clock().monotonic());
    const boost::json::object out{{protocol::field::kUrl, rules.origin + std::string(protocol::kOpen) + "?key=" + key},
                                  {protocol::field::kExpiresSeconds, to_seconds(WebSessions::kKeyLife)}};
    return {.content_type = protocol::kJsonType, .body = boost::json::serialize(out) + "\n"};
}

}  // namespace perfvigil::daemon::api
