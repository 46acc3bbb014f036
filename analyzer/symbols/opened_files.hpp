// SPDX-License-Identifier: GPL-2.0-or-later
// What the opener found, by Dso: an open file, or why there is none. Bounded: open files by their number (they cost
// descriptors, and keep file systems busy) and by how long nobody asked; answers by their number. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <variant>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/file_source.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

struct OpenedFilesLimits {
    std::size_t files = 1024;
    std::size_t answers = 32768;
    Nanoseconds keep_unused = std::chrono::minutes(5);
};

// The default limits, with no more files than a quarter of this process's descriptors.
[[nodiscard]] OpenedFilesLimits opened_files_limits();

class OpenedFiles {
public:
    OpenedFiles(OpenedFilesLimits limits, const Clock& clock) : limits_(limits), clock_(clock) {}

    // nullptr: nothing is known of this Dso. The pointer lives until the next change.
    [[nodiscard]] const Result<OpenedFileRef>* find(collector::DsoId id);
    // A file of that build-id that is open for any Dso.
    [[nodiscard]] OpenedFileRef find(const BuildId& build_id) const;

    void put(collector::DsoId id, Result<OpenedFileRef> answer);
    // Closes the Dso's file (unless another Dso or a reader holds it) and forgets the answer.
    void forget(collector::DsoId id);
    void expire();

    [[nodiscard]] std::size_t open_count() const { return files_.size(); }
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

private:
    struct Entry {
        collector::DsoId id{};
        Result<OpenedFileRef> answer;
        MonotonicTime last_used{};
    };
    using Entries = std::list<Entry>;  // last used first
    void drop(Entries& from, Entries::iterator entry);
    void note_build_id(const OpenedFileRef& file);

    OpenedFilesLimits limits_;
    const Clock& clock_;
    Entries files_;     // answers that are files
    Entries failures_;  // and those that are none
    boost::unordered_flat_map<collector::DsoId, Entries::iterator> by_id_;
    boost::unordered_flat_map<BuildId, std::weak_ptr<const OpenedFile>> by_build_id_;
    std::uint64_t evicted_ = 0;
};

}  // namespace perfvigil::analyzer
