// SPDX-License-Identifier: GPL-2.0-or-later
// The packages of opened files, whatever root they are in. Databases are read where files are opened (FileSource::run),
// for a container's may hang, and kept for the roots asked for last; they are read again when they changed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/packages.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

class PackageOwners {
public:
    // Both outlive this.
    PackageOwners(FileSource& files, SymbolChild& child) : files_(files), child_(child) {}

    // The package of the file that is `path` in its root; nullopt: none. kBusy: not known yet, ask again later.
    [[nodiscard]] Result<std::optional<Package>> owner_of(const OpenedFile& file, const std::string& path);
    // One sentence for each database that could not be read.
    [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }

private:
    static constexpr std::size_t kMaxRoots = 8;  // about 4 MiB each
    using IndexRef = std::shared_ptr<const PackageIndex>;

    [[nodiscard]] Result<void> read_rpm(PackageIndex& index);
    void refuse(std::string sentence);

    FileSource& files_;
    SymbolChild& child_;
    std::vector<IndexRef> known_;  // last asked first
    std::vector<std::string> refusals_;
};

}  // namespace perfvigil::analyzer
