// SPDX-License-Identifier: GPL-2.0-or-later
// Finds files where SymbolSources points: below --symfs, in perf's build-id cache, among separate debug files. Takes
// only the file whose build-id is the wanted one; another one under the same name is refused, and said.
//
//   CACHE/.build-id/xx/yyyy[/elf]            perf buildid-cache, perf record
//   CACHE/.build-id/xx/yyyy[/kallsyms]       the kernel's
//   CACHE/.build-id/xx/yyyy[/vdso]           the vDSO
//   SYMFS/its/path                           links inside stay inside; also with .xz, .zst, .gz behind a .ko
//   DEBUG/.build-id/xx/yyyy.debug            code left out; also below SYMFS, and CACHE/.build-id/xx/yyyy/debug
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/symbol_sources.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "collector/kernel_modules.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// Whether what the caller names is there and of the right kind; the error names it.
[[nodiscard]] Result<void> check(const SymbolSources& sources);

class SourcedFiles {
public:
    explicit SourcedFiles(SymbolSources sources);

    // The Dso's file; null: no source has it. Where the recording does not know the build-id, the file below --symfs is
    // taken on the caller's word, unless that folder is this host's own root.
    [[nodiscard]] OpenedFileRef file_of(const collector::Dso& wanted);
    // The separate debug file of that build-id.
    [[nodiscard]] OpenedFileRef debug_file_of(const BuildId& build_id);
    // The vDSO image with that build-id, as perf's cache keeps it.
    [[nodiscard]] OpenedFileRef vdso_of(const BuildId& build_id) const { return in_cache(build_id, "/vdso"); }
    // What may be this module's .ko, best first, compressed or not. Their build-ids are not looked at: relocatable
    // files have no program headers, and compressed ones are no ELF files.
    [[nodiscard]] std::vector<OpenedFileRef> module_files(const collector::KernelModule& module) const;
    // What may be the separate debug file of this module, as above.
    [[nodiscard]] std::vector<OpenedFileRef> module_debug_files(const collector::KernelModule& module) const;
    // The first vmlinux with that build-id, of the kernel with that release (uname -r); null: none.
    [[nodiscard]] OpenedFileRef vmlinux_of(const BuildId& kernel, const std::string& release) const;
    // The symbols of the kernel with that build-id.
    [[nodiscard]] std::optional<std::string> kallsyms_of(const BuildId& kernel) const;

    // A separate debug file is there, but cannot stand for the file itself.
    void note_debug_alone(const std::string& path);

    // One sentence for each file that was refused, as many as are worth reading.
    [[nodiscard]] std::vector<std::string> refusals() const;

private:
    [[nodiscard]] OpenedFileRef in_cache(const BuildId& build_id, const char* what) const;
    [[nodiscard]] OpenedFileRef in_symfs(const collector::Dso& wanted);
    void refuse(std::string sentence);
    // Below --symfs, then on this host.
    [[nodiscard]] std::vector<OpenedFileRef> in_folders(const std::string& path) const;

    SymbolSources sources_;
    std::string cache_;                      // folder of .build-id; empty: none
    std::shared_ptr<const UniqueFd> symfs_;  // null: none
    bool symfs_is_own_root_ = false;
    std::vector<std::string> refused_;
    std::uint64_t refused_more_ = 0;
};

}  // namespace perfvigil::analyzer
