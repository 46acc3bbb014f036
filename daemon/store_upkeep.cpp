// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store_upkeep.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::daemon {
namespace {

// The end of the stretch in which the middle of this profile lies.
WallTime stretch_end(const WindowInfo& info, Nanoseconds length) {
    const auto middle = (info.end - info.duration / 2).time_since_epoch();
    auto whole = middle / length;
    if (middle.count() < 0 && middle % length != Nanoseconds{}) --whole;
    return WallTime(length * (whole + 1));
}

std::optional<RollupPlan> due(const Catalog& catalog, WindowKind kind, Nanoseconds length, WallTime over_until,
                              const std::set<std::string>& unusable) {
    const auto held = held_ids(catalog);
    const auto part_kind = kind == WindowKind::kRollup ? WindowKind::kWindow : WindowKind::kRollup;
    struct Stretch {
        Catalog parts;
        bool whole = true;  // on disk
    };
    std::map<WallTime, Stretch> stretches;
    for (const auto& window : catalog) {
        const auto& info = window->info;
        if (info.kind() != part_kind || held.contains(info.id) || unusable.contains(info.id)) continue;
        const auto end = stretch_end(info, length);
        if (end > over_until) continue;
        auto& stretch = stretches[end];
        stretch.parts.push_back(window);
        stretch.whole = stretch.whole && window->in_memory == nullptr;
    }
    for (auto& [end, stretch] : stretches) {
        if (!stretch.whole) continue;
        std::ranges::stable_sort(stretch.parts, {}, [](const auto& window) { return window->info.start; });
        return RollupPlan{kind, end, std::move(stretch.parts)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<RollupPlan> next_rollup(const Catalog& catalog, const config::StoreOptions& options, Nanoseconds window,
                                      WallTime now, const std::set<std::string>& unusable) {
    const auto over = now - window;
    if (auto plan = due(catalog, WindowKind::kRollup, options.rollup_length, over, unusable)) return plan;
    // Its roll-ups are there: the ones above came first.
    return due(catalog, WindowKind::kArchive, options.archive_length, over - window, unusable);
}

Catalog over_age(const Catalog& catalog, const config::StoreOptions& options, WallTime now, std::size_t most) {
    const auto held = held_ids(catalog);
    std::set<std::string_view> parts_to_go;
    for (const auto& window : catalog) {
        const auto& info = window->info;
        const auto keep = info.kind() == WindowKind::kArchive ? options.rollup_age : options.window_age;
        if (info.parts.empty() || window->in_memory != nullptr || info.end >= now - keep) continue;
        for (const auto id : split(info.parts, ' ')) parts_to_go.insert(id);
    }
    Catalog gone;
    for (const auto& window : catalog) {
        if (gone.size() == most) break;
        const auto& info = window->info;
        const bool too_old = info.end < now - options.archive_age && !held.contains(info.id);
        if (window->in_memory == nullptr && (too_old || parts_to_go.contains(info.id))) gone.push_back(window);
    }
    return gone;
}

std::shared_ptr<const Window> first_to_go(const Catalog& catalog) {
    const auto held = held_ids(catalog);
    const auto newest = latest_window(catalog);
    std::shared_ptr<const Window> oldest;
    for (const auto& window : catalog) {
        if (window == newest || window->in_memory != nullptr) continue;
        // What stands for its time alone, while something it holds is there, would leave that behind: parts go first.
        if (held.contains(window->info.id)) return window;
        if (oldest == nullptr) oldest = window;
    }
    return oldest;
}

}  // namespace perfvigil::daemon
