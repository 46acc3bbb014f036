// SPDX-License-Identifier: GPL-2.0-or-later
// Which package a file belongs to, by the database that a package manager keeps in the same root as plain text: dpkg
// (/var/lib/dpkg) and apk (/lib/apk/db/installed); rpm's, which is no text, is only opened here: the symbol child makes
// one of it (child/rpm_packages.hpp). No package manager is run. The root may be a hostile container's: files are
// opened inside it (open_regular_in) and read bounded, and what they say is no more than a label.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/file_source.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct Package {
    std::string name;
    std::string version;

    friend bool operator==(const Package&, const Package&) = default;
};

struct PackageLimits {
    std::size_t status_bytes = 64U << 20;
    std::size_t list_bytes = 8U << 20;     // of one package
    std::size_t lists_bytes = 256U << 20;  // of all
    std::size_t packages = 32768;
    std::size_t files = 1U << 20;  // whose owner is kept, 16 bytes each
};

// The packages of one root as they stood when it was read. Immutable: may be shared between threads.
class PackageIndex {
public:
    // Which root, and which state of its databases.
    struct Stamp {
        dev_t device = 0;
        ino_t inode = 0;
        WallTime changed{};  // of the database; the epoch: there is none
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };

    // May hang as an open may.
    [[nodiscard]] static Stamp stamp_of(int root);
    [[nodiscard]] static PackageIndex read(int root, const PackageLimits& limits = {});
    // Adds what the symbol child made of take_rpm_database().
    void add_rpm(std::string_view text, const PackageLimits& limits = {});

    // rpm's database, once, where there is one that can be read (rpmdb.sqlite); null: none.
    [[nodiscard]] OpenedFileRef take_rpm_database() { return std::exchange(rpm_database_, nullptr); }
    // The path of an rpm database of another kind (Berkeley DB, ndb), which is not read; empty: none.
    [[nodiscard]] const std::string& unread() const { return unread_; }

    // The package that owns `path`, also where /bin, /sbin or /lib are links into /usr.
    [[nodiscard]] std::optional<Package> owner_of(std::string_view path) const;
    [[nodiscard]] const Stamp& stamp() const { return stamp_; }
    [[nodiscard]] std::size_t files() const { return owners_.size(); }

private:
    class Reader;
    [[nodiscard]] const Package* find(std::string_view path) const;

    Stamp stamp_;
    OpenedFileRef rpm_database_;
    std::string unread_;
    std::vector<Package> packages_;
    // By a hash of the path. Two paths of one hash are one: a wrong label once in 10^13 files.
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> owners_;
};

}  // namespace perfvigil::analyzer
