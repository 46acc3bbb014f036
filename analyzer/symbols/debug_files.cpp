// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/debug_files.hpp"

#include <array>
#include <utility>

#include "analyzer/symbols/regular_file.hpp"

namespace perfvigil::analyzer {

std::vector<DebugCandidate> open_debug_links(const DebugWanted& wanted) {
    std::vector<DebugCandidate> found;
    const auto slash = wanted.path.rfind('/');
    if (wanted.link.empty() || wanted.root == nullptr || slash == std::string::npos) return found;
    const auto folder = wanted.path.substr(0, slash + 1);
    for (const auto& path :
         std::array{folder + wanted.link, folder + ".debug/" + wanted.link, "/usr/lib/debug" + folder + wanted.link}) {
        if (path == wanted.path) continue;
        auto file = open_regular_in(wanted.root, path, RemoteFiles::kRefuse);
        if (!file) continue;
        const BuildId& build_id = (*file)->build_id;
        const bool unknown = build_id.empty() || wanted.build_id.empty();
        if (unknown || build_id == wanted.build_id) found.push_back({.file = *file, .by_checksum = unknown});
    }
    return found;
}

Result<std::vector<DebugCandidate>> DebugFiles::find(const DebugWanted& wanted) {
    if (auto file = sourced_.debug_file_of(wanted.build_id)) return std::vector{DebugCandidate{.file = file}};
    if (!wanted.link.empty() && wanted.root != nullptr) {
        const auto links = std::make_shared<std::vector<DebugCandidate>>();
        auto done = files_.run([wanted, links] { *links = open_debug_links(wanted); });
        if (!done) return fail(std::move(done.error()));
        if (!links->empty()) return *links;
    }
    auto asked = debuginfod_.get(Debuginfod::Kind::kDebugFile, wanted.build_id);
    if (asked) return std::vector{DebugCandidate{.file = *asked}};
    if (asked.error().code == ErrorCode::kBusy) return fail(std::move(asked.error()));
    return std::vector<DebugCandidate>{};
}

}  // namespace perfvigil::analyzer
