// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/perf_map_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "analyzer/symbols/regular_file.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// When a process started, by field 22 of its stat: clock ticks since the boot.
std::optional<WallTime> start_of(const std::string& process) {
    const auto stat = read_file(process + "/stat", 64U << 10);
    if (!stat) return std::nullopt;
    std::string_view rest = *stat;
    rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));  // the name may hold anything
    const auto fields = split(trim(rest), ' ');
    constexpr std::size_t kStart = 22 - 3;
    if (fields.size() <= kStart) return std::nullopt;
    const auto ticks = parse_number<std::uint64_t>(fields[kStart]);
    const auto per_second = ::sysconf(_SC_CLK_TCK);
    if (!ticks || per_second <= 0) return std::nullopt;
    timespec since_boot{};
    timespec wall{};
    if (::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 || ::clock_gettime(CLOCK_REALTIME, &wall) != 0) {
        return std::nullopt;
    }
    const auto boot = std::chrono::seconds(wall.tv_sec - since_boot.tv_sec);
    const auto hundredths = *ticks * 100 / static_cast<std::uint64_t>(per_second);
    return WallTime(boot + std::chrono::milliseconds(10 * hundredths));
}

// The file of that name in /tmp itself: a link may lead to another map there, nowhere else.
Result<OpenedFileRef> open_in_tmp(int root, Pid pid) {
    auto tmp = open_folder_in(root, "/tmp");
    if (!tmp) return fail(std::move(tmp.error()));
    return open_regular_in(tmp->get(), fmt::format("perf-{}.map", pid.value), RemoteFiles::kRefuse);
}

// `since`: when what the map should name began, or was there last.
Result<OpenedFileRef> judged(Result<OpenedFileRef> file, Pid pid, uid_t owner, WallTime since) {
    if (!file) return file;
    struct stat st{};
    if (::fstat((*file)->fd.get(), &st) != 0) return fail_errno(errno, "perf map");
    if (st.st_uid != 0 && st.st_uid != owner) {
        return fail(ErrorCode::kPermission,
                    fmt::format("/tmp/perf-{}.map belongs to user {}, not to root or user {}, and is not believed",
                                pid.value, st.st_uid, owner));
    }
    if ((*file)->modified < since) {
        return fail(ErrorCode::kInvalid,
                    fmt::format("/tmp/perf-{}.map was written before the process that it should name was there: it may "
                                "be of another one of that number",
                                pid.value));
    }
    return file;
}

}  // namespace

Pid innermost_pid(std::string_view status, Pid outer) {
    while (!status.empty()) {
        auto line = next_piece(status, '\n');
        if (next_piece(line, ':') != "NSpid") continue;
        line = trim(line);
        return Pid{parse_number<std::int32_t>(line.substr(line.find_last_of(" \t") + 1)).value_or(outer.value)};
    }
    return outer;
}

Result<OpenedFileRef> open_perf_map(Pid pid, const PerfMapSearch& search) {
    constexpr std::chrono::seconds kTolerance{2};  // steps of the wall clock, ticks
    const auto process = fmt::format("{}/{}", search.proc, pid.value);
    struct stat of_process{};
    const bool lives = ::stat(process.c_str(), &of_process) == 0;
    const uid_t owner = lives ? of_process.st_uid : ::geteuid();
    WallTime since = search.gone_since;
    if (lives) {
        const auto started = start_of(process);
        since = started ? *started - kTolerance : WallTime{};
        const auto status = read_file(process + "/status", 64U << 10);
        const auto inner = innermost_pid(status ? std::string_view(*status) : std::string_view{}, pid);
        if (auto root = open_file(process + "/root", O_PATH | O_DIRECTORY)) {
            auto file = open_in_tmp(root->get(), inner);
            if (!file && inner != pid) file = open_in_tmp(root->get(), pid);
            // What is there and is not to be believed is an answer.
            if (file || file.error().code != ErrorCode::kNotFound) return judged(std::move(file), inner, owner, since);
        }
    }
    auto root = open_file(search.host_root, O_PATH | O_DIRECTORY);
    if (!root) return fail(std::move(root.error()));
    return judged(open_in_tmp(root->get(), pid), pid, owner, since);
}

bool PerfMapReading::goes_on_in(const OpenedFile& file) const {
    if (taken_ == 0) return true;
    if (file.device != device_ || file.inode != inode_ || file.size < taken_) return false;
    std::string there(last_.size(), '\0');
    const auto got = ::pread(file.fd.get(), there.data(), there.size(), static_cast<off_t>(taken_ - last_.size()));
    return got == static_cast<ssize_t>(there.size()) && there == last_;
}

void PerfMapReading::read_on(const OpenedFile& file, std::uint64_t most) {
    constexpr std::size_t kPiece = 1U << 20;
    constexpr std::size_t kRemembered = 256;
    device_ = file.device;
    inode_ = file.inode;
    std::string text;
    std::uint64_t end = taken_;  // of what was read
    while (end < most) {
        const auto held = text.size();
        text.resize(held + std::min<std::uint64_t>(kPiece, most - end));
        const auto got = ::pread(file.fd.get(), text.data() + held, text.size() - held, static_cast<off_t>(end));
        if (got < 0 && errno == EINTR) {
            text.resize(held);
            continue;
        }
        text.resize(held + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got <= 0) return;
        end += static_cast<std::uint64_t>(got);
        const auto used = map_.append(text);
        if (used == 0) continue;
        taken_ += used;
        last_ = text.substr(used - std::min(used, kRemembered), std::min(used, kRemembered));
        text.erase(0, used);
    }
    cut_ = file.size > most;
}

}  // namespace perfvigil::analyzer
