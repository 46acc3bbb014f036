// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "collector/capture_file.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

WallTime wall(const timespec& time) {
    return WallTime(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

bool is_partial_capture(std::string_view path) {
    return path.ends_with(collector::partial_capture_path(std::string(kCaptureSuffix)));
}

std::vector<CaptureFileInfo> list_captures(const std::string& directory) {
    std::vector<CaptureFileInfo> found;
    std::error_code error;
    for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
        const std::string name = i->path().filename();
        if (!name.ends_with(kCaptureSuffix) && !is_partial_capture(name)) continue;
        struct stat status{};
        if (::lstat(i->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        const auto written = wall(status.st_mtim);
        found.push_back({.path = i->path(),
                         .bytes = static_cast<std::uint64_t>(status.st_size),
                         .inode = status.st_ino,
                         .names = status.st_nlink,
                         .begun = time_in_name(name).value_or(written),
                         .written = written});
    }
    std::ranges::sort(found, {}, &CaptureFileInfo::path);
    return found;
}

std::optional<WallTime> time_in_name(std::string_view name) {
    constexpr std::string_view kForm = "00000000T000000Z";
    if (name.size() < kForm.size()) return std::nullopt;
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        const bool digit = name[i] >= '0' && name[i] <= '9';
        if (kForm[i] == '0' ? !digit : name[i] != kForm[i]) return std::nullopt;
    }
    const auto number = [&](std::size_t at, std::size_t size) {
        return parse_number<unsigned>(name.substr(at, size)).value_or(0);
    };
    const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                                          std::chrono::month(number(4, 2)), std::chrono::day(number(6, 2)));
    if (!day.ok() || number(9, 2) > 23 || number(11, 2) > 59 || number(13, 2) > 60) return std::nullopt;
    return WallTime(std::chrono::sys_days(day).time_since_epoch() + std::chrono::hours(number(9, 2)) +
                    std::chrono::minutes(number(11, 2)) + std::chrono::seconds(number(13, 2)));
}

}  // namespace perfvigil::daemon
