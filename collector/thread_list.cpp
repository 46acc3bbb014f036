// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/thread_list.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr int kMaxWalks = 16;  // a process that forks threads faster than this is recorded as it stands then

Result<std::vector<TargetThread>> walk(const std::string& proc_root, Pid pid) {
    std::vector<TargetThread> threads;
    std::error_code error;
    const std::string folder = fmt::format("{}/{}/task", proc_root, pid.value);
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (const auto tid = parse_number<std::int32_t>(entry->path().filename().native())) {
            threads.push_back({pid, Tid{*tid}});
        }
    }
    if (error || threads.empty()) {
        return fail(ErrorCode::kNotFound, fmt::format("process {} does not exist", pid.value));
    }
    std::ranges::sort(threads, {}, &TargetThread::tid);
    return threads;
}

Result<std::vector<TargetThread>> walk_until_stable(const std::string& proc_root, Pid pid) {
    auto last = walk(proc_root, pid);
    for (int i = 0; last && i < kMaxWalks; ++i) {
        auto again = walk(proc_root, pid);
        if (!again || *again == *last) return again;
        last = std::move(again);
    }
    return last;
}

// /proc/TID exists for every thread, though it lists leaders only.
Result<TargetThread> find_thread(const std::string& proc_root, Tid tid) {
    const auto status = read_file(fmt::format("{}/{}/status", proc_root, tid.value), 1U << 16);
    if (!status) return fail(ErrorCode::kNotFound, fmt::format("thread {} does not exist", tid.value));
    std::string_view rest = *status;
    while (!rest.empty()) {
        std::string_view line = next_piece(rest, '\n');
        if (!line.starts_with("Tgid:")) continue;
        if (const auto pid = parse_number<std::int32_t>(trim(line.substr(5)))) return TargetThread{Pid{*pid}, tid};
    }
    return fail(ErrorCode::kInvalid, fmt::format("thread {}: its status names no process", tid.value));
}

}  // namespace

Result<std::vector<TargetThread>> list_threads(const std::string& proc_root, const RecordingTarget& target) {
    std::vector<TargetThread> all;
    if (const auto* processes = std::get_if<Processes>(&target)) {
        for (const Pid pid : processes->pids) {
            auto threads = walk_until_stable(proc_root, pid);
            if (!threads) return fail(std::move(threads.error()));
            all.insert(all.end(), threads->begin(), threads->end());
        }
    } else if (const auto* named = std::get_if<Threads>(&target)) {
        for (const Tid tid : named->tids) {
            auto thread = find_thread(proc_root, tid);
            if (!thread) return fail(std::move(thread.error()));
            all.push_back(*thread);
        }
    }
    std::ranges::sort(all, {}, &TargetThread::tid);
    const auto doubles = std::ranges::unique(all);
    all.erase(doubles.begin(), doubles.end());
    return all;
}

}  // namespace perfvigil::collector
