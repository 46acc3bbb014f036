// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_parts.hpp"

#include <boost/json.hpp>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon::api {
namespace {

Result<std::string> decoded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const auto digits = text.substr(i + 1, 2);
        const auto byte = digits.size() == 2 ? parse_number<std::uint8_t>(digits, 16) : std::nullopt;
        if (!byte) return fail(ErrorCode::kInvalid, "the query has a % without two hexadecimal digits behind it");
        out += static_cast<char>(*byte);
        i += 2;
    }
    return out;
}

}  // namespace

Result<Parameters> parameters_of(std::string_view query) {
    Parameters all;
    for (auto piece : split(query, '&')) {
        const auto name = next_piece(piece, '=');
        auto value = decoded(piece);
        if (!value) return fail(std::move(value.error()));
        all.emplace_back(name, std::move(*value));
    }
    return all;
}

Result<std::size_t> number_parameter(std::string_view name, std::string_view value, std::size_t max) {
    const auto number = parse_number<std::size_t>(value);
    if (number && *number <= max) return *number;
    return fail(ErrorCode::kInvalid, std::string(name) + " must be a number up to " + std::to_string(max));
}

Error unknown_parameter(std::string_view name) { return {ErrorCode::kInvalid, 0, "unknown parameter " + escape(name)}; }

std::string_view cookie(std::string_view cookies, std::string_view name) {
    while (!cookies.empty()) {
        auto value = trim(next_piece(cookies, ';'));
        if (next_piece(value, '=') == name) return value;
    }
    return {};
}

Response text(unsigned status, std::string_view body) {
    return {.status = status, .content_type = protocol::kTextType, .body = std::string(body) + "\n"};
}

Response refuse_inner(unsigned status, const std::string& why) {
    return {.status = status,
            .content_type = protocol::kJsonType,
            .body = boost::json::serialize(boost::json::object{{protocol::field::kError, escape(why)}}) + "\n"};
}

Response refuse(const Request& request, unsigned status, const std::string& why) {
    return request.target.starts_with("/v1/") ? refuse_inner(status, why) : text(status, why);
}

}  // namespace perfvigil::daemon::api
