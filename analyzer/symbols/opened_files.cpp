// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/opened_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace perfvigil::analyzer {

OpenedFilesLimits opened_files_limits() {
    OpenedFilesLimits limits;
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY) {
        limits.files = std::clamp<std::size_t>(descriptors.rlim_cur / 4, 16, limits.files);
    }
    return limits;
}

const Result<OpenedFileRef>* OpenedFiles::find(collector::DsoId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return nullptr;
    const auto entry = found->second;
    entry->last_used = clock_.monotonic();
    Entries& list = entry->answer ? files_ : failures_;
    list.splice(list.begin(), list, entry);
    return &entry->answer;
}

OpenedFileRef OpenedFiles::find(const BuildId& build_id) const {
    if (build_id.empty()) return nullptr;
    const auto found = by_build_id_.find(build_id);
    return found == by_build_id_.end() ? nullptr : found->second.lock();
}

void OpenedFiles::put(collector::DsoId id, Result<OpenedFileRef> answer) {
    forget(id);
    Entries& list = answer ? files_ : failures_;
    const auto limit = answer ? limits_.files : limits_.answers;
    if (answer) note_build_id(*answer);
    list.push_front({.id = id, .answer = std::move(answer), .last_used = clock_.monotonic()});
    by_id_.emplace(id, list.begin());
    while (list.size() > limit) {
        drop(list, std::prev(list.end()));
        ++evicted_;
    }
}

void OpenedFiles::forget(collector::DsoId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    drop(found->second->answer ? files_ : failures_, found->second);
}

void OpenedFiles::drop(Entries& from, Entries::iterator entry) {
    by_id_.erase(entry->id);
    from.erase(entry);
}

void OpenedFiles::note_build_id(const OpenedFileRef& file) {
    if (file->build_id.empty()) return;
    // Names of files that were closed since; as many as there are files, then they go.
    if (by_build_id_.size() > 2 * limits_.files) {
        boost::unordered::erase_if(by_build_id_, [](const auto& named) { return named.second.expired(); });
    }
    by_build_id_.insert_or_assign(file->build_id, file);
}

void OpenedFiles::expire() {
    const auto oldest = clock_.monotonic() - limits_.keep_unused;
    for (Entries* list : {&files_, &failures_}) {
        while (!list->empty() && list->back().last_used < oldest) drop(*list, std::prev(list->end()));
    }
}

}  // namespace perfvigil::analyzer
