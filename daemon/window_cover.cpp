// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/window_cover.hpp"

#include <algorithm>
#include <ranges>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

class Cover {
public:
    Cover(const Catalog& catalog, WallTime since, WallTime until) : catalog_(catalog), since_(since), until_(until) {}

    Catalog find() {
        const auto held = held_ids(catalog_);
        for (const auto& window : catalog_) {
            if (!held.contains(window->info.id)) choose(window);
        }
        std::ranges::stable_sort(chosen_, {}, [](const auto& window) { return window->info.start; });
        return std::move(chosen_);
    }

private:
    void choose(const std::shared_ptr<const Window>& window) {
        const auto& info = window->info;
        if (info.end <= since_ || info.start >= until_) return;
        if (info.start < since_ || info.end > until_) {
            if (const auto parts = parts_of(*window); !parts.empty()) {
                for (const auto& part : parts) choose(part);
                return;
            }
            const auto middle = info.start + (info.end - info.start) / 2;
            if (middle < since_ || middle >= until_) return;
        }
        chosen_.push_back(window);
    }

    // All of them; empty where one is gone.
    Catalog parts_of(const Window& window) {
        Catalog parts;
        if (window.info.parts.empty()) return parts;
        if (by_id_.empty()) {
            for (const auto& one : catalog_) by_id_.emplace(one->info.id, &one);
        }
        for (const auto id : split(window.info.parts, ' ')) {
            const auto found = by_id_.find(id);
            if (found == by_id_.end()) return {};
            parts.push_back(*found->second);
        }
        return parts;
    }

    const Catalog& catalog_;
    WallTime since_;
    WallTime until_;
    boost::unordered_flat_map<std::string_view, const std::shared_ptr<const Window>*> by_id_;
    Catalog chosen_;
};

}  // namespace

boost::unordered_flat_set<std::string_view> held_ids(const Catalog& catalog) {
    boost::unordered_flat_set<std::string_view> held;
    for (const auto& window : catalog) {
        if (window->info.parts.empty()) continue;
        for (const auto id : split(window->info.parts, ' ')) held.insert(id);
    }
    return held;
}

Catalog cover(const Catalog& catalog, WallTime since, WallTime until) { return Cover(catalog, since, until).find(); }

std::shared_ptr<const Window> latest_window(const Catalog& catalog) {
    const auto newest_first = catalog | std::views::reverse;
    const auto newest = std::ranges::find_if(
        newest_first, [](const auto& window) { return window->info.kind() == WindowKind::kWindow; });
    if (newest != newest_first.end()) return *newest;
    return catalog.empty() ? nullptr : catalog.back();
}

}  // namespace perfvigil::daemon
