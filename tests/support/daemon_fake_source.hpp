// SPDX-License-Identifier: GPL-2.0-or-later
// An api::Source of fixed answers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/analysis_desk.hpp"
#include "daemon/api.hpp"

namespace perfvigil::test {

class FakeSource final : public daemon::api::Source {
public:
    std::shared_ptr<const std::string> exposition() override { return metrics; }
    std::string unhealthy() override { return why_unhealthy; }
    std::string not_ready() override { return why_not_ready; }
    std::string status_json() override { return "{\"state\":\"recording\"}\n"; }
    daemon::Page& page() override { return web_page; }
    daemon::WebSessions& web_sessions() override { return sessions; }
    daemon::LiveFeed& live_feed() override { return live; }
    std::string live_json(const daemon::LiveSlices& slices) override {
        std::string all;
        for (const auto& slice : slices) all += *slice + ";";
        return all;
    }
    std::shared_ptr<const daemon::Catalog> catalog() override { return windows; }
    Result<std::vector<std::byte>> encoded_profile(const daemon::Window& window) override {
        const auto found = profiles.find(window.info.id);
        if (found == profiles.end()) return fail(ErrorCode::kNotFound, window.info.id + ": removed");
        return found->second;
    }

    std::function<Result<std::vector<std::byte>>(const daemon::Window&)> profile_reader() override {
        return [this](const daemon::Window& window) { return encoded_profile(window); };
    }
    daemon::AnalysisDesk& analyses() override { return desk; }
    std::string captures_directory() override { return captures_folder; }

    daemon::api::Captures* captures() override { return on_demand; }
    daemon::api::Frozen* frozen() override { return kept; }

    // A completed window with these encoded bytes.
    void add(daemon::WindowInfo info, std::vector<std::byte> bytes) {
        auto next = *windows;
        profiles[info.id] = std::move(bytes);
        next.push_back(std::make_shared<daemon::Window>(daemon::Window{std::move(info), nullptr}));
        windows = std::make_shared<const daemon::Catalog>(std::move(next));
    }

    std::shared_ptr<const std::string> metrics = std::make_shared<const std::string>("up 1\n");
    daemon::api::Captures* on_demand = nullptr;
    daemon::api::Frozen* kept = nullptr;
    daemon::LiveFeed live;
    daemon::Page web_page{"/nonexistent"};
    daemon::WebSessions sessions;
    std::string why_unhealthy;
    std::string why_not_ready;
    std::shared_ptr<const daemon::Catalog> windows = std::make_shared<const daemon::Catalog>();
    std::map<std::string, std::vector<std::byte>> profiles;
    std::string captures_folder = "/nonexistent";
    daemon::AnalysisDesk desk;  // last: its thread reads the others
};

}  // namespace perfvigil::test
