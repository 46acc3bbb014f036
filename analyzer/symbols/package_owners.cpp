// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/package_owners.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::analyzer {

Result<std::optional<Package>> PackageOwners::owner_of(const OpenedFile& file, const std::string& path) {
    if (file.root == nullptr) return std::optional<Package>{};
    struct Answer {
        IndexRef known;
        std::shared_ptr<PackageIndex> read;
    };
    const auto answer = std::make_shared<Answer>();
    auto done = files_.run([answer, root = file.root, known = known_] {
        const auto stamp = PackageIndex::stamp_of(root->get());
        const auto same = std::ranges::find_if(known, [&](const IndexRef& index) { return index->stamp() == stamp; });
        if (same != known.end())
            answer->known = *same;
        else
            answer->read = std::make_shared<PackageIndex>(PackageIndex::read(root->get()));
    });
    if (!done) return fail(std::move(done.error()));
    if (answer->read != nullptr) {
        if (auto read = read_rpm(*answer->read); !read) return fail(std::move(read.error()));
        answer->known = answer->read;
    }
    const IndexRef index = answer->known;
    const auto same_root = [&](const IndexRef& other) {
        return other->stamp().device == index->stamp().device && other->stamp().inode == index->stamp().inode;
    };
    std::erase_if(known_, same_root);
    known_.insert(known_.begin(), index);
    if (known_.size() > kMaxRoots) known_.pop_back();
    return index->owner_of(path);
}

Result<void> PackageOwners::read_rpm(PackageIndex& index) {
    if (!index.unread().empty()) {
        refuse(index.unread() +
               ": an rpm database of a kind that is not read (rpm's sqlite databases are): the packages "
               "of programs in that root are not known.");
    }
    const OpenedFileRef database = index.take_rpm_database();
    if (database == nullptr) return {};
    const auto text = child_.packages(database->fd.get());
    if (text) {
        index.add_rpm({reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size()});
    } else if (text.error().code == ErrorCode::kInvalid) {
        refuse("rpmdb.sqlite: the packages of programs in its root are not known: " + text.error().message + ".");
    } else {
        return fail(ErrorCode::kBusy, text.error().message);
    }
    return {};
}

void PackageOwners::refuse(std::string sentence) {
    constexpr std::size_t kMost = 4;
    const bool known = std::ranges::find(refusals_, sentence) != refusals_.end();
    if (!known && refusals_.size() < kMost) refusals_.push_back(std::move(sentence));
}

}  // namespace perfvigil::analyzer
