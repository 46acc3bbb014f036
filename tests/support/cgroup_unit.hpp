// SPDX-License-Identifier: GPL-2.0-or-later
// A cgroup shaped like a systemd service, for programs that tests run in it; removed at the end.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::test {

// Where cgroup2 is mounted; empty: nowhere.
inline std::string cgroup2_mount() {
    const auto mounts = read_file("/proc/self/mountinfo").value();
    for (const auto line : split(mounts, '\n')) {
        if (line.find(" - cgroup2 ") != std::string_view::npos) return std::string(split(line, ' ')[4]);
    }
    return {};
}

// perfvigiltest.slice/load.service
class CgroupUnit {
public:
    explicit CgroupUnit(const std::string& mount)
        : slice_(mount + "/perfvigiltest.slice"), path_(slice_ + "/load.service") {
        made_ = ::mkdir(slice_.c_str(), 0755) == 0 && ::mkdir(path_.c_str(), 0755) == 0;
    }
    CgroupUnit(const CgroupUnit&) = delete;
    CgroupUnit& operator=(const CgroupUnit&) = delete;
    ~CgroupUnit() {
        ::rmdir(path_.c_str());
        ::rmdir(slice_.c_str());
    }

    [[nodiscard]] bool made() const { return made_; }
    [[nodiscard]] bool add(pid_t pid) const {
        const auto fd = open_file(path_ + "/cgroup.procs", O_WRONLY);
        const auto text = std::to_string(pid);
        return fd && write_all(fd->get(), std::as_bytes(std::span(text)));
    }
    [[nodiscard]] double used_seconds() const {
        const auto stat = read_file(path_ + "/cpu.stat").value();
        return std::strtod(stat.c_str() + stat.find("usage_usec") + 10, nullptr) / 1e6;
    }

private:
    std::string slice_;
    std::string path_;
    bool made_ = false;
};

}  // namespace perfvigil::test
