// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/frozen_captures.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <boost/json.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"
#include "daemon/frozen_json.hpp"
#include "daemon/log.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReason = "freeze.json";
constexpr std::size_t kMaxReason = 1U << 20;
constexpr std::size_t kLongestId = 80;
// Folders of freezes at a time, whatever they hold: each is looked at whenever one of them changes.
constexpr std::size_t kMostFrozen = 1000;

std::vector<Frozen::File> files_of(const std::string& folder) {
    std::vector<Frozen::File> files;
    std::error_code error;
    for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
        const std::string name = i->path().filename();
        std::error_code ignored;
        const auto size = i->file_size(ignored);
        if (!ignored && !name.starts_with(kReason)) files.push_back({name, size});
    }
    std::ranges::sort(files, {}, &Frozen::File::name);
    return files;
}

bool overlaps(const CaptureFileInfo& file, const FreezeOrder& order) {
    // What is being written has no end yet.
    return file.begun <= order.to && (file.written >= order.from || is_partial_capture(file.path));
}

}  // namespace

std::uint64_t Frozen::bytes() const {
    return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const File& file) { return sum + file.bytes; });
}

bool is_frozen_id(std::string_view id) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return id.size() <= kLongestId && time_in_name(id) && std::ranges::all_of(id, plain);
}

std::string frozen_folder(const std::string& captures_directory) { return captures_directory + "/frozen"; }

FrozenCaptures::FrozenCaptures(std::string captures_directory)
    : captures_directory_(std::move(captures_directory)), directory_(frozen_folder(captures_directory_)) {}

void FrozenCaptures::open() {
    frozen_.clear();
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator i(directory_, error), end; !error && i != end; i.increment(error)) {
        if (is_frozen_id(i->path().filename().string())) names.push_back(i->path().filename());
    }
    std::ranges::sort(names);
    for (const auto& name : names) {
        const auto text = read_file(folder_of(name) + "/" + std::string(kReason), kMaxReason);
        auto frozen = text ? parse_frozen(*text) : Result<Frozen>(fail(text.error()));
        if (frozen) {
            frozen->id = name;  // it is found by that
            frozen_.push_back(std::move(*frozen));
        } else if (frozen.error().code == ErrorCode::kNotFound) {
            std::error_code ignored;
            fs::remove_all(folder_of(name), ignored);
        } else {
            log::warning("frozen captures without a readable reason are left alone",
                         {{"folder", folder_of(name)}, {"why", frozen.error().message}});
        }
    }
    on_file_ended();
}

// What lies in the folders now, and its bytes: a file that several of them name counts once.
void FrozenCaptures::refresh() {
    std::map<std::uint64_t, std::uint64_t> bytes_of;
    for (auto& frozen : frozen_) {
        frozen.files = files_of(folder_of(frozen.id));
        for (const auto& file : list_captures(folder_of(frozen.id))) bytes_of[file.inode] = file.bytes;
    }
    bytes_ = 0;
    for (const auto& [inode, bytes] : bytes_of) bytes_ += bytes;
    list_.set(frozen_);
}

// For so many bytes more; `spare` stays.
bool FrozenCaptures::make_room(std::uint64_t incoming, std::string_view spare) {
    while (bytes_ + incoming > budget_ || frozen_.size() >= kMostFrozen) {
        const auto oldest = std::ranges::find_if(
            frozen_, [&](const Frozen& one) { return !one.order.rule.empty() && one.id != spare; });
        if (oldest == frozen_.end()) return false;
        const auto id = oldest->id;
        log::info("frozen captures make room for newer ones", {{"id", id}, {"bytes", oldest->bytes()}});
        if (auto thawed = thaw(id); !thawed) return false;
    }
    return true;
}

std::string FrozenCaptures::unique_id(const FreezeOrder& order) const {
    const auto id = compact_time(order.to) + (order.rule.empty() ? "" : "-" + order.rule);
    auto candidate = id;
    std::error_code ignored;
    for (int n = 2; fs::exists(folder_of(candidate), ignored); ++n) candidate = id + "-" + std::to_string(n);
    return candidate;
}

Result<Frozen> FrozenCaptures::freeze(const FreezeOrder& order) {
    auto captures = list_captures(captures_directory_);
    std::erase_if(captures, [&](const auto& file) { return !overlaps(file, order); });
    if (captures.empty()) {
        return fail(ErrorCode::kNotFound,
                    "no capture of that time is there: captures may be paused by the budget, or "
                    "captures.bytes and captures.keep hold less than was asked for");
    }
    std::uint64_t incoming = 0;
    for (const auto& file : captures) incoming += file.names == 1 ? file.bytes : 0;
    if (!make_room(incoming, {})) {
        return fail(ErrorCode::kExhausted,
                    human_bytes(bytes_) + " are frozen and " + human_bytes(incoming) +
                        " more would exceed captures.frozen; perfvigil thaw ID gives up what is no longer needed");
    }
    Frozen frozen{.id = unique_id(order), .order = order};
    frozen.order.from = std::max(order.from, captures.front().begun);  // before that there is nothing
    const auto folder = folder_of(frozen.id);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return fail_errno(error.value(), folder);
    Result<void> done;
    for (const auto& file : captures) {
        const auto name = folder + "/" + std::string(base_name(file.path));
        if (done && ::link(file.path.c_str(), name.c_str()) != 0 && errno != ENOENT) done = fail_errno(errno, name);
    }
    if (done) done = write_reason(frozen);
    if (!done) {
        fs::remove_all(folder, error);
        return fail(std::move(done.error()));
    }
    frozen_.push_back(std::move(frozen));
    refresh();
    return frozen_.back();
}

Result<void> FrozenCaptures::write_reason(const Frozen& frozen) const {
    auto object = frozen_json(frozen);
    object.erase(protocol::field::kFiles);
    object.erase(protocol::field::kBytes);
    const auto text = boost::json::serialize(object) + "\n";
    const auto path = folder_of(frozen.id) + "/" + std::string(kReason);
    const auto temporary = path + ".partial";
    const auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (!fd) return fail(fd.error());
    if (auto written = write_all(fd->get(), std::as_bytes(std::span(text))); !written) return written;
    if (::fdatasync(fd->get()) != 0) return fail_errno(errno, temporary);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
    for (const auto& folder : {folder_of(frozen.id), directory_, captures_directory_}) {
        const auto opened = open_file(folder, O_RDONLY | O_DIRECTORY);
        if (!opened) return fail(opened.error());
        if (::fsync(opened->get()) != 0) return fail_errno(errno, folder);
    }
    return {};
}

Result<void> FrozenCaptures::thaw(const std::string& id) {
    const auto found = std::ranges::find(frozen_, id, &Frozen::id);
    if (found == frozen_.end()) return fail(ErrorCode::kNotFound, "nothing is frozen under the id " + escape(id));
    std::error_code error;
    // First the reason: a folder without it is not a freeze.
    fs::remove(folder_of(id) + "/" + std::string(kReason), error);
    if (!error) fs::remove_all(folder_of(id), error);
    if (error) return fail_errno(error.value(), folder_of(id));
    frozen_.erase(found);
    refresh();
    return {};
}

void FrozenCaptures::note_capture(const std::string& id, const std::string& what) {
    const auto found = std::ranges::find(frozen_, id, &Frozen::id);
    if (found == frozen_.end()) return;
    found->captured = what;
    if (auto written = write_reason(*found); !written) {
        log::warning("what a rule captured is not noted", {{"id", id}, {"why", written.error().message}});
    }
    refresh();
    (void)make_room(0, id);
}

// The names in freezes follow those in the rotation's folder.
void FrozenCaptures::on_file_ended() {
    std::map<std::uint64_t, std::string> whole;
    for (const auto& file : list_captures(captures_directory_)) {
        if (!is_partial_capture(file.path)) whole[file.inode] = base_name(file.path);
    }
    for (const auto& frozen : frozen_) {
        for (const auto& file : list_captures(folder_of(frozen.id))) {
            const auto name = whole.find(file.inode);
            if (!is_partial_capture(file.path) || name == whole.end()) continue;
            std::error_code ignored;
            fs::rename(file.path, folder_of(frozen.id) + "/" + name->second, ignored);
        }
    }
    refresh();
}

}  // namespace perfvigil::daemon
