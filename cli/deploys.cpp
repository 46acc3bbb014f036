// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/deploys.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"
#include "cli/profile_source.hpp"
#include "cli/stored_windows.hpp"

namespace perfvigil::cli {
namespace {

constexpr Nanoseconds kLongest = std::chrono::hours(1);

bool is_unit(std::string_view name, std::string_view wanted) {
    return name == wanted ||
           (name.size() > wanted.size() && name.starts_with(wanted) && name.substr(wanted.size()) == ".service");
}

class Search {
public:
    Search(const std::string& unit, const std::string& socket, WallTime now)
        : unit_(unit), socket_(socket), now_(now) {}

    Result<DeploySides> run() {
        const auto windows = windows_of({WallTime{}, now_}, socket_);
        if (!windows) return fail(windows.error());
        for (const auto& window : *windows | std::views::reverse) {
            if (auto looked = look(window); !looked) return fail(std::move(looked.error()));
            if (seen_enough()) break;
        }
        if (program_.empty()) {
            return fail(
                ErrorCode::kNotFound,
                fmt::format("no stored profile names a program of {}: perfvigil report --json lists units under "
                            "programs",
                            escape(unit_)));
        }
        if (auto refined = refine(); !refined) return fail(std::move(refined.error()));
        const auto deploy = last_deploy(sightings());
        if (!deploy) {
            return fail(ErrorCode::kNotFound, fmt::format("{} of {} has had one build-id as long as profiles are kept",
                                                          escape(program_), escape(unit_)));
        }
        const auto length = std::min({deploy->old_span.until - deploy->old_span.since,
                                      deploy->new_span.until - deploy->new_span.since, kLongest});
        return DeploySides{.program = program_,
                           .deploy = *deploy,
                           .before = {deploy->old_span.until - length, deploy->old_span.until},
                           .after = {deploy->new_span.since, deploy->new_span.since + length}};
    }

private:
    // Oldest first.
    [[nodiscard]] std::vector<BuildSighting> sightings() const { return {seen_.rbegin(), seen_.rend()}; }

    Result<BuildSighting> sighting_of(const StoredWindow& window) {
        const auto bytes = stored_window(window.id, socket_);
        if (!bytes) return fail(bytes.error());
        const auto profile = analyzer::decode_profile(std::as_bytes(std::span(*bytes)));
        if (!profile) return fail(Error(profile.error()).at(window.id));
        if (program_.empty()) program_ = main_program(*profile, unit_);
        return BuildSighting{window.id, {window.start, window.end}, builds_in(*profile, unit_, program_)};
    }

    Result<void> look(const StoredWindow& window) {
        auto sighting = sighting_of(window);
        if (!sighting) return fail(std::move(sighting.error()));
        seen_.push_back(std::move(*sighting));
        return {};
    }

    [[nodiscard]] bool seen_enough() const {
        const auto deploy = last_deploy(sightings());
        return deploy && deploy->old_span.until - deploy->old_span.since >=
                             std::min(kLongest, deploy->new_span.until - deploy->new_span.since);
    }

    // What saw both builds, in its parts, as long as they are kept.
    Result<void> refine() {
        std::set<std::string> whole;
        for (;;) {
            const auto mixed = std::ranges::find_if(seen_, [&](const BuildSighting& sighting) {
                return sighting.builds.size() > 1 && !whole.contains(sighting.id);
            });
            if (mixed == seen_.end()) return {};
            whole.insert(mixed->id);
            const auto parts = windows_of({mixed->span.since + Nanoseconds(1), mixed->span.until}, socket_);
            if (!parts || parts->size() < 2) continue;
            std::vector<BuildSighting> finer;
            for (const auto& part : *parts | std::views::reverse) {
                auto sighting = sighting_of(part);
                if (!sighting) return fail(std::move(sighting.error()));
                finer.push_back(std::move(*sighting));
            }
            seen_.insert(seen_.erase(mixed), finer.begin(), finer.end());
        }
    }

    const std::string& unit_;
    const std::string& socket_;
    WallTime now_;
    std::string program_;
    std::vector<BuildSighting> seen_;  // newest first
};

}  // namespace

std::string main_program(const analyzer::Profile& profile, const std::string& unit) {
    for (const auto& row : profile.programs) {
        if (is_unit(row.unit, unit) && !row.build_id.empty()) return row.path;
    }
    return {};
}

std::vector<std::string> builds_in(const analyzer::Profile& profile, const std::string& unit,
                                   const std::string& program) {
    std::vector<std::string> builds;
    for (const auto& row : profile.programs) {
        if (!is_unit(row.unit, unit) || row.path != program || row.build_id.empty()) continue;
        if (std::ranges::find(builds, row.build_id) == builds.end()) builds.push_back(row.build_id);
    }
    return builds;
}

std::optional<Deploy> last_deploy(const std::vector<BuildSighting>& sightings) {
    Deploy deploy;
    // Adds what saw only this build to its side; false: it saw another one too, or only that.
    const auto extend = [](std::string& build, WallSpan& span, const BuildSighting& sighting) {
        if (sighting.builds.size() > 1) return false;
        if (build.empty()) {
            build = sighting.builds.front();
            span = sighting.span;
        }
        if (build != sighting.builds.front()) return false;
        span.since = sighting.span.since;
        return true;
    };
    bool old = false;
    for (const auto& sighting : sightings | std::views::reverse) {
        if (sighting.builds.empty()) continue;
        if (!old && extend(deploy.after, deploy.new_span, sighting)) continue;
        if (deploy.after.empty()) continue;  // still both: it is being deployed just now
        old = true;
        // Between the two sides both may have run for a while.
        const bool only_old = sighting.builds.size() == 1 && sighting.builds.front() != deploy.after;
        if (deploy.before.empty() && !only_old) continue;
        if (!extend(deploy.before, deploy.old_span, sighting)) break;
    }
    return deploy.before.empty() ? std::nullopt : std::optional(std::move(deploy));
}

Result<DeploySides> find_deploy(const std::string& unit, const std::string& socket, WallTime now) {
    return Search(unit, socket, now).run();
}

}  // namespace perfvigil::cli
