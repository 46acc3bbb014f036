// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/window_info.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace perfvigil::daemon {
namespace {

constexpr std::string_view kForm = "00000000T000000Z";  // 0: any digit
constexpr std::array<std::string_view, kWindowKinds> kMarks{"", "-r", "-a"};

}  // namespace

std::string_view kind_name(WindowKind kind) {
    static constexpr std::array<std::string_view, kWindowKinds> kNames{"window", "rollup", "archive"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string id_of_kind(std::string_view end, WindowKind kind) {
    return std::string(end) + std::string(kMarks[static_cast<std::size_t>(kind)]);
}

WindowKind WindowInfo::kind() const {
    const auto rest = std::string_view(id).substr(std::min(id.size(), kForm.size()));
    if (rest.starts_with("-r")) return WindowKind::kRollup;
    return rest.starts_with("-a") ? WindowKind::kArchive : WindowKind::kWindow;
}

WindowInfo describe(const analyzer::Profile& profile, std::uint64_t bytes) {
    WindowInfo info{.id = profile.id,
                    .start = profile.start,
                    .end = profile.end,
                    .duration = profile.duration,
                    .bytes = bytes,
                    .partial = profile.partial};
    for (const auto& cpu : profile.cpus) {
        if (!cpu.busy.known) continue;
        info.recorded += cpu.sum.enabled;
        info.busy += Nanoseconds(std::llround(cpu.busy.ratio * static_cast<double>(cpu.sum.enabled.count())));
    }
    for (const auto& event : profile.events) {
        info.samples += event.samples;
        info.lost += event.lost;
    }
    return info;
}

bool is_window_id(std::string_view id) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (id.size() < kForm.size()) return false;
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        if (kForm[i] == '0' ? !is_digit(id[i]) : id[i] != kForm[i]) return false;
    }
    auto rest = id.substr(kForm.size());
    if (rest.starts_with("-r") || rest.starts_with("-a")) rest.remove_prefix(2);
    if (rest.empty()) return true;
    return rest.front() == '-' && rest.size() >= 2 && rest.size() <= 6 && std::ranges::all_of(rest.substr(1), is_digit);
}

std::shared_ptr<const Window> find_window(const Catalog& catalog, std::string_view id) {
    const auto found = std::ranges::find_if(catalog, [&](const auto& window) { return window->info.id == id; });
    return found == catalog.end() ? nullptr : *found;
}

}  // namespace perfvigil::daemon
