// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/perf_map_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "analyzer/symbols/regular_file.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {

Pid innermost_pid(std::string_view status, Pid outer) {
    while (!status.empty()) {
        auto line = next_piece(status, '\n');
        if (next_piece(line, ':') != "NSpid") continue;
        line = trim(line);
        return Pid{parse_number<std::int32_t>(line.substr(line.find_last_of(" \t") + 1)).value_or(outer.value)};
    }
    return outer;
}

Result<OpenedFileRef> open_perf_map(Pid pid, const std::string& proc) {
    const auto process = fmt::format("{}/{}", proc, pid.value);
    struct stat of_process{};
    if (::stat(process.c_str(), &of_process) != 0) return fail_errno(errno, process);
    auto root = open_file(process + "/root", O_PATH | O_DIRECTORY);
    if (!root) return fail(std::move(root.error()));
    const auto status = read_file(process + "/status", 64U << 10);
    const auto inner = innermost_pid(status ? std::string_view(*status) : std::string_view{}, pid);
    auto file = open_regular_in(root->get(), fmt::format("/tmp/perf-{}.map", inner.value), RemoteFiles::kRefuse);
    if (!file) return file;
    struct stat of_map{};
    if (::fstat((*file)->fd.get(), &of_map) != 0) return fail_errno(errno, "perf map");
    if (of_map.st_uid != 0 && of_map.st_uid != of_process.st_uid) {
        return fail(ErrorCode::kPermission,
                    fmt::format("/tmp/perf-{}.map: is neither its process's nor root's", inner.value));
    }
    return file;
}

}  // namespace perfvigil::analyzer
