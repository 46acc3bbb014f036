// SPDX-License-Identifier: GPL-2.0-or-later
// Which kernel modules are loaded, from which files, and where the loader put each part of their code. Says nothing of
// functions. The kernel tells nobody when a module comes (PERF_RECORD_MMAP knows user code alone), so it is looked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/build_id.hpp"

namespace perfvigil::collector {

// One section of a module's code and its runtime address: the loader places each by itself.
struct ModuleSection {
    std::string name;  // ".text", ".text.unlikely", ".text.nfsd_dispatch"
    std::uint64_t address = 0;

    friend bool operator==(const ModuleSection&, const ModuleSection&) = default;
};

// A loaded kernel module, as /proc/modules has it.
struct KernelModule {
    std::string name;         // "ext4"
    std::string path;         // its .ko below /lib/modules, else "[ext4]"
    std::uint64_t start = 0;  // runtime address of its core; modules whose addresses are hidden are not listed
    std::uint64_t size = 0;
    BuildId build_id;
    // Of its code, as /sys/module/NAME/sections has them (root and CAP_SYSLOG); without those that are freed once the
    // module has started. Empty: not known, all or nothing.
    std::vector<ModuleSection> sections{};

    friend bool operator==(const KernelModule&, const KernelModule&) = default;
};

// By ascending address. `root` stands before /proc, /sys and /lib (tests); `release` is uname -r.
[[nodiscard]] std::vector<KernelModule> read_kernel_modules(const std::string& root, const std::string& release);

// Looks for modules that came since it was made.
class ModuleWatch {
public:
    ModuleWatch(std::string root, std::string release);
    // Those that were not there, or lay elsewhere, at the last look. A look without news costs one small file.
    [[nodiscard]] std::vector<KernelModule> news();

private:
    using Places = std::map<std::string, std::uint64_t, std::less<>>;
    [[nodiscard]] Places look() const;

    std::string root_;
    std::string release_;
    Places seen_;  // name to start
};

}  // namespace perfvigil::collector
