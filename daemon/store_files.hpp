// SPDX-License-Identifier: GPL-2.0-or-later
// The files of the store: one profile each, named by its id. Knows neither index nor budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

[[nodiscard]] std::string profile_path(const std::string& directory, std::string_view id);
[[nodiscard]] std::string index_path(const std::string& directory);

// Whether a file can be made there at all.
[[nodiscard]] Result<void> probe_folder(const std::string& directory);
// Every profile in the folder with its size, by id. Leftovers of a killed daemon are removed.
[[nodiscard]] std::map<std::string, std::uint64_t> list_profiles(const std::string& directory);

// Written beside its name, synced, renamed, the folder synced: after it returns the profile outlives a power cut, and
// before that there is none of its name.
[[nodiscard]] Result<void> write_profile(const std::string& directory, std::string_view id, Bytes bytes);
[[nodiscard]] Result<std::vector<std::byte>> read_profile(const std::string& directory, std::string_view id);
// kNotFound is success.
[[nodiscard]] Result<void> remove_profile(const std::string& directory, std::string_view id);
// What the index holds of it, with its parts.
[[nodiscard]] Result<WindowInfo> describe_profile(const std::string& directory, const std::string& id);

// For whom is not root, on the file system of that folder.
[[nodiscard]] Result<std::uint64_t> free_bytes(const std::string& directory);

// What to do about a disk that refuses, by what it said.
[[nodiscard]] std::string remedy_for(const Error& error);

}  // namespace perfvigil::daemon
