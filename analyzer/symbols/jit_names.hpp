// SPDX-License-Identifier: GPL-2.0-or-later
// Names of code that was made at run time, by what its process says of it: a perf map (perf_map.hpp) or a jitdump
// (jit_dump.hpp), read again as they grow. Live they are looked for through the process; of a capture only in the boot
// that was recorded, where they still lie.
//
// Code is replaced: a perf map knows no times, its last word counts; of a dump counts what was there in the middle of
// the slice that begin_slice() named. One owner; bounded in bytes; views live until begin_window().
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/jit_dump_file.hpp"
#include "analyzer/symbols/perf_map_file.hpp"
#include "base/time.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

struct JitNamesOptions {
    Origin origin = Origin::kLive;
    bool this_boot = true;     // kCapture: it was recorded here, since the last boot
    WallTime capture_start{};  // kCapture
    std::string proc = "/proc";
    std::string host_root = "/";
    std::size_t bytes = 128U << 20;
};

class JitNames {
public:
    struct Function {
        std::string_view name;
        std::uint64_t start = 0;  // in the Dso's terms
        std::uint64_t size = 0;
    };
    // kUnsaid: nothing describes the process's code. kUncovered: something does, but not this.
    enum class Missing : std::uint8_t { kUnsaid, kUncovered };

    // `files` and `clock` outlive this.
    JitNames(JitNamesOptions options, FileSource& files, const Clock& clock);

    void begin_window();
    void begin_slice(MonotonicTime from, MonotonicTime to);

    // Code of a kAnonymous Dso; its offsets are runtime addresses.
    [[nodiscard]] std::expected<Function, Missing> find(const collector::Dso& dso, std::uint64_t address);
    // Code in a dump itself, for whom a capture's code was placed there by time (JitPlacements).
    [[nodiscard]] std::expected<Function, Missing> find_in_dump(const collector::Dso& marker, std::uint64_t offset);

    // kCapture: the dump that a marker names, whole; nullptr where it cannot be used (refusals() says why).
    [[nodiscard]] const JitDump* dump_of(const collector::Dso& marker);

    // Maps and dumps that were found and not used, or not whole: one sentence each.
    [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }

private:
    struct Process {
        // Newest last: what an older reading alone names may still have samples in this window.
        std::vector<std::unique_ptr<PerfMapReading>> maps;
        std::unique_ptr<JitDumpReading> dump;
        MonotonicTime read_again{};
        MonotonicTime look_for_dump{};
        bool tried = false;
        std::uint64_t last_used = 0;
    };
    void refresh(const collector::Dso& dso, Process& process);
    void refresh_map(Pid pid, Process& process);
    void refresh_dump(Pid pid, Process& process);
    [[nodiscard]] WallTime gone_since() const;
    void count_bytes();
    void refuse(std::string sentence);

    JitNamesOptions options_;
    FileSource& files_;
    const Clock& clock_;
    boost::unordered_flat_map<collector::DsoId, std::unique_ptr<Process>> processes_;     // by their anonymous Dso
    boost::unordered_flat_map<collector::DsoId, std::unique_ptr<JitDumpReading>> dumps_;  // of a capture, by marker
    MonotonicTime slice_from_{};
    MonotonicTime slice_to_ = MonotonicTime::max();
    std::size_t bytes_ = 0;
    std::uint64_t window_ = 0;
    std::vector<std::string> refusals_;
};

}  // namespace perfvigil::analyzer
