// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/file_opener.hpp"

namespace perfvigil::analyzer {

void FileOpener::on_dso_mapped(const collector::DsoRef& dso, Pid pid) {
    if (origin_ == Origin::kCapture || dso->kind != collector::DsoKind::kFile) return;
    const auto* known = files_.find(dso->id);
    if (known != nullptr && *known) return;
    files_.put(dso->id, open(*dso, pid));
}

Result<OpenedFileRef> FileOpener::file_of(const collector::Dso& dso) {
    if (const auto* known = files_.find(dso.id)) return *known;
    auto answer = open(dso, origin_ == Origin::kLive ? dso.first_pid : Pid{});
    files_.put(dso.id, answer);
    return answer;
}

Result<OpenedFileRef> FileOpener::open(const collector::Dso& dso, Pid pid) {
    opener_.expire();
    files_.expire();
    if (auto same = files_.find(dso.build_id)) return same;
    return opener_.open_dso(dso, pid);
}

}  // namespace perfvigil::analyzer
