// SPDX-License-Identifier: GPL-2.0-or-later
// Captures that were frozen: kept beyond the rotation's bytes and age, with who or what asked, and why.
//
//   captures.dir/20260131T120000Z.perf.data                              the rotation's
//   captures.dir/frozen/20260131T120730Z-busy/freeze.json                why, written last: without it there is no
//   freeze
//                                            /20260131T120000Z.perf.data another name of the same file
//                                            /triggered.perf.data        what a rule had captured besides
//
// Names, not copies: nothing is read or written, and the file being recorded can be among them. Bytes count once,
// however many freezes hold them. Thread: DiskWriter's, but for list(), which any may ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "daemon/capture_files.hpp"
#include "daemon/published.hpp"

namespace perfvigil::daemon {

// What a rule saw when it asked.
struct Evidence {
    std::string text{};  // for people
    double value = 0;    // over the time that the rule wants, in the unit of its limit
    double limit = 0;
    Nanoseconds held{};

    friend bool operator==(const Evidence&, const Evidence&) = default;
};

struct FreezeOrder {
    WallTime from{};
    WallTime to{};       // also when it was asked for
    std::string rule{};  // that asked; empty: a person
    std::string label{};
    std::string who{};
    std::optional<Evidence> evidence{};
};

struct Frozen {
    struct File {
        std::string name;
        std::uint64_t bytes = 0;
    };
    std::string id{};
    FreezeOrder order{};
    std::string captured{};  // what became of the rule's capture
    std::vector<File> files{};

    [[nodiscard]] std::uint64_t bytes() const;
};

// Whether `id` has the form of a freeze's id. Anything else never becomes part of a path.
[[nodiscard]] bool is_frozen_id(std::string_view id);

// Below a folder of captures: one folder per freeze.
[[nodiscard]] std::string frozen_folder(const std::string& captures_directory);

class FrozenCaptures {
public:
    explicit FrozenCaptures(std::string captures_directory);

    // Reads what is there; what a killed daemon left half-made goes.
    void open();

    void set_budget(std::uint64_t bytes) { budget_ = bytes; }

    // Keeps what lies in the folder now of that time. Over the budget rules' freezes go, the oldest first; a person's
    // stay until they are thawed.
    [[nodiscard]] Result<Frozen> freeze(const FreezeOrder& order);
    [[nodiscard]] Result<void> thaw(const std::string& id);
    void note_capture(const std::string& id, const std::string& what);

    // A half-written file has its final name now, or was given up.
    void on_file_ended();

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::string folder_of(std::string_view id) const { return directory_ + "/" + std::string(id); }
    [[nodiscard]] const std::string& directory() const { return directory_; }

    // Any thread: oldest first.
    [[nodiscard]] std::shared_ptr<const std::vector<Frozen>> list() const { return list_.value(); }

private:
    void refresh();
    [[nodiscard]] bool make_room(std::uint64_t incoming, std::string_view spare);
    [[nodiscard]] Result<void> write_reason(const Frozen& frozen) const;
    [[nodiscard]] std::string unique_id(const FreezeOrder& order) const;

    std::string captures_directory_;
    std::string directory_;
    std::uint64_t budget_ = UINT64_MAX;
    std::uint64_t bytes_ = 0;
    std::vector<Frozen> frozen_;  // oldest first
    Published<std::vector<Frozen>> list_;
};

}  // namespace perfvigil::daemon
