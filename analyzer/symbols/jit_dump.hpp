// SPDX-License-Identifier: GPL-2.0-or-later
// A jitdump file ("jit-PID.dump"): what a just-in-time compiler says about the code it makes, record by record, with
// the time of each and the code itself (tools/perf/Documentation/jitdump-specification.txt). Code is loaded (LOAD),
// moved (MOVE) and replaced by later loads; one address is different functions at different times.
//
//   header  magic "JiTD", version, size, ELF machine, pid, time, flags
//   record  id, size, time, then by id …    times are CLOCK_MONOTONIC
//
// The file grows while its process runs, so it is read piece by piece; the code's bytes are passed over. Foreign,
// bounded. Pure: knows no files, no processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/name_pool.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct JitDumpLimits {
    std::size_t functions = 1U << 19;
    std::size_t name_bytes = 64U << 20;
    std::size_t name_length = 4096;
    std::uint64_t code_size = 16U << 20;  // of one function
    std::size_t per_page = 1024;          // placements of one page of addresses; the older half goes
};

class JitDump {
public:
    // What a piece must hold for certain progress: the longest beginning of a record that is read.
    static constexpr std::size_t kPiece = 64U << 10;

    struct Function {
        std::string_view name;  // escaped; lives as long as the dump
        RuntimeAddress start{};
        std::uint64_t size = 0;
    };
    // From `time` on the function's code, which lies at `code` in the file, is at `start`.
    struct Placement {
        MonotonicTime time{};
        MonotonicTime until = MonotonicTime::max();  // it was moved away; replacement is not counted here
        std::uint64_t start = 0;
        std::uint32_t function = 0;
    };

    explicit JitDump(const JitDumpLimits& limits = {}) : limits_(limits) {}

    // Where the next piece is to be read from.
    [[nodiscard]] std::uint64_t next_offset() const { return next_; }
    // The file's bytes from next_offset() on. False: they hold no whole beginning of a record, read again when the file
    // has grown. An error is final: it says what is wrong where, and what was taken before stays.
    [[nodiscard]] Result<bool> append(Bytes piece);

    [[nodiscard]] bool started() const { return started_; }
    [[nodiscard]] std::uint32_t pid() const { return pid_; }  // as the process sees itself

    // What was at `address` between the two times: in their middle, else what came there first.
    [[nodiscard]] std::optional<Function> find(RuntimeAddress address, MonotonicTime from, MonotonicTime to) const;
    // The function whose code lies there in the file.
    [[nodiscard]] std::optional<Function> find(FileOffset offset) const;

    [[nodiscard]] std::span<const Placement> placements() const { return placements_; }  // as they stand in the file
    [[nodiscard]] FileOffset code_of(const Placement& placement) const {
        return FileOffset{functions_[placement.function].code};
    }
    [[nodiscard]] std::uint64_t size_of(const Placement& placement) const {
        return functions_[placement.function].size;
    }

    [[nodiscard]] std::size_t size() const { return functions_.size(); }
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::uint64_t malformed_records() const { return malformed_; }
    [[nodiscard]] bool cut() const { return cut_; }  // functions beyond the limits were left out

private:
    struct Code {
        std::string_view name;
        std::uint64_t code = 0;  // offset in the file
        std::uint64_t size = 0;
    };
    struct Record {
        std::uint32_t id = 0;
        std::uint32_t size = 0;
        MonotonicTime time{};
    };
    [[nodiscard]] Result<bool> read_header(Bytes piece);
    // The beginning of a record; false: it is not whole.
    [[nodiscard]] bool read_record(const Record& record, ByteReader body);
    [[nodiscard]] bool load(const Record& record, ByteReader body);
    void move(const Record& record, ByteReader body);
    [[nodiscard]] bool place(const Placement& placement);  // false: the limits are reached

    JitDumpLimits limits_;
    std::uint64_t next_ = 0;
    bool started_ = false;
    std::uint32_t pid_ = 0;
    std::vector<Code> functions_;                                                 // by ascending offset in the file
    std::vector<Placement> placements_;                                           // in the file's order
    boost::unordered_flat_map<std::uint64_t, std::vector<std::uint32_t>> pages_;  // by address: placements_
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> by_index_;            // the code's own number: placements_
    std::size_t on_pages_ = 0;
    NamePool names_;
    std::uint64_t malformed_ = 0;
    bool cut_ = false;
};

// "…/jit-4242.dump": the pid in it. Runtimes map the file executable for a moment, so that a recording names it.
[[nodiscard]] std::optional<Pid> pid_of_jit_marker(std::string_view path);

}  // namespace perfvigil::analyzer
