// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "daemon/metrics.hpp"

namespace perfvigil::daemon {
namespace {

double seconds_of(const timeval& time) {
    constexpr double kMicrosPerSecond = 1e6;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicrosPerSecond;
}

std::string content_of(const char* path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

// Fields of /proc/self/stat from the third on, proc(5); the second holds a name with any character in it.
struct StatFields {
    std::vector<std::string> fields;
    [[nodiscard]] std::uint64_t at(std::size_t number) const {
        constexpr std::size_t kFirst = 3;
        return number - kFirst < fields.size() ? parse_number<std::uint64_t>(fields[number - kFirst]).value_or(0) : 0;
    }
};
StatFields read_stat() {
    const std::string text = content_of("/proc/self/stat");
    StatFields stat;
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return stat;
    std::istringstream in(text.substr(name_end + 1));
    for (std::string field; in >> field;) stat.fields.push_back(std::move(field));
    return stat;
}

// Unix time of the boot; 0 where unknown. /proc/stat is long on large hosts, so it is read once.
double boot_time() {
    static const double time = [] {
        std::ifstream file("/proc/stat");
        for (std::string word; file >> word;) {
            double value = 0;
            if (word == "btime" && file >> value) return value;
        }
        return 0.0;
    }();
    return time;
}

std::uint64_t count_fds() {
    std::error_code error;
    std::uint64_t count = 0;
    for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
         at.increment(error)) {
        ++count;
    }
    return count > 0 ? count - 1 : 0;  // one is the listing's own
}

}  // namespace

ProcessNumbers read_process_numbers() {
    // Field numbers of proc(5).
    constexpr std::size_t kThreads = 20;
    constexpr std::size_t kStartTime = 22;
    constexpr std::size_t kVirtualSize = 23;
    constexpr std::size_t kResidentPages = 24;

    const StatFields stat = read_stat();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);

    ProcessNumbers numbers;
    numbers.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    numbers.resident_bytes = stat.at(kResidentPages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    numbers.virtual_bytes = stat.at(kVirtualSize);
    numbers.open_fds = count_fds();
    numbers.max_fds = files.rlim_cur;
    numbers.threads = stat.at(kThreads);
    const double since_boot = static_cast<double>(stat.at(kStartTime)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    numbers.start_time_seconds = boot_time() + since_boot;
    return numbers;
}

}  // namespace perfvigil::daemon
