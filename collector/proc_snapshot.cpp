// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/proc_snapshot.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kChunk = 64U << 10;
constexpr std::size_t kMaxMappings = 16384;  // per process, as ProcessLimits

UniqueFd open_at(int folder, const char* name, int flags) {
    return UniqueFd(::openat(folder, name, flags | O_RDONLY | O_CLOEXEC));
}

// Calls `visit(number)` for every entry whose name is a number.
template <class Visit>
bool for_each_number(UniqueFd folder, Visit&& visit) {
    if (!folder) return false;
    const auto close = [](DIR* dir) { ::closedir(dir); };
    const std::unique_ptr<DIR, decltype(close)> dir(::fdopendir(folder.get()), close);
    if (!dir) return false;
    (void)folder.release();  // closedir closes it
    while (const dirent* entry = ::readdir(dir.get())) {
        if (const auto number = parse_number<std::int32_t>(entry->d_name)) visit(*number);
    }
    return true;
}

// nullopt: the task has ended. A name may be empty.
std::optional<std::string_view> read_comm(int folder, const char* name, std::array<char, 64>& storage) {
    const UniqueFd file = open_at(folder, name, 0);
    const auto got = file ? ::read(file.get(), storage.data(), storage.size()) : -1;
    if (got <= 0) return std::nullopt;
    std::string_view comm(storage.data(), static_cast<std::size_t>(got));
    if (comm.back() == '\n') comm.remove_suffix(1);
    return task_comm(comm);
}

// "\012" and its like; only newlines and backslashes are written that way (seq_path, "\n\\").
void unescape_octal(std::string_view text, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octal = text[i] == '\\' && i + 3 < text.size() ? parse_number<std::uint8_t>(text.substr(i + 1, 3), 8)
                                                                  : std::nullopt;
        if (octal) i += 3;
        out += octal ? static_cast<char>(*octal) : text[i];
    }
}

}  // namespace

std::string_view task_comm(std::string_view proc_comm) {
    // fs/proc/array.c, proc_task_name(): "-work" or "+work" behind a worker's name. Rescuers keep theirs.
    if (proc_comm.starts_with("kworker/") && !proc_comm.starts_with("kworker/R-")) {
        proc_comm = proc_comm.substr(0, proc_comm.find_first_of("-+"));
    }
    return proc_comm.substr(0, 15);
}

bool parse_maps_line(std::string_view line, ProcMapping& mapping, std::string& path_storage) {
    // 00400000-0040b000 r-xp 00002000 fe:01 1234      /usr/bin/cat
    std::string_view range = next_piece(line, ' ');
    const auto start = parse_number<std::uint64_t>(next_piece(range, '-'), 16);
    const auto end = parse_number<std::uint64_t>(range, 16);
    const std::string_view rights = next_piece(line, ' ');
    const auto offset = parse_number<std::uint64_t>(next_piece(line, ' '), 16);
    std::string_view device = next_piece(line, ' ');
    const auto major = parse_number<std::uint32_t>(next_piece(device, ':'), 16);
    const auto minor = parse_number<std::uint32_t>(device, 16);
    const auto inode = parse_number<std::uint64_t>(next_piece(line, ' '));
    if (!start || !end || *end <= *start || rights.size() != 4 || !offset || !major || !minor || !inode) return false;

    const auto path_start = line.find_first_not_of(' ');
    std::string_view path = path_start == std::string_view::npos ? std::string_view{} : line.substr(path_start);
    if (path.empty() || path.starts_with("[anon:")) {
        path = "//anon";
    } else if (path.contains('\\')) {
        unescape_octal(path, path_storage);
        path = path_storage;
    }
    mapping.start = *start;
    mapping.end = *end;
    mapping.page_offset = *offset;
    mapping.protection = (rights[0] == 'r' ? PROT_READ : 0U) | (rights[1] == 'w' ? PROT_WRITE : 0U) |
                         (rights[2] == 'x' ? PROT_EXEC : 0U);
    mapping.map_flags = rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    mapping.major = *major;
    mapping.minor = *minor;
    mapping.inode = *inode;
    mapping.path = path;
    return true;
}

ProcSnapshot::ProcSnapshot(std::string proc_root, std::vector<Pid> pids, ProcMaps maps)
    : root_(std::move(proc_root)), pids_(std::move(pids)), maps_(maps) {
    if (pids_.empty()) {
        for_each_number(UniqueFd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                        [this](std::int32_t pid) { pids_.push_back(Pid{pid}); });
    }
    buffer_.resize(kChunk);
}

bool ProcSnapshot::read_until(const Clock& clock, MonotonicTime deadline, ProcVisitor& visitor) {
    while (!done()) {
        read_process(pids_[next_], visitor);
        ++next_;
        if (clock.monotonic() >= deadline) break;
    }
    return done();
}

void ProcSnapshot::read_process(Pid pid, ProcVisitor& visitor) {
    // Everything is read below this handle: a pid that is used again meanwhile gives ESRCH, not another process.
    const UniqueFd folder(::open(fmt::format("{}/{}", root_, pid.value).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return;
    visitor.on_process(pid);
    std::array<char, 64> storage{};
    const auto comm = read_comm(folder.get(), "comm", storage);
    const auto parent = read_parent(folder.get());
    if (!comm || !parent) return;
    visitor.on_parent(pid, *parent);
    visitor.on_comm(pid, Tid{pid.value}, *comm);
    read_threads(folder.get(), pid, visitor);
    read_mappings(folder.get(), pid, visitor);
}

// proc(5): "pid (comm) state ppid …", and the name may hold anything.
std::optional<Pid> ProcSnapshot::read_parent(int folder) {
    const UniqueFd file = open_at(folder, "stat", 0);
    const auto got = file ? ::read(file.get(), buffer_.data(), buffer_.size()) : -1;
    if (got <= 0) return std::nullopt;
    std::string_view rest(buffer_.data(), static_cast<std::size_t>(got));
    rest.remove_prefix(std::min(rest.size(), rest.rfind(')')));
    (void)next_piece(rest, ' ');
    (void)next_piece(rest, ' ');
    const auto parent = parse_number<std::int32_t>(next_piece(rest, ' '));
    return parent ? std::optional(Pid{*parent}) : std::nullopt;
}

void ProcSnapshot::read_threads(int folder, Pid pid, ProcVisitor& visitor) {
    for_each_number(open_at(folder, "task", O_DIRECTORY), [&](std::int32_t tid) {
        if (tid == pid.value) return;
        std::array<char, 64> storage{};
        const auto comm = read_comm(folder, fmt::format("task/{}/comm", tid).c_str(), storage);
        if (comm) visitor.on_comm(pid, Tid{tid}, *comm);
    });
}

bool ProcSnapshot::wants(const ProcMapping& mapping) const {
    return (mapping.protection & PROT_EXEC) != 0 || (maps_ == ProcMaps::kFiles && mapping.inode != 0);
}

void ProcSnapshot::read_mappings(int folder, Pid pid, ProcVisitor& visitor) {
    const UniqueFd maps = open_at(folder, "maps", 0);
    if (!maps) {
        if (errno == EACCES || errno == EPERM) ++unreadable_;
        return;
    }
    std::string path_storage;
    std::size_t held = 0;  // an unfinished line at the front of the buffer
    std::size_t mappings = 0;
    for (;;) {
        const auto got = ::read(maps.get(), buffer_.data() + held, buffer_.size() - held);
        if (got < 0 && (errno == EACCES || errno == EPERM)) ++unreadable_;
        if (got <= 0) return;
        std::string_view text(buffer_.data(), held + static_cast<std::size_t>(got));
        for (auto newline = text.find('\n'); newline != std::string_view::npos; newline = text.find('\n')) {
            ProcMapping mapping;
            if (parse_maps_line(text.substr(0, newline), mapping, path_storage) && wants(mapping) &&
                mappings < kMaxMappings) {
                visitor.on_mapping(pid, mapping);
                ++mappings;
            }
            text.remove_prefix(newline + 1);
        }
        held = text.size();
        if (held == buffer_.size()) return;  // a line longer than any path: not a maps file
        std::copy(text.begin(), text.end(), buffer_.begin());
    }
}

}  // namespace perfvigil::collector
