// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/jit_dump_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "analyzer/symbols/regular_file.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/proc_snapshot.hpp"

namespace perfvigil::analyzer {

Result<OpenedFileRef> open_jit_dump(Pid pid, const std::string& proc) {
    constexpr std::size_t kMaxMaps = 16U << 20;
    const auto process = fmt::format("{}/{}", proc, pid.value);
    const auto maps = read_file(process + "/maps", kMaxMaps);
    if (!maps) return fail(maps.error());
    std::string_view text = *maps;
    while (!text.empty()) {
        const auto line = next_piece(text, '\n');
        collector::ProcMapping mapping;
        std::string storage;
        if (!line.contains("jit-") || !collector::parse_maps_line(line, mapping, storage)) continue;
        if (!pid_of_jit_marker(mapping.path)) continue;
        const auto is_it = [&](const Result<OpenedFileRef>& file) {
            return file && (*file)->inode == mapping.inode &&
                   ((*file)->device_is_nominal || (*file)->device == makedev(mapping.major, mapping.minor));
        };
        if (auto root = open_file(process + "/root", O_PATH | O_DIRECTORY)) {
            auto file = open_regular_in(root->get(), std::string(mapping.path), RemoteFiles::kRefuse);
            if (is_it(file)) return file;
        }
        const auto link = fmt::format("{}/map_files/{:x}-{:x}", process, mapping.start, mapping.end);
        auto file = open_regular_at(link, RemoteFiles::kRefuse);
        if (is_it(file)) return file;
        return fail(ErrorCode::kNotFound,
                    fmt::format("{}: is mapped, but not to be found any more", escape(mapping.path)));
    }
    return OpenedFileRef{};
}

void JitDumpReading::read_on() {
    // What a dump may cost at a time; a real one of half a million functions takes less.
    constexpr std::size_t kPieces = 1U << 14;
    std::vector<std::byte> piece(JitDump::kPiece);
    for (std::size_t i = 0; i < kPieces && !error_; ++i) {
        const auto got = ::pread(file_->fd.get(), piece.data(), piece.size(), static_cast<off_t>(dump_.next_offset()));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        const bool fresh = !dump_.started();
        auto more = dump_.append(Bytes(piece).first(static_cast<std::size_t>(got)));
        if (!more) {
            error_ = std::move(more.error());
        } else if (fresh && dump_.started() && marker_ && dump_.pid() != static_cast<std::uint32_t>(marker_->value)) {
            error_ = Error{ErrorCode::kInvalid, 0,
                           fmt::format("says that it is of process {}, its name says {}", dump_.pid(), marker_->value)};
            dump_ = JitDump{};  // nothing of it is of this process
        }
        if (!more || !*more) return;
    }
}

}  // namespace perfvigil::analyzer
