// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the separate debug file of a file whose own symbols were stripped off, the first of:
//
//   by build-id       SourcedFiles: perf's cache, .build-id/xx/yyyy.debug below --symfs and /usr/lib/debug
//   by its own link   .gnu_debuglink NAME: beside the file, in .debug beside it, below /usr/lib/debug; all inside the
//                     root in which the file was found
//   by asking         a debuginfod server, where one is named (Debuginfod)
//
// A file that holds the same build-id is taken; one without needs the checksum that the link holds, which the symbol
// child computes. Knows no symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/symbols/debuginfod.hpp"
#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/sourced_files.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {

struct DebugWanted {
    BuildId build_id;  // of the stripped file; empty: it has none
    std::string path;  // as the process that mapped it saw it
    std::shared_ptr<const UniqueFd> root;
    std::string link;  // the name that the file holds of its debug file; empty: none
    std::uint32_t crc = 0;
};

struct DebugCandidate {
    OpenedFileRef file;
    bool by_checksum = false;  // it is the right one only if its checksum is DebugWanted::crc
};

// The files of the wanted name that may be the right one. Opens files: may hang.
[[nodiscard]] std::vector<DebugCandidate> open_debug_links(const DebugWanted& wanted);

class DebugFiles {
public:
    DebugFiles(SourcedFiles& sourced, FileSource& files, Debuginfod& debuginfod)
        : sourced_(sourced), files_(files), debuginfod_(debuginfod) {}

    // In the order in which they are to be tried; none: there is no debug file. kBusy: not known yet, ask again in a
    // later window.
    [[nodiscard]] Result<std::vector<DebugCandidate>> find(const DebugWanted& wanted);

private:
    SourcedFiles& sourced_;
    FileSource& files_;
    Debuginfod& debuginfod_;
};

}  // namespace perfvigil::analyzer
