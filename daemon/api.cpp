// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api.hpp"

#include <algorithm>
#include <optional>

#include "analyzer/profile/codec.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"
#include "config/values.hpp"
#include "daemon/api_analyses.hpp"
#include "daemon/api_captures.hpp"
#include "daemon/api_frozen.hpp"
#include "daemon/api_live.hpp"
#include "daemon/api_page.hpp"
#include "daemon/api_parts.hpp"
#include "daemon/api_store.hpp"
#include "daemon/protocol.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::daemon::api {
namespace {

constexpr std::size_t kMaxTop = 100000;
constexpr std::size_t kMaxWidth = 1000;

bool same_letters(std::string_view a, std::string_view b) {
    const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c + 32) : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

// nullopt: absent. Sent twice counts as wrong: which of the two a proxy saw is anybody's guess.
std::optional<std::string_view> header(const Request& request, std::string_view name) {
    std::optional<std::string_view> found;
    for (const auto& one : request.headers) {
        if (!same_letters(one.name, name)) continue;
        if (found) return std::string_view("\x01");
        found = one.value;
    }
    return found;
}

// "Host: localhost:9909" names this host itself, or a name that the configuration allows. A page from elsewhere that
// makes its own name resolve to 127.0.0.1 sends that name here.
bool host_allowed(std::string_view host, const Rules& rules) {
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        if (end == std::string_view::npos) return false;
        const auto rest = host.substr(end + 1);
        if (!rest.empty() && (rest.front() != ':' || !parse_number<std::uint16_t>(rest.substr(1)))) return false;
        host = host.substr(1, end - 1);
    } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
        if (!parse_number<std::uint16_t>(host.substr(colon + 1))) return false;
        host = host.substr(0, colon);
    }
    if (same_letters(host, "localhost") || config::is_loopback(std::string(host))) return true;
    return std::ranges::any_of(rules.allowed_hosts, [&](const auto& allowed) { return same_letters(allowed, host); });
}

bool knows_token(const Request& request, const Rules& rules) {
    constexpr std::string_view kBearer = "Bearer ";
    const auto given = header(request, "Authorization").value_or("");
    const bool bearer = given.size() > kBearer.size() && same_letters(given.substr(0, kBearer.size()), kBearer);
    const auto token =
        bearer ? given.substr(kBearer.size()) : cookie(header(request, "Cookie").value_or(""), protocol::kTokenCookie);
    return equal_in_constant_time(token, rules.token);
}

std::string_view path_of(const Request& request) {
    auto target = request.target;
    return next_piece(target, '?');
}

// What is refused whoever asks. Browsers say for which site they ask (Sec-Fetch-Site), and may reach a socket too,
// where somebody forwards a port to it; who else asks on a socket was let in by the kernel.
std::optional<Response> turn_away(const Request& request, const Rules& rules) {
    const auto site = header(request, "Sec-Fetch-Site");
    if (request.door != Door::kTcp && !site) return std::nullopt;
    const auto host = header(request, "Host");
    if (!host) return refuse(request, 400, "the request has no Host header");
    if (!host_allowed(*host, rules)) {
        return refuse(request, 421, "this host is not called " + escape(*host) + " here; see listen.allowed_hosts");
    }
    if (site && *site != "same-origin" && *site != "none") {
        return refuse(request, 403, "requests from other sites are refused");
    }
    return std::nullopt;
}

// What a door may not show to just anybody. Over TCP everybody of this host can be the caller, unless a token tells who
// it is.
std::optional<Response> keep_shut(const Request& request, const Rules& rules, Source& source) {
    const auto path = path_of(request);
    if (request.door != Door::kTcp || path == protocol::kOpen) return std::nullopt;
    const bool with_token = !rules.token.empty() && knows_token(request, rules);
    if (with_token || has_session(header(request, "Cookie").value_or(""), source.web_sessions())) return std::nullopt;
    if (path == "/" && source.page().installed()) return locked_page();
    if (!rules.token.empty()) {
        auto response = refuse(request, 401, "the token of listen.token_file is needed");
        response.headers.emplace_back("WWW-Authenticate", "Bearer");
        return response;
    }
    if (!path.starts_with("/v1/") && source.page().find(path) == nullptr) return std::nullopt;
    return refuse(request, 403,
                  "served on the sockets only, or over TCP with a token (perfvigil web, or listen.token_file)");
}

struct ReportParameters {
    bool as_json = false;
    bool top_given = false;
    analyzer::ReportOptions options;
};

Result<ReportParameters> report_parameters(const Parameters& parameters) {
    ReportParameters result;
    for (const auto& [name, value] : parameters) {
        if (name == "format") {
            if (value != "text" && value != "json") return fail(ErrorCode::kInvalid, "format must be text or json");
            result.as_json = value == "json";
        } else if (name == "idle") {
            if (value != "true" && value != "false") return fail(ErrorCode::kInvalid, "idle must be true or false");
            result.options.idle = value == "true" ? analyzer::IdleRows::kInclude : analyzer::IdleRows::kExclude;
        } else if (name == "top" || name == "width") {
            const auto number = number_parameter(name, value, name == "top" ? kMaxTop : kMaxWidth);
            if (!number) return fail(number.error());
            (name == "top" ? result.options.top : result.options.width) = *number;
            result.top_given = result.top_given || name == "top";
        } else {
            return fail(unknown_parameter(name));
        }
    }
    // Programs get every row unless they ask for fewer.
    if (result.as_json && !result.top_given) result.options.top = 0;
    return result;
}

Response report(const Request& request, Bytes encoded, const Parameters& parameters) {
    const auto wanted = report_parameters(parameters);
    if (!wanted) return refuse(request, 400, wanted.error().message);
    const auto profile = analyzer::decode_profile(encoded);
    if (!profile) return refuse(request, 500, "the stored profile cannot be read: " + profile.error().message);
    if (wanted->as_json) {
        return {.content_type = protocol::kJsonType, .body = analyzer::report_json(*profile, wanted->options)};
    }
    return {.content_type = protocol::kTextType, .body = analyzer::report_text(*profile, wanted->options)};
}

// "{id|latest}/report" or "{id|latest}/profile".
Response window(const Request& request, std::string_view rest, const Parameters& parameters, Source& source) {
    const auto id = next_piece(rest, '/');
    if (rest != protocol::kReport && rest != protocol::kProfile) return refuse(request, 404, "no such path");
    const auto catalog = source.catalog();
    std::shared_ptr<const Window> found;
    if (id == protocol::kLatest) {
        found = latest_window(*catalog);
        if (found == nullptr) return refuse(request, 404, "no window is complete yet");
    } else if (is_window_id(id)) {
        found = find_window(*catalog, id);
    }
    if (found == nullptr) return refuse(request, 404, "there is no window " + escape(id));
    auto encoded = source.encoded_profile(*found);
    if (!encoded) {
        const bool gone = encoded.error().code == ErrorCode::kNotFound;
        return refuse(request, gone ? 404 : 500, encoded.error().message);
    }
    if (rest == protocol::kReport) return report(request, *encoded, parameters);
    if (!parameters.empty()) return refuse(request, 400, unknown_parameter(parameters.front().first).message);
    return {.content_type = protocol::kProfileType,
            .body = std::string(reinterpret_cast<const char*>(encoded->data()), encoded->size())};
}

Response route(const Request& request, const Rules& rules, Source& source) {
    std::string_view query = request.target;
    const auto path = next_piece(query, '?');
    if (path == protocol::kMetrics) return {.content_type = protocol::kMetricsType, .shared_body = source.exposition()};
    if (path == protocol::kHealthz || path == protocol::kReadyz) {
        const auto why = path == protocol::kHealthz ? source.unhealthy() : source.not_ready();
        return why.empty() ? text(200, "ok") : text(503, why);
    }
    if (path == protocol::kOpen) return open_page(request, query, source.web_sessions());
    constexpr std::string_view kInner = "/v1/";
    if (!path.starts_with(kInner)) {
        auto file = page_file(path, header(request, "If-None-Match").value_or(""), source.page());
        return file ? std::move(*file) : refuse(request, 404, "no such path");
    }
    const auto parsed = parameters_of(query);
    if (!parsed) return refuse(request, 400, parsed.error().message);
    const auto& parameters = *parsed;
    if (path == protocol::kCaptures) return captures(request, parameters, source);
    if (path == protocol::kWeb) return invite(request, parameters, rules, source);
    if (path == protocol::kFrozen || path.starts_with(std::string(protocol::kFrozen) + "/")) {
        return frozen(request, path.substr(protocol::kFrozen.size()), parameters, source);
    }
    if (path == protocol::kStatus) return {.content_type = protocol::kJsonType, .body = source.status_json()};
    if (path == protocol::kExport) return export_profile(request, parameters, source);
    if (path == protocol::kDiff) return diff(request, parameters, source);
    for (const auto what : {protocol::kProfile, protocol::kHeat}) {
        if (path == std::string(protocol::kRaw) + "/" + std::string(what))
            return raw(request, what, parameters, source);
    }
    if (path == protocol::kLive) return live(request, parameters, source);
    if (path == protocol::kWindows) return windows(request, parameters, *source.catalog());
    const std::string below = std::string(protocol::kWindows) + "/";
    if (path.starts_with(below)) return window(request, path.substr(below.size()), parameters, source);
    return refuse(request, 404, "no such path");
}

// Reading is possible everywhere, what changes something on the control socket only. Who may read may let a browser of
// theirs read.
std::string_view methods_of(const Request& request) {
    const auto path = path_of(request);
    const bool frozen = path == protocol::kFrozen || path.starts_with(std::string(protocol::kFrozen) + "/");
    if (request.door == Door::kControl && (path == protocol::kCaptures || frozen)) return "GET, HEAD, POST";
    if (path == protocol::kWeb) return request.door == Door::kTcp ? "" : "POST";
    return "GET, HEAD";
}

bool may_ask_so(const Request& request) {
    auto methods = methods_of(request);
    while (!methods.empty()) {
        if (trim(next_piece(methods, ',')) == request.method) return true;
    }
    return false;
}

}  // namespace

Response respond(const Request& request, const Rules& rules, Source& source) {
    Response response;
    if (auto refused = turn_away(request, rules)) {
        response = std::move(*refused);
    } else if (auto shut = keep_shut(request, rules, source)) {
        response = std::move(*shut);
    } else if (!may_ask_so(request)) {
        const bool control = request.door == Door::kControl;
        response = refuse(request, 405,
                          control ? "only GET and HEAD are answered there, POST to /v1/captures, /v1/frozen and /v1/web"
                                  : "only GET and HEAD are answered here; what changes something needs the control "
                                    "socket");
        response.headers.emplace_back("Allow", std::string(methods_of(request)));
    } else {
        response = route(request, rules, source);
    }
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    const bool kept =
        std::ranges::any_of(response.headers, [](const auto& one) { return one.first == "Cache-Control"; });
    if (!kept) response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

Response refusal(unsigned status, std::string why) { return text(status, why); }

}  // namespace perfvigil::daemon::api
