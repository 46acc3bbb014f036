// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/frozen_json.hpp"

#include <boost/json.hpp>

#include "base/time_text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

std::string text_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

double number_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

json::object evidence_json(const Evidence& evidence) {
    return {{field::kMessage, evidence.text},
            {field::kValue, evidence.value},
            {field::kLimit, evidence.limit},
            {field::kHeldSeconds, to_seconds(evidence.held)}};
}

}  // namespace

json::object frozen_json(const Frozen& frozen) {
    const auto& order = frozen.order;
    json::array files;
    for (const auto& file : frozen.files) {
        files.push_back(json::object{{field::kName, file.name}, {field::kBytes, file.bytes}});
    }
    json::object object{{field::kId, frozen.id},
                        {field::kReason, order.rule.empty() ? "request" : "rule"},
                        {field::kLabel, order.label},
                        {field::kWho, order.who},
                        {field::kStart, iso_time(order.from)},
                        {field::kEnd, iso_time(order.to)},
                        {field::kBytes, frozen.bytes()},
                        {field::kFiles, std::move(files)}};
    if (!order.rule.empty()) object[field::kRule] = order.rule;
    if (order.evidence) object[field::kEvidence] = evidence_json(*order.evidence);
    if (!frozen.captured.empty()) object[field::kCaptured] = frozen.captured;
    return object;
}

Result<Frozen> parse_frozen(std::string_view text) {
    boost::system::error_code broken;
    const auto parsed = json::parse(text, broken);
    const auto* object = broken ? nullptr : parsed.if_object();
    if (object == nullptr) return fail(ErrorCode::kInvalid, "is no JSON object");
    // Times in names have the second, which is what files are chosen by.
    const auto time = [&](std::string_view key) {
        std::string compact;
        for (const char c : text_at(*object, key)) {
            if (c != '-' && c != ':') compact += c;
        }
        const auto fraction = compact.find('.');
        return time_in_name(compact.substr(0, fraction) + (fraction == std::string::npos ? "" : "Z"));
    };
    const auto from = time(field::kStart);
    const auto to = time(field::kEnd);
    Frozen frozen{.id = text_at(*object, field::kId),
                  .order = {.rule = text_at(*object, field::kRule),
                            .label = text_at(*object, field::kLabel),
                            .who = text_at(*object, field::kWho)},
                  .captured = text_at(*object, field::kCaptured)};
    if (!from || !to || !is_frozen_id(frozen.id)) return fail(ErrorCode::kInvalid, "lacks its id or its times");
    frozen.order.from = *from;
    frozen.order.to = *to;
    const auto* evidence = object->if_contains(field::kEvidence);
    if (evidence != nullptr && evidence->is_object()) {
        const auto& seen = evidence->get_object();
        const Nanoseconds held(static_cast<Nanoseconds::rep>(1e9 * number_at(seen, field::kHeldSeconds)));
        frozen.order.evidence = Evidence{.text = text_at(seen, field::kMessage),
                                         .value = number_at(seen, field::kValue),
                                         .limit = number_at(seen, field::kLimit),
                                         .held = held};
    }
    return frozen;
}

}  // namespace perfvigil::daemon
