// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/freeze_desk.hpp"

#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "base/time_text.hpp"
#include "config/values.hpp"
#include "daemon/capture_stream.hpp"
#include "daemon/frozen_json.hpp"
#include "daemon/log.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
namespace field = protocol::field;

constexpr std::size_t kMostAnswer = 1U << 20;
constexpr std::size_t kMostPast = 64;

void answer(CaptureStream& stream, const json::object& object) {
    (void)stream.push(json::serialize(object) + "\n");
    stream.end();
}

json::object refusal(const Error& error) { return {{field::kError, escape(error.message)}}; }

api::Frozen::Answer too_many() {
    return std::unexpected(api::Refusal{503, "the disk of captures.dir does not answer; come again later"});
}

}  // namespace

api::Frozen::Answer FreezeDesk::freeze(api::FreezeRequest request, const std::optional<Peer>& peer) {
    const auto now = parts_.clock.wall();
    const FreezeOrder order{.from = now - request.last,
                            .to = now,
                            .label = request.label,
                            .who = peer ? fmt::format("uid {}, pid {}", peer->uid, peer->pid) : "unknown"};
    auto stream = std::make_shared<CaptureStream>(kMostAnswer, nullptr);
    // First what lies there, the file at hand among it; then that ends, so that it is whole within a slice.
    const bool taken = parts_.disk.order([this, order, stream](FrozenCaptures& captures) {
        const auto frozen = captures.freeze(order);
        if (frozen) {
            log::info("captures frozen", {{"id", frozen->id}, {"who", order.who}, {"bytes", frozen->bytes()}});
            parts_.cut();
            note(order.to, fmt::format("Captures from {} to {} were frozen by {} as {}{}.",
                                       readable_time(frozen->order.from), readable_time(order.to), order.who,
                                       frozen->id, order.label.empty() ? "" : ": " + order.label));
            auto told = frozen_json(*frozen);
            told[field::kDirectory] = captures.folder_of(frozen->id);
            answer(*stream, told);
        } else {
            answer(*stream, refusal(frozen.error()));
        }
    });
    if (!taken) return too_many();
    return stream;
}

void FreezeDesk::note(WallTime time, std::string text) {
    const std::lock_guard lock(past_mutex_);
    if (past_.size() >= kMostPast) past_.pop_front();
    past_.push_back({time, std::move(text)});
}

api::Frozen::Answer FreezeDesk::thaw(std::string id) {
    auto stream = std::make_shared<CaptureStream>(kMostAnswer, nullptr);
    const bool taken = parts_.disk.order([id = std::move(id), stream](FrozenCaptures& captures) {
        const auto thawed = captures.thaw(id);
        if (thawed) log::info("captures thawed", {{"id", id}});
        answer(*stream, thawed ? json::object{{field::kId, id}} : refusal(thawed.error()));
    });
    if (!taken) return too_many();
    return stream;
}

void FreezeDesk::on_rule(const Firing& firing, Nanoseconds last) {
    const FreezeOrder order{.from = firing.at - last,
                            .to = firing.at,
                            .rule = firing.rule.name,
                            .who = "rule",
                            .evidence = firing.evidence};
    log::warning("rule came true", {{"rule", order.rule}, {"evidence", firing.evidence.text}});
    const auto failed = [this, order](const std::string& why) {
        log::warning("rule could not freeze captures", {{"rule", order.rule}, {"why", why}});
        note(order.to, fmt::format("Rule {} could not freeze captures: {}.", order.rule, escape(why)));
    };
    const bool taken = parts_.disk.order([this, order, failed](FrozenCaptures& captures) {
        const auto frozen = captures.freeze(order);
        if (!frozen) return failed(frozen.error().message);
        log::info("captures frozen", {{"id", frozen->id}, {"rule", order.rule}, {"bytes", frozen->bytes()}});
        parts_.cut();
        parts_.post([this, rule = order.rule, id = frozen->id, folder = captures.folder_of(frozen->id)] {
            capture_for(rule, id, folder);
        });
    });
    if (!taken) failed("the disk of captures.dir does not answer");
}

void FreezeDesk::capture_for(const std::string& rule, const std::string& id, const std::string& folder) {
    const auto& options = parts_.options.triggers;
    if (options.capture_duration == Nanoseconds{}) return;
    CaptureRequest request{.duration = options.capture_duration,
                           .frequency = options.capture_frequency,
                           .label = "rule " + rule,
                           .raw = true};
    auto reply =
        reply_to_folder(folder, "triggered", [this, id](std::string what) { note_capture(id, std::move(what)); });
    if (const auto refused = parts_.captures.begin_for_rule(std::move(request), rule, std::move(reply))) {
        log::warning("rule could not begin a capture", {{"rule", rule}, {"why", refused->why}});
        note_capture(id, "refused: " + refused->why);
    }
}

void FreezeDesk::note_capture(const std::string& id, std::string what) {
    const bool taken =
        parts_.disk.order([id, what = std::move(what)](FrozenCaptures& captures) { captures.note_capture(id, what); });
    if (!taken) log::warning("what a rule captured is not noted", {{"id", id}});
}

std::string FreezeDesk::list_json() const {
    json::array list;
    for (const auto& frozen : *parts_.disk.frozen()) list.push_back(frozen_json(frozen));
    return json::serialize(json::object{{field::kFrozen, std::move(list)},
                                        {field::kDirectory, parts_.options.captures.directory + "/frozen"},
                                        {field::kBytes, parts_.disk.frozen_bytes()},
                                        {field::kBytesLimit, parts_.options.captures.frozen_bytes}});
}

std::vector<std::string> FreezeDesk::notes(WallTime from, WallTime to) const {
    const std::lock_guard lock(past_mutex_);
    std::vector<std::string> notes;
    for (const auto& past : past_) {
        if (past.time >= from && past.time < to) notes.push_back(past.text);
    }
    return notes;
}

}  // namespace perfvigil::daemon
