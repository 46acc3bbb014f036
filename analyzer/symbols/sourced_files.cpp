// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/sourced_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "analyzer/symbols/regular_file.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMaxRefusals = 8;
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kDebugInSymfs = "/usr/lib/debug";

// "/.build-id/xx/yyyy"; empty where the id is too short for one.
std::string build_id_path(const BuildId& build_id) {
    const auto hex = build_id.hex();
    return hex.size() < 4 ? std::string() : "/.build-id/" + hex.substr(0, 2) + '/' + hex.substr(2);
}

std::string default_cache() {
    const char* home = std::getenv("HOME");
    return home == nullptr || *home == '\0' ? std::string() : std::string(home) + "/.debug";
}

bool is_own_root(int folder) {
    struct stat here{};
    struct stat root{};
    return ::fstat(folder, &here) == 0 && ::stat("/", &root) == 0 && here.st_dev == root.st_dev &&
           here.st_ino == root.st_ino;
}

OpenedFileRef with_build_id(Result<OpenedFileRef> file, const BuildId& wanted) {
    return file && (*file)->build_id == wanted ? std::move(*file) : nullptr;
}

Result<void> check_folder(const std::string& path, std::string_view option) {
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) return fail(errno_error(errno, path).at(option));
    if (!S_ISDIR(st.st_mode)) return fail(ErrorCode::kInvalid, fmt::format("{}: {}: not a folder", option, path));
    return {};
}

}  // namespace

Result<void> check(const SymbolSources& sources) {
    if (sources.symfs) {
        if (auto folder = check_folder(*sources.symfs, "--symfs"); !folder) return folder;
    }
    if (sources.buildid_dir && !sources.buildid_dir->empty()) {
        if (auto folder = check_folder(*sources.buildid_dir, "--buildid-dir"); !folder) return folder;
    }
    for (const auto& url : sources.debuginfod.urls) {
        if (url.starts_with("http://") || url.starts_with("https://")) continue;
        return fail(ErrorCode::kInvalid, fmt::format("--debuginfod: {}: not the URL of a server (https://…)", url));
    }
    if (sources.kallsyms && ::access(sources.kallsyms->c_str(), R_OK) != 0) {
        return fail(errno_error(errno, *sources.kallsyms).at("--kallsyms"));
    }
    if (sources.vmlinux && ::access(sources.vmlinux->c_str(), R_OK) != 0) {
        return fail(errno_error(errno, *sources.vmlinux).at("--vmlinux"));
    }
    return {};
}

SourcedFiles::SourcedFiles(SymbolSources sources)
    : sources_(std::move(sources)), cache_(sources_.buildid_dir.value_or(default_cache())) {
    if (!sources_.symfs) return;
    auto folder = open_file(*sources_.symfs, O_PATH | O_DIRECTORY);
    if (!folder) return;  // check() says it
    symfs_ = std::make_shared<const UniqueFd>(std::move(*folder));
    symfs_is_own_root_ = is_own_root(symfs_->get());
}

OpenedFileRef SourcedFiles::in_cache(const BuildId& build_id, const char* what) const {
    const auto path = build_id_path(build_id);
    if (cache_.empty() || path.empty()) return nullptr;
    return with_build_id(open_regular_at(cache_ + path + what, RemoteFiles::kAllow), build_id);
}

OpenedFileRef SourcedFiles::file_of(const collector::Dso& wanted) {
    if (auto file = in_cache(wanted.build_id, "/elf")) return file;
    if (auto file = in_cache(wanted.build_id, "")) return file;  // as perf before 4.12 linked it
    return in_symfs(wanted);
}

OpenedFileRef SourcedFiles::in_symfs(const collector::Dso& wanted) {
    if (symfs_ == nullptr || !wanted.path.starts_with('/')) return nullptr;
    std::string path = wanted.path;
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    auto file = open_regular_in(symfs_, path, RemoteFiles::kAllow);
    if (!file) return nullptr;
    const BuildId& found = (*file)->build_id;
    if (wanted.build_id.empty() ? !symfs_is_own_root_ : found == wanted.build_id) return *file;
    if (wanted.build_id.empty()) return nullptr;
    refuse(fmt::format("{}{} was not used: its build-id is {}, that of the recorded file is {}.", *sources_.symfs,
                       escape(path), found.empty() ? "none" : found.hex(), wanted.build_id.hex()));
    return nullptr;
}

void SourcedFiles::note_debug_alone(const std::string& path) {
    refuse(
        fmt::format("{}: its separate debug file is here, but does not say where in the missing file its code lay (its "
                    "program headers were rewritten, as objcopy does): give the file itself too.",
                    escape(path)));
}

void SourcedFiles::refuse(std::string sentence) {
    if (refused_.size() < kMaxRefusals)
        refused_.push_back(std::move(sentence));
    else
        ++refused_more_;
}

OpenedFileRef SourcedFiles::debug_file_of(const BuildId& build_id) {
    const auto path = build_id_path(build_id);
    if (path.empty()) return nullptr;
    if (auto file = in_cache(build_id, "/debug")) return file;
    const auto name = path + ".debug";
    if (symfs_ != nullptr) {
        const auto inside = std::string(kDebugInSymfs) + name;
        if (auto file = with_build_id(open_regular_in(symfs_, inside, RemoteFiles::kAllow), build_id)) return file;
    }
    for (const auto& folder : sources_.debug_dirs) {
        if (auto file = with_build_id(open_regular_at(folder + name, RemoteFiles::kRefuse), build_id)) return file;
    }
    return nullptr;
}

std::vector<OpenedFileRef> SourcedFiles::in_folders(const std::string& path) const {
    std::vector<OpenedFileRef> found;
    if (symfs_) {
        if (auto file = open_regular_in(symfs_, path, RemoteFiles::kAllow)) found.push_back(std::move(*file));
    }
    if (auto file = open_regular_at(path, RemoteFiles::kRefuse)) found.push_back(std::move(*file));
    return found;
}

std::vector<OpenedFileRef> SourcedFiles::module_files(const collector::KernelModule& module) const {
    std::vector<OpenedFileRef> found;
    const auto cached = build_id_path(module.build_id);
    if (!cache_.empty() && !cached.empty()) {
        for (const auto* name : {"/elf", ""}) {
            if (auto file = open_regular_at(cache_ + cached + name, RemoteFiles::kAllow)) found.push_back(*file);
        }
    }
    if (!module.path.starts_with('/')) return found;
    // The host that is analyzed on may keep the same file compressed in another way.
    auto plain = module.path;
    if (const auto ending = plain.rfind(".ko"); ending != std::string::npos) plain.resize(ending + 3);
    for (const auto* ending : {"", ".xz", ".zst", ".gz"}) {
        for (auto& file : in_folders(plain + ending)) found.push_back(std::move(file));
    }
    return found;
}

std::vector<OpenedFileRef> SourcedFiles::module_debug_files(const collector::KernelModule& module) const {
    std::vector<OpenedFileRef> found;
    const auto by_id = build_id_path(module.build_id);
    if (by_id.empty()) return found;
    if (!cache_.empty()) {
        if (auto file = open_regular_at(cache_ + by_id + "/debug", RemoteFiles::kAllow)) found.push_back(*file);
    }
    std::vector<std::string> names{by_id + ".debug"};
    if (const auto ending = module.path.rfind(".ko"); module.path.starts_with('/') && ending != std::string::npos) {
        const auto plain = module.path.substr(0, ending + 3);
        names.push_back(plain);             // Debian: linux-image-…-dbg
        names.push_back(plain + ".debug");  // Fedora: kernel-debuginfo
    }
    for (const auto& folder : sources_.debug_dirs) {
        for (const auto& name : names) {
            for (auto& file : in_folders(folder + name)) found.push_back(std::move(file));
        }
    }
    return found;
}

OpenedFileRef SourcedFiles::vmlinux_of(const BuildId& kernel, const std::string& release) const {
    const auto path = build_id_path(kernel);
    if (path.empty()) return nullptr;
    for (const auto* name : {"/vmlinux", "/elf", "/debug"}) {
        if (auto file = in_cache(kernel, name)) return file;
    }
    std::vector<std::string> places;
    for (const auto& folder : sources_.debug_dirs) {
        places.push_back(folder + path + ".debug");
        if (release.empty() || release.contains('/')) continue;
        places.push_back(folder + "/boot/vmlinux-" + release);
        places.push_back(folder + "/lib/modules/" + release + "/vmlinux");
    }
    if (!release.empty() && !release.contains('/')) {
        places.push_back("/boot/vmlinux-" + release);
        places.push_back("/lib/modules/" + release + "/build/vmlinux");
    }
    for (const auto& place : places) {
        for (auto& file : in_folders(place)) {
            if (file->build_id == kernel) return file;
        }
    }
    return nullptr;
}

std::optional<std::string> SourcedFiles::kallsyms_of(const BuildId& kernel) const {
    const auto path = build_id_path(kernel);
    if (cache_.empty() || path.empty()) return std::nullopt;
    auto kallsyms = cache_ + path + "/kallsyms";
    struct stat st{};
    if (::stat(kallsyms.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
    return kallsyms;
}

std::vector<std::string> SourcedFiles::refusals() const {
    auto all = refused_;
    if (refused_more_ > 0) {
        all.push_back(fmt::format("{} more files were not used, for reasons like these.", refused_more_));
    }
    return all;
}

}  // namespace perfvigil::analyzer
