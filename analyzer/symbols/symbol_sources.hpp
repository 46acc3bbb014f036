// SPDX-License-Identifier: GPL-2.0-or-later
// Where names for a capture may come from beside the analyzing host's own files, which give theirs only where build-ids
// match (docs/symbols.md). A file with another build-id than the one that was recorded is never used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/debuginfod.hpp"

namespace perfvigil::analyzer {

struct SymbolSources {
    // A folder that holds the recording host's files under their own paths ("/srv/target": /srv/target/usr/bin/app).
    std::optional<std::string> symfs{};
    // The recording kernel's symbols: a copy of its /proc/kallsyms, or its System.map. Moved by how far the capture's
    // kernel lay elsewhere. /proc/kallsyms itself counts only where the build-id of this kernel matches.
    std::optional<std::string> kallsyms{};
    // The recording kernel's image or its separate debug file, with the recorded build-id: names of its own code, and
    // that code itself.
    std::optional<std::string> vmlinux{};
    // perf's build-id cache; absent: ~/.debug (or $PERF_BUILDID_DIR), where there is one. Empty: none.
    std::optional<std::string> buildid_dir{};
    // Folders with .build-id/xx/yyyy.debug below them, first one first.
    std::vector<std::string> debug_dirs{"/usr/lib/debug"};
    // Servers to be asked for what is nowhere here. None: nobody is asked.
    DebuginfodOptions debuginfod{};
};

}  // namespace perfvigil::analyzer
