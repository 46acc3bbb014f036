// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/origin_text.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/time_text.hpp"

namespace perfvigil::analyzer {
namespace {

class Listed {
public:
    void add(std::string_view piece) {
        if (piece.empty()) return;
        if (!text_.empty()) text_ += ", ";
        text_ += piece;
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
};

}  // namespace

std::string host_text(const ProfileHost& host) {
    Listed pieces;
    if (!host.hostname.empty()) pieces.add("host " + host.hostname);
    std::string system = host.os_release.empty() ? std::string() : "Linux " + host.os_release;
    if (!host.architecture.empty()) system += (system.empty() ? "" : " ") + host.architecture;
    pieces.add(system);
    if (host.cpus_online != 0) {
        pieces.add(fmt::format("{} {} online", host.cpus_online, host.cpus_online == 1 ? "CPU" : "CPUs"));
    }
    pieces.add(host.cpu_description);
    return pieces.take();
}

std::string time_text(const Profile& profile) {
    Listed pieces;
    pieces.add(profile.end == WallTime{}
                   ? "at an unknown time"
                   : fmt::format("{} to {} UTC", readable_time(profile.start), readable_time(profile.end)));
    if (profile.duration.count() != 0) pieces.add(fmt::format("{:.1f} s", to_seconds(profile.duration)));
    if (!profile.host.recorder.empty()) pieces.add("recorded by " + profile.host.recorder);
    return pieces.take() + (profile.partial ? "; partial window" : "");
}

}  // namespace perfvigil::analyzer
