// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/shipper.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <utility>

#include "analyzer/chain_ends.hpp"
#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/otlp.hpp"
#include "analyzer/export/pprof.hpp"
#include "analyzer/profile/codec.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "daemon/log.hpp"
#include "daemon/store.hpp"

namespace perfvigil::daemon {
namespace {

constexpr int kNice = 5;
constexpr std::size_t kMaxMark = 256;

std::string_view media_type(config::ShipFormat format) {
    return format == config::ShipFormat::kOtlp ? "application/x-protobuf" : "application/octet-stream";
}

}  // namespace

std::string shipped_bytes(const analyzer::Profile& plain, config::ShipFormat format) {
    const auto choice = analyzer::choose_event(plain, {});
    if (!choice) return {};
    // Stacks without their outer callers must not pass for whole ones.
    const auto profile = with_marked_ends(plain, analyzer::MarkedEnds::kUnrooted);
    if (format == config::ShipFormat::kPprof)
        return analyzer::pprof(profile, choice->event, analyzer::IdleRows::kExclude);
    std::vector<std::uint32_t> events{choice->event};
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (i != choice->event && profile.events[i].samples > 0) events.push_back(i);
    }
    return analyzer::otlp(profile, events, analyzer::IdleRows::kExclude);
}

Shipper::Shipper(Parts parts)
    : parts_(std::move(parts)),
      mark_path_(parts_.store_directory + "/shipped"),
      queue_(parts_.options.waiting,
             static_cast<std::uint32_t>(parts_.clock.wall().time_since_epoch().count() ^ ::getpid())),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Shipper::~Shipper() {
    thread_.request_stop();
    stop_.raise();
    wake_.raise();
}

void Shipper::offer(std::string id) {
    {
        const std::lock_guard lock(mutex_);
        // Whoever does not look for that long has lost them anyway (ShipQueue).
        if (offers_.size() < parts_.options.waiting) offers_.push_back(std::move(id));
    }
    wake_.raise();
}

ShipCounters Shipper::counters() const {
    const std::lock_guard lock(mutex_);
    return published_;
}

void Shipper::run(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "shipper");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    while (!stop.stop_requested()) {
        take_offers();
        const auto now = parts_.clock.monotonic();
        if (queue_.front() != nullptr && queue_.due() <= now) {
            try_one();
        } else {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(queue_.due() - now).count();
            wake_.wait(queue_.front() == nullptr ? -1 : static_cast<int>(std::max<std::int64_t>(left, 1)));
        }
        const std::lock_guard lock(mutex_);
        published_ = queue_.counters();
    }
}

void Shipper::take_offers() {
    std::vector<std::string> offers;
    {
        const std::lock_guard lock(mutex_);
        offers.swap(offers_);
    }
    if (offers.empty()) return;
    if (!std::exchange(caught_up_, true)) catch_up();
    for (auto& id : offers) queue_.push(std::move(id));
}

// What was completed between the last window that was taken and the first one of this run. Without a mark nothing was
// ever shipped from here: it begins now.
void Shipper::catch_up() {
    const auto mark = read_file(mark_path_, kMaxMark);
    if (!mark) return;
    const std::string last(trim(*mark));
    const auto catalog = parts_.catalog();
    const auto marked = std::ranges::find_if(*catalog, [&](const auto& window) { return window->info.id == last; });
    if (marked == catalog->end() && !is_window_id(last)) return;
    // Ids begin with the time of their end.
    const auto newer = [&](const Window& window) { return window.info.id > last; };
    std::vector<std::string> ids;
    for (const auto& window : *catalog) {
        if (window->info.kind() == WindowKind::kWindow && newer(*window)) ids.push_back(window->info.id);
    }
    // The newest is what woke us.
    if (!ids.empty()) ids.pop_back();
    for (auto& id : ids) queue_.push(std::move(id));
}

Result<std::string> Shipper::encoded(const std::string& id) const {
    const auto catalog = parts_.catalog();
    const auto window = find_window(*catalog, id);
    if (window == nullptr) return fail(ErrorCode::kNotFound, id + ": the store no longer has it");
    const auto bytes = read_window(parts_.store_directory, *window);
    if (!bytes) return fail(bytes.error());
    const auto profile = analyzer::decode_profile(*bytes);
    if (!profile) return fail(ErrorCode::kNotFound, id + ": " + profile.error().message);
    return shipped_bytes(*profile, parts_.options.format);
}

void Shipper::try_one() {
    const auto id = *queue_.front();
    const auto bytes = encoded(id);
    if (!bytes) {
        log::warning("window not shipped", {{"id", id}, {"why", bytes.error().message}});
        return bytes.error().code == ErrorCode::kNotFound ? queue_.gone() : queue_.failed(parts_.clock.monotonic());
    }
    if (bytes->empty()) return queue_.gone();  // nothing was sampled
    const auto sent =
        parts_.target->send({.id = id,
                             .suffix = parts_.options.format == config::ShipFormat::kOtlp ? "otlp.pb" : "pb.gz",
                             .media_type = media_type(parts_.options.format),
                             .bytes = *bytes},
                            stop_);
    if (sent) {
        queue_.sent();
        remember(id);
        if (std::exchange(failing_, false)) parts_.report(std::nullopt);
        return;
    }
    if (sent.error().code == ErrorCode::kCancelled) return;
    if (sent.error().code == ErrorCode::kInvalid) {
        queue_.refused();
        remember(id);
    } else {
        queue_.failed(parts_.clock.monotonic());
    }
    if (!std::exchange(failing_, true)) parts_.report(sent.error());
}

// Lost, it costs a window that comes twice, or some that do not come.
void Shipper::remember(const std::string& id) {
    const auto temporary = mark_path_ + ".partial";
    const auto text = id + "\n";
    const auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (!fd || !write_all(fd->get(), std::as_bytes(std::span(text)))) return;
    (void)std::rename(temporary.c_str(), mark_path_.c_str());
}

}  // namespace perfvigil::daemon
