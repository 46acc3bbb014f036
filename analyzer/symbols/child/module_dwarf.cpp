// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/module_dwarf.hpp"

#include <algorithm>
#include <unordered_set>

namespace perfvigil::analyzer {

const Dwfl_Callbacks ModuleDwarf::kCallbacks{.find_elf = give_elf,
                                             .find_debuginfo = no_debug_file,
                                             .section_address = section_address,
                                             .debuginfo_path = nullptr};

ModuleDwarf::ModuleDwarf(int fd, const std::vector<PlacedSection>& sections)
    : elf_(nullptr, elf_end), dwfl_(nullptr, dwfl_end) {
    if (elf_version(EV_CURRENT) == EV_NONE || sections.empty()) return;
    // ELF_C_READ: by pread, never mapped (elf_symbols.hpp).
    elf_.reset(elf_begin(fd, ELF_C_READ, nullptr));
    GElf_Ehdr header;
    if (elf_ == nullptr || gelf_getehdr(elf_.get(), &header) == nullptr || header.e_type != ET_REL) return;
    for (const auto& section : sections) placed_.emplace(section.name, section.address);
    find_ambiguous();
    dwfl_.reset(dwfl_begin(&kCallbacks));
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_.get());
    const auto [first, last] = std::ranges::minmax(sections, {}, &PlacedSection::address);
    Dwfl_Module* module = dwfl_report_module(dwfl_.get(), "module", first.address, last.address + 1);
    if (module == nullptr || dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0) return;
    void** self = nullptr;
    dwfl_module_info(module, &self, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *self = this;
    Dwarf_Addr bias = 0;
    Dwarf* found = dwfl_module_getdwarf(module, &bias);
    // Relocated to runtime addresses, there is nothing left to add.
    if (bias == 0) dwarf_ = found;
}

// Of two sections with one name nobody knows which is the one that the kernel names.
void ModuleDwarf::find_ambiguous() {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) != 0) return;
    std::unordered_set<std::string> seen;
    for (Elf_Scn* scn = elf_nextscn(elf_.get(), nullptr); scn != nullptr; scn = elf_nextscn(elf_.get(), scn)) {
        GElf_Shdr shdr;
        if (gelf_getshdr(scn, &shdr) == nullptr || (shdr.sh_flags & SHF_ALLOC) == 0) continue;
        const char* name = elf_strptr(elf_.get(), names, shdr.sh_name);
        if (name != nullptr && placed_.contains(name) && !seen.insert(name).second) placed_.erase(name);
    }
}

int ModuleDwarf::give_elf(Dwfl_Module* /*module*/, void** self, const char* /*name*/, Dwarf_Addr /*base*/,
                          char** /*file_name*/, Elf** elf) {
    *elf = static_cast<ModuleDwarf*>(*self)->elf_.release();
    return -1;
}

int ModuleDwarf::no_debug_file(Dwfl_Module* /*module*/, void** /*self*/, const char* /*name*/, Dwarf_Addr /*base*/,
                               const char* /*file_name*/, const char* /*link*/, GElf_Word /*crc*/,
                               char** /*debug_file_name*/) {
    return -1;
}

int ModuleDwarf::section_address(Dwfl_Module* /*module*/, void** self, const char* /*name*/, Dwarf_Addr /*base*/,
                                 const char* section, GElf_Word /*index*/, const GElf_Shdr* /*shdr*/,
                                 Dwarf_Addr* address) {
    const auto& placed = static_cast<const ModuleDwarf*>(*self)->placed_;
    const auto found = placed.find(section);
    *address = found == placed.end() ? ~Dwarf_Addr{0} : found->second;  // all bits: it was not loaded
    return 0;
}

}  // namespace perfvigil::analyzer
