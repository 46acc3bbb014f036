// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/packages.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/symbols/regular_file.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";
constexpr const char* kDpkgLists = "/var/lib/dpkg/info";
constexpr const char* kApkInstalled = "/lib/apk/db/installed";
constexpr std::array kRpmDatabases{"/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite"};
// Berkeley DB (RHEL 8, Amazon Linux 2), ndb (SUSE).
constexpr std::array kOtherRpmDatabases{"/var/lib/rpm/Packages", "/var/lib/rpm/Packages.db",
                                        "/usr/lib/sysimage/rpm/Packages", "/usr/lib/sysimage/rpm/Packages.db"};
constexpr std::size_t kMaxName = 128;

std::uint64_t hash_of(std::string_view path) {
    // FNV-1a, then mixed; std::hash may differ between two builds, which does not matter here, but may be weak too.
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash ^= hash >> 32U;
    return hash * 0x9e3779b97f4a7c15U;
}

// What nobody executes, and most files are.
bool is_data(std::string_view path) {
    static constexpr std::array<std::string_view, 6> kFolders{"/usr/share/",       "/usr/include/", "/etc/",
                                                              "/usr/lib/modules/", "/usr/src/",     "/lib/modules/"};
    return std::ranges::any_of(kFolders, [&](std::string_view folder) { return path.starts_with(folder); });
}

std::string label(std::string_view text) { return escape(text.substr(0, kMaxName)); }

std::optional<std::string> read_in(int root, const std::string& path, std::size_t limit) {
    const auto file = open_regular_in(root, path, RemoteFiles::kRefuse);
    if (!file || (*file)->size > limit) return std::nullopt;
    auto text = read_fd((*file)->fd.get(), limit);
    return text ? std::optional(std::move(*text)) : std::nullopt;
}

// Names of the regular entries of a folder inside the root that end in `suffix`, at most `most`.
std::vector<std::string> names_in(int root, const char* folder, std::string_view suffix, std::size_t most) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const auto fd = ::syscall(SYS_openat2, root, folder, &how, sizeof(how));
    std::vector<std::string> names;
    if (fd < 0) return names;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(static_cast<int>(fd)), ::closedir);
    if (entries == nullptr) {
        ::close(static_cast<int>(fd));
        return names;
    }
    std::size_t seen = 0;
    while (const dirent* entry = ::readdir(entries.get())) {
        if (++seen > 16 * most || names.size() >= most) break;
        const std::string_view name(entry->d_name);
        if (name.ends_with(suffix)) names.emplace_back(name);
    }
    return names;
}

// "Key: value" of a paragraph's line.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ':') return std::nullopt;
    return trim(line.substr(key.size() + 1));
}

}  // namespace

class PackageIndex::Reader {
public:
    Reader(int root, const PackageLimits& limits, PackageIndex& out) : root_(root), limits_(limits), out_(out) {}

    void read_dpkg() {
        const auto status = read_in(root_, kDpkgStatus, limits_.status_bytes);
        if (!status) return;
        boost::unordered_flat_map<std::string, std::uint32_t> numbers;  // by name, and by name:architecture
        std::string_view rest = *status;
        while (!rest.empty() && out_.packages_.size() < limits_.packages) read_paragraph(rest, numbers);
        std::size_t left = limits_.lists_bytes;
        for (const auto& name : names_in(root_, kDpkgLists, ".list", limits_.packages)) {
            const auto package = numbers.find(name.substr(0, name.size() - 5));
            if (package == numbers.end()) continue;
            const auto list = read_in(root_, std::string(kDpkgLists) + '/' + name, std::min(limits_.list_bytes, left));
            if (!list) continue;
            left -= list->size();
            std::string_view lines = *list;
            while (!lines.empty()) own(next_piece(lines, '\n'), package->second);
        }
    }

    void read_apk() {
        if (const auto installed = read_in(root_, kApkInstalled, limits_.status_bytes)) read_listing(*installed);
    }

    // Two places, of which distributions link one to the other.
    void open_rpm() {
        for (const char* path : kRpmDatabases) {
            auto file = open_regular_in(root_, path, RemoteFiles::kRefuse);
            if (!file) continue;
            out_.rpm_database_ = std::move(*file);
            return;
        }
        for (const char* path : kOtherRpmDatabases) {
            if (!open_regular_in(root_, path, RemoteFiles::kRefuse)) continue;
            out_.unread_ = path;
            return;
        }
    }

    // Paragraphs of "P:name", "V:version", then "F:folder" each followed by its "R:file".
    void read_listing(std::string_view rest) {
        const std::size_t before = out_.packages_.size();
        std::string folder;
        while (!rest.empty()) {
            const auto line = next_piece(rest, '\n');
            if (const auto name = value_of(line, "P")) {
                if (out_.packages_.size() >= limits_.packages) return;
                out_.packages_.push_back({.name = label(*name), .version = {}});
            }
            if (out_.packages_.size() == before) continue;
            if (const auto version = value_of(line, "V")) out_.packages_.back().version = label(*version);
            if (const auto path = value_of(line, "F")) folder = '/' + std::string(*path) + '/';
            if (const auto file = value_of(line, "R")) {
                own(folder + std::string(*file), static_cast<std::uint32_t>(out_.packages_.size() - 1));
            }
        }
    }

private:
    void read_paragraph(std::string_view& rest, boost::unordered_flat_map<std::string, std::uint32_t>& numbers) {
        std::string_view name, version, architecture, status;
        while (!rest.empty()) {
            const auto line = next_piece(rest, '\n');
            if (line.empty()) break;
            if (const auto value = value_of(line, "Package")) name = *value;
            if (const auto value = value_of(line, "Version")) version = *value;
            if (const auto value = value_of(line, "Architecture")) architecture = *value;
            if (const auto value = value_of(line, "Status")) status = *value;
        }
        if (name.empty() || version.empty() || !status.ends_with(" installed")) return;
        const auto number = static_cast<std::uint32_t>(out_.packages_.size());
        out_.packages_.push_back({.name = label(name), .version = label(version)});
        numbers.insert_or_assign(std::string(name), number);
        numbers.insert_or_assign(std::string(name) + ':' + std::string(architecture), number);
    }

    void own(std::string_view path, std::uint32_t package) {
        if (path.empty() || path == "/." || is_data(path) || out_.owners_.size() >= limits_.files) return;
        out_.owners_.insert_or_assign(hash_of(path), package);
    }

    int root_;
    const PackageLimits& limits_;
    PackageIndex& out_;
};

PackageIndex::Stamp PackageIndex::stamp_of(int root) {
    Stamp stamp;
    struct stat st{};
    if (::fstat(root, &st) == 0) {
        stamp.device = st.st_dev;
        stamp.inode = st.st_ino;
    }
    const auto look = [&](const char* database) {
        const auto file = open_regular_in(root, database, RemoteFiles::kRefuse);
        if (file) stamp.changed = std::max(stamp.changed, (*file)->modified);
    };
    for (const char* database : {kDpkgStatus, kApkInstalled}) look(database);
    for (const char* database : kRpmDatabases) look(database);
    for (const char* database : kOtherRpmDatabases) look(database);
    return stamp;
}

PackageIndex PackageIndex::read(int root, const PackageLimits& limits) {
    PackageIndex index;
    index.stamp_ = stamp_of(root);
    if (index.stamp_.changed == WallTime{}) return index;
    Reader reader(root, limits, index);
    reader.read_dpkg();
    reader.read_apk();
    reader.open_rpm();
    return index;
}

void PackageIndex::add_rpm(std::string_view text, const PackageLimits& limits) {
    Reader(-1, limits, *this).read_listing(text);
}

const Package* PackageIndex::find(std::string_view path) const {
    const auto found = owners_.find(hash_of(path));
    return found == owners_.end() ? nullptr : &packages_[found->second];
}

std::optional<Package> PackageIndex::owner_of(std::string_view path) const {
    const Package* package = find(path);
    // Merged /usr: the process sees /usr/bin/x, the list may say /bin/x; and the other way round.
    if (package == nullptr && path.starts_with("/usr/")) package = find(path.substr(4));
    if (package == nullptr) package = find("/usr" + std::string(path));
    return package == nullptr ? std::nullopt : std::optional(*package);
}

}  // namespace perfvigil::analyzer
