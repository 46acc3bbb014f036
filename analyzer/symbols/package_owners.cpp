// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/package_owners.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::analyzer {

Result<std::optional<Package>> PackageOwners::owner_of(const OpenedFile& file, const std::string& path) {
    if (file.root == nullptr) return std::optional<Package>{};
    const auto answer = std::make_shared<IndexRef>();
    auto done = files_.run([answer, root = file.root, known = known_] {
        const auto stamp = PackageIndex::stamp_of(root->get());
        const auto same = std::ranges::find_if(known, [&](const IndexRef& index) { return index->stamp() == stamp; });
        *answer = same != known.end() ? *same : std::make_shared<const PackageIndex>(PackageIndex::read(root->get()));
    });
    if (!done) return fail(std::move(done.error()));
    const IndexRef index = *answer;
    const auto same_root = [&](const IndexRef& other) {
        return other->stamp().device == index->stamp().device && other->stamp().inode == index->stamp().inode;
    };
    std::erase_if(known_, same_root);
    known_.insert(known_.begin(), index);
    if (known_.size() > kMaxRoots) known_.pop_back();
    return index->owner_of(path);
}

}  // namespace perfvigil::analyzer
