// SPDX-License-Identifier: GPL-2.0-or-later
// The debug information of a kernel module. Its file is relocatable (ET_REL): every address in it counts from the start
// of a section and is written in by relocations, which libdwfl applies here, in memory, as the loader did with the
// code.
#pragma once

#include <elfutils/libdwfl.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/symbols/module_question.hpp"

namespace perfvigil::analyzer {

class ModuleDwarf {
public:
    // Of the file behind `fd`, which stays the caller's, its sections where `sections` says; what lies in others keeps
    // addresses near 0, where no kernel is.
    ModuleDwarf(int fd, const std::vector<PlacedSection>& sections);
    ModuleDwarf(const ModuleDwarf&) = delete;
    ModuleDwarf& operator=(const ModuleDwarf&) = delete;

    // By runtime addresses; null: the file is no module, or has none, or its relocations are not understood.
    [[nodiscard]] Dwarf* dwarf() const { return dwarf_; }

private:
    static int give_elf(Dwfl_Module*, void** self, const char*, Dwarf_Addr, char**, Elf** elf);
    static int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                             char**);
    static int section_address(Dwfl_Module*, void** self, const char*, Dwarf_Addr, const char* section, GElf_Word,
                               const GElf_Shdr*, Dwarf_Addr* address);

    void find_ambiguous();

    static const Dwfl_Callbacks kCallbacks;
    std::unordered_map<std::string, Dwarf_Addr> placed_;
    std::unique_ptr<Elf, int (*)(Elf*)> elf_;  // until libdwfl has it
    std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl_;
    Dwarf* dwarf_ = nullptr;
};

}  // namespace perfvigil::analyzer
