// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/remote_mounts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// As proc(5) writes them: space, tab, line break and backslash as three octal digits.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digits = text.substr(i + 1, 3);
        const bool octal = text[i] == '\\' && digits.size() == 3 &&
                           std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
        if (!octal) {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
        i += 3;
    }
    return plain;
}

struct Mount {
    std::string point;
    std::string_view type;
};

// "36 35 98:0 /root /point options fields… - type source options"
std::optional<Mount> parse(std::string_view line) {
    for (int i = 0; i < 4; ++i) (void)next_piece(line, ' ');
    Mount mount{.point = unescaped(next_piece(line, ' ')), .type = {}};
    const auto separator = line.find(" - ");
    if (mount.point.empty() || separator == std::string_view::npos) return std::nullopt;
    line.remove_prefix(separator + 3);
    mount.type = next_piece(line, ' ');
    return mount;
}

bool holds(std::string_view point, std::string_view path) {
    if (point == "/") return path.starts_with('/');
    return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

bool is_remote_type(std::string_view type) {
    constexpr std::array<std::string_view, 17> kRemote{"nfs",    "nfs4",   "cifs",    "smb3",  "smbfs",   "fuse",
                                                       "ceph",   "afs",    "9p",      "coda",  "autofs",  "gfs2",
                                                       "lustre", "vboxsf", "fuseblk", "ocfs2", "virtiofs"};
    return type.starts_with("fuse.") || std::ranges::find(kRemote, type) != kRemote.end();
}

bool lies_on_remote_mount(std::string_view path, std::string_view mountinfo) {
    std::size_t longest = 0;
    bool remote = false;
    while (!mountinfo.empty()) {
        const auto mount = parse(next_piece(mountinfo, '\n'));
        // The later one of two at the same point lies on top.
        if (!mount || mount->point.size() < longest || !holds(mount->point, path)) continue;
        longest = mount->point.size();
        remote = is_remote_type(mount->type);
    }
    return remote;
}

}  // namespace perfvigil::analyzer
