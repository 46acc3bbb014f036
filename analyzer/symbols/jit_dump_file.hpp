// SPDX-License-Identifier: GPL-2.0-or-later
// The file of a jitdump: which one a living process writes, and what it holds so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/jit_dump.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

// The dump that the process has mapped executable to announce it: the very file (device and inode), found below the
// process's root, else through its mapping. nullptr: it announces none.
[[nodiscard]] Result<OpenedFileRef> open_jit_dump(Pid pid, const std::string& proc = "/proc");

// One dump, read as it grows.
class JitDumpReading {
public:
    // `marker`: the path as mapped, for the pid in it.
    JitDumpReading(OpenedFileRef file, std::optional<Pid> marker) : file_(std::move(file)), marker_(marker) {}

    // Takes what is new. After an error nothing more is read.
    void read_on();

    [[nodiscard]] const JitDump& dump() const { return dump_; }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    [[nodiscard]] const OpenedFile& file() const { return *file_; }

private:
    OpenedFileRef file_;
    std::optional<Pid> marker_;
    JitDump dump_;
    std::optional<Error> error_;
};

}  // namespace perfvigil::analyzer
