// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/opener.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include "analyzer/symbols/regular_file.hpp"
#include "analyzer/symbols/remote_mounts.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::size_t kMaxMounts = 4U << 20;  // of mountinfo

std::string_view without_deleted(std::string_view path) {
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    return path;
}

// One line of /proc/PID/maps: "start-end perms offset major:minor inode   path".
struct MapsLine {
    std::string_view range;
    std::uint64_t inode = 0;
    std::string_view path;
};

std::optional<MapsLine> parse_maps_line(std::string_view line) {
    MapsLine parsed;
    parsed.range = next_piece(line, ' ');
    for (int i = 0; i < 3; ++i) (void)next_piece(line, ' ');
    const auto inode = parse_number<std::uint64_t>(next_piece(line, ' '));
    if (!inode || *inode == 0) return std::nullopt;
    parsed.inode = *inode;
    parsed.path = trim(line);
    return parsed;
}

std::string link_target(const std::string& link) {
    std::array<char, 4096> target{};
    const auto size = ::readlink(link.c_str(), target.data(), target.size());
    return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string{};
}

}  // namespace

// One Dso being looked for, and what stood in the way so far.
class Opener::Search {
public:
    Search(const collector::Dso& dso, Pid pid, const OpenerOptions& options)
        : dso_(dso),
          path_(without_deleted(dso.path)),
          process_(options.roots.proc + '/' + std::to_string(pid.value)),
          remote_(options.remote_file_systems ? RemoteFiles::kAllow : RemoteFiles::kRefuse),
          from_a_process_(pid.value > 0) {}

    // Whether a file of that path is good enough when the Dso has neither build-id nor inode: only where the very
    // process that mapped it sees it there.
    enum class Trust : std::uint8_t { kIdentity, kPath };

    [[nodiscard]] OpenedFileRef in_root(const MountRoots::RootRef& root, Trust trust) {
        return judge(open_regular_in(root, path_, remote_), trust);
    }

    // Through the mapping itself, which outlives the name. Following these links takes CAP_CHECKPOINT_RESTORE.
    [[nodiscard]] OpenedFileRef in_map_files() {
        constexpr std::size_t kMaxMaps = 16U << 20;
        const auto maps = read_file(process_ + "/maps", kMaxMaps);
        std::string_view text = maps ? std::string_view(*maps) : std::string_view{};
        while (!text.empty()) {
            const auto line = parse_maps_line(next_piece(text, '\n'));
            if (!line || without_deleted(line->path) != path_) continue;
            if (dso_.inode != 0 && line->inode != dso_.inode) continue;
            const auto link = process_ + "/map_files/" + std::string(line->range);
            if (auto file = judge(open_regular_at(link, remote_), Trust::kPath)) return file;
            break;  // the other parts of this file share its fate
        }
        const auto exe = process_ + "/exe";
        if (without_deleted(link_target(exe)) != path_) return nullptr;
        return judge(open_regular_at(exe, remote_), Trust::kPath);
    }

    // By the mounts as its process sees them, else as we do; nothing is asked of the file system itself.
    [[nodiscard]] bool is_remote(const std::string& proc) {
        if (remote_ == RemoteFiles::kAllow) return false;
        auto mounts = read_file(process_ + "/mountinfo", kMaxMounts);
        if (!mounts || mounts->empty()) mounts = read_file(proc + "/self/mountinfo", kMaxMounts);
        if (!mounts || !lies_on_remote_mount(path_, *mounts)) return false;
        error_ = Error{ErrorCode::kUnsupported, 0, path_ + ": on a network or FUSE file system, which is not touched"};
        return true;
    }

    [[nodiscard]] bool wants_identity() const { return !dso_.build_id.empty() || dso_.inode != 0; }

    // The most telling of the failures.
    [[nodiscard]] Error error() && {
        if (mismatched_) return Error{ErrorCode::kInvalid, 0, path_ + ": another file than the one that was mapped"};
        return error_.value_or(Error{ErrorCode::kNotFound, 0, path_ + ": no process is left to open it through"});
    }

private:
    OpenedFileRef judge(Result<OpenedFileRef> file, Trust trust) {
        if (!file) {
            // "Not found" in one root says nothing; a refusal does.
            if (!error_ || error_->code == ErrorCode::kNotFound) error_ = std::move(file.error());
            return nullptr;
        }
        if (is_it(**file, trust)) return *file;
        // In the root of some other container another file of that name is no news.
        mismatched_ = mismatched_ || trust == Trust::kPath || !from_a_process_;
        return nullptr;
    }

    [[nodiscard]] bool is_it(const OpenedFile& file, Trust trust) const {
        if (!dso_.build_id.empty()) return file.build_id == dso_.build_id;
        if (dso_.inode == 0) return trust == Trust::kPath;
        return file.inode == dso_.inode && (file.device_is_nominal || file.device == makedev(dso_.major, dso_.minor));
    }

    const collector::Dso& dso_;
    std::string path_;
    std::string process_;
    RemoteFiles remote_;
    bool from_a_process_;
    bool mismatched_ = false;
    std::optional<Error> error_;
};

Opener::Opener(OpenerOptions options, const Clock& clock)
    : options_(std::move(options)), roots_(options_.roots, clock) {}

Result<OpenedFileRef> Opener::open_dso(const collector::Dso& dso, Pid pid) {
    if (dso.kind != collector::DsoKind::kFile || !dso.path.starts_with('/')) {
        return fail(ErrorCode::kNotFound, dso.path + ": no file stands behind it");
    }
    Search search(dso, pid, options_);
    OpenedFileRef file;
    const bool remote = search.is_remote(options_.roots.proc);
    if (auto own = remote ? nullptr : roots_.of_process(pid)) {
        file = search.in_root(own, Search::Trust::kPath);
        counters_.own_root += file != nullptr ? 1 : 0;
        if (file == nullptr) {
            file = search.in_map_files();
            counters_.map_files += file != nullptr ? 1 : 0;
        }
    }
    if (file == nullptr && !remote && search.wants_identity()) file = find(search);
    if (file != nullptr) return file;

    auto error = std::move(search).error();
    if (error.code == ErrorCode::kInvalid)
        ++counters_.mismatched;
    else if (error.code == ErrorCode::kUnsupported)
        ++counters_.remote;
    else
        ++counters_.not_found;
    return fail(std::move(error));
}

OpenedFileRef Opener::find(Search& search) {
    if (auto file = find_in_roots(search, roots_.kept())) return file;
    if (host_root_ == nullptr) {
        if (auto root = open_file(options_.host_root, O_PATH | O_DIRECTORY)) {
            host_root_ = std::make_shared<const UniqueFd>(std::move(*root));
        }
    }
    if (host_root_ != nullptr) {
        if (auto file = search.in_root(host_root_, Search::Trust::kIdentity)) {
            ++counters_.host_root;
            return file;
        }
    }
    return find_in_roots(search, roots_.scan());
}

OpenedFileRef Opener::find_in_roots(Search& search, const std::vector<MountRoots::RootRef>& roots) {
    for (const auto& root : roots) {
        if (auto file = search.in_root(root, Search::Trust::kIdentity)) {
            roots_.note_used(root);
            ++counters_.other_root;
            return file;
        }
    }
    return nullptr;
}

}  // namespace perfvigil::analyzer
