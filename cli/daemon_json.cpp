// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/daemon_json.hpp"

#include <utility>

#include <boost/json.hpp>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace json = boost::json;

// The daemon has escaped what is foreign; backslashes are its own and stay.
std::string printable(std::string_view text) {
    std::string out;
    while (true) {
        const auto at = text.find('\\');
        out += escape(text.substr(0, at));
        if (at == std::string_view::npos) return out;
        out += '\\';
        text.remove_prefix(at + 1);
    }
}

}  // namespace

Result<json::object> parse_answer(std::string_view body) {
    boost::system::error_code broken;
    auto parsed = json::parse(body, broken);
    if (broken || !parsed.is_object()) {
        return fail(ErrorCode::kInvalid, "the daemon's answer is not one this program can read");
    }
    if (auto why = text_at(parsed.get_object(), protocol::field::kError); !why.empty()) {
        return fail(ErrorCode::kIo, std::move(why));
    }
    return std::move(parsed.get_object());
}

std::string text_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? printable(value->get_string()) : std::string();
}

double number_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

bool has(const json::object& object, std::string_view key) { return object.contains(key); }

json::object object_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

std::vector<json::object> list_at(const json::object& object, std::string_view key) {
    std::vector<json::object> rows;
    const auto* value = object.if_contains(key);
    if (value == nullptr || !value->is_array()) return rows;
    for (const auto& one : value->get_array()) {
        if (one.is_object()) rows.push_back(one.get_object());
    }
    return rows;
}

}  // namespace perfvigil::cli
