// SPDX-License-Identifier: GPL-2.0-or-later
// The list of stored windows in an SQLite file (WAL), so that a start need not open every profile. The profile files
// are the truth: a missing, damaged or foreign index is an error here, and the store then makes a new one from them.
// Thread: the store's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

class StoreIndex {
public:
    // Opens or creates. kInvalid: there is a file, but it is no usable index (damaged, another version).
    [[nodiscard]] static Result<StoreIndex> open(const std::string& path);
    // Removes the file and what SQLite keeps beside it.
    static void remove_files(const std::string& path);
    // Bytes on disk of the same.
    [[nodiscard]] static std::uint64_t file_bytes(const std::string& path);

    StoreIndex(StoreIndex&&) noexcept;
    StoreIndex& operator=(StoreIndex&&) noexcept;
    ~StoreIndex();

    [[nodiscard]] Result<std::vector<WindowInfo>> all();          // by end, oldest first
    [[nodiscard]] Result<void> insert(const WindowInfo& window);  // replaces one of the same id
    [[nodiscard]] Result<void> remove(const std::string& id);

private:
    struct State;
    explicit StoreIndex(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::daemon
