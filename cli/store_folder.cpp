// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/store_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/text.hpp"
#include "daemon/api_store.hpp"
#include "daemon/capture_files.hpp"
#include "daemon/protocol.hpp"
#include "daemon/store_files.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::cli {
namespace {

namespace api = daemon::api;
using daemon::Catalog;
using daemon::Window;
using daemon::WindowInfo;

constexpr std::string_view kPrefix = "store:";
// An archive may be so long (store.archives.length): what ends later than that behind a moment does not hold it.
constexpr Nanoseconds kLongest = std::chrono::hours(24);
constexpr Nanoseconds kBlur = std::chrono::seconds(2);  // ids have the second in which a window ends

// Ids from the oldest to the newest: they begin with the time of their end.
std::vector<std::string> ids_in(const std::string& directory) {
    std::vector<std::string> ids;
    std::error_code error;
    for (std::filesystem::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
        const auto name = i->path().filename().string();
        const auto id = name.substr(0, name.rfind('.'));
        if (name.ends_with(".profile") && daemon::is_window_id(id)) ids.push_back(id);
    }
    std::ranges::sort(ids);
    return ids;
}

// Of several questions of one command each file is opened once.
const WindowInfo* describe(const std::string& directory, const std::string& id) {
    static std::map<std::string, std::optional<WindowInfo>> known;
    const auto [entry, first] = known.try_emplace(directory + "/" + id);
    if (first) {
        auto info = daemon::describe_profile(directory, id);
        if (info)
            entry->second = std::move(*info);
        else
            fmt::print(stderr, "perfvigil: left out: {}\n", escape(info.error().message));
    }
    return entry->second ? &*entry->second : nullptr;
}

// What the question is about, so that not every file must be opened.
std::vector<std::string> asked_for(std::vector<std::string> ids, const api::Parameters& parameters) {
    std::optional<WallTime> since;
    std::optional<WallTime> until;
    std::string kind = "window";
    std::size_t limit = 100;
    for (const auto& [name, value] : parameters) {
        const auto number = parse_number<std::int64_t>(value);
        if (name == "since" && number) since = WallTime(Nanoseconds(*number));
        if (name == "until" && number) until = WallTime(Nanoseconds(*number));
        if (name == "kind") kind = value;
        if (name == "limit" && number && *number >= 0) limit = static_cast<std::size_t>(*number);
    }
    if (since && until) {
        const auto latest = *until > WallTime::max() - kLongest ? WallTime::max() : *until + kLongest;
        const auto earliest = *since < WallTime::min() + kBlur ? WallTime::min() : *since - kBlur;
        std::erase_if(ids, [&](const std::string& id) {
            const auto end = daemon::time_in_name(id);
            return !end || *end < earliest || *end > latest;
        });
        return ids;
    }
    std::erase_if(ids, [&](const std::string& id) {
        return kind != "all" && daemon::kind_name(WindowInfo{.id = id}.kind()) != kind;
    });
    if (ids.size() > limit) ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(limit));
    return ids;
}

Result<Reply> windows(const std::string& directory, std::vector<std::string> ids, const std::string& query) {
    const auto parameters = api::parameters_of(query);
    if (!parameters) return fail(parameters.error());
    Catalog catalog;
    for (const auto& id : asked_for(std::move(ids), *parameters)) {
        if (const auto* info = describe(directory, id)) {
            catalog.push_back(std::make_shared<Window>(Window{*info, nullptr}));
        }
    }
    std::ranges::stable_sort(catalog, {}, [](const auto& window) { return window->info.end; });
    const auto response =
        api::windows({.method = "GET", .target = protocol::kWindows, .headers = {}}, *parameters, catalog);
    if (response.status >= 400) return fail(ErrorCode::kInvalid, std::string(trim(response.content())));
    return Reply{response.status, std::string(response.content())};
}

Result<Reply> profile(const std::string& directory, const std::vector<std::string>& ids, std::string id) {
    if (id == protocol::kLatest) {
        // The newest window; a roll-up where there is none any more.
        const auto newest = std::find_if(ids.rbegin(), ids.rend(), [](const std::string& one) {
            return WindowInfo{.id = one}.kind() == daemon::WindowKind::kWindow;
        });
        id = newest != ids.rend() ? *newest : ids.back();
    }
    if (!daemon::is_window_id(id)) return fail(ErrorCode::kNotFound, "there is no window " + escape(id));
    const auto bytes = daemon::read_profile(directory, id);
    if (!bytes) return fail(bytes.error());
    return Reply{200, std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())};
}

}  // namespace

void add_store(CLI::App& command, std::string& socket) {
    auto* option = command
                       .add_option_function<std::string>(
                           "--store", [&socket](const std::string& folder) { socket = std::string(kPrefix) + folder; },
                           "read a store's folder instead of asking the daemon, such as a copy from another host")
                       ->option_text("DIR");
    if (auto* daemon_socket = command.get_option_no_throw("--socket")) option->excludes(daemon_socket);
}

std::optional<std::string> store_of(const std::string& socket) {
    if (!socket.starts_with(kPrefix)) return std::nullopt;
    return socket.substr(kPrefix.size());
}

Result<Reply> get_from_store(const std::string& directory, const std::string& target) {
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error)) {
        return fail(ErrorCode::kNotFound,
                    directory + ": is no folder; name the store.dir of a daemon, or a copy of it");
    }
    auto ids = ids_in(directory);
    if (ids.empty()) return fail(ErrorCode::kNotFound, directory + ": holds no stored window (ID.profile)");
    std::string_view query = target;
    auto path = next_piece(query, '?');
    if (path == protocol::kWindows) return windows(directory, std::move(ids), std::string(query));
    const std::string below = std::string(protocol::kWindows) + "/";
    if (path.starts_with(below)) {
        path.remove_prefix(below.size());
        const auto id = next_piece(path, '/');
        if (path == protocol::kProfile) return profile(directory, ids, std::string(id));
    }
    return fail(ErrorCode::kUnsupported, "a folder cannot answer this: it needs the daemon itself");
}

}  // namespace perfvigil::cli
