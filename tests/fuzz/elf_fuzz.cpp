// SPDX-License-Identifier: GPL-2.0-or-later
// A foreign ELF file, kernel modules and compressed ones included, all the way: the privileged process's look at its
// head, the child's parser and table writer, the caller's check of the table. Bytes that are no ELF file go to the
// table's check as they are: the child may answer anything.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "analyzer/symbols/child/elf_symbols.hpp"
#include "analyzer/symbols/child/inflate.hpp"
#include "analyzer/symbols/child/table_writer.hpp"
#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/file_symbols.hpp"
#include "base/fd.hpp"

using namespace perfvigil;
using namespace perfvigil::analyzer;

namespace {

UniqueFd memory_file(Bytes bytes) {
    UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
    if (!fd || !write_all(fd.get(), bytes)) std::abort();
    return fd;
}

void ask(const FileSymbols& symbols) {
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto function = symbols.at(i);
        if (function.start.value < position || function.size == 0) std::abort();
        position = function.start.value + function.size;
        if (symbols.find(function.start)->start != function.start) std::abort();
        (void)symbols.link_address(function.start);
    }
}

void read(int file, const ElfLimits& limits) {
    const auto out = memory_file({});
    if (!write_table(out.get(), read_elf_symbols(file, limits), 16U << 20)) return;
    const auto mapped = MappedFile::map(out.get());
    if (!mapped) std::abort();
    // What our own writer made is always accepted.
    const auto symbols = FileSymbols::from_bytes(mapped->bytes());
    if (!symbols) std::abort();
    ask(*symbols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    if (const auto table = FileSymbols::from_bytes(bytes)) ask(*table);

    const auto file = memory_file(bytes);
    (void)read_elf_head(file.get());
    ElfLimits limits;
    limits.section_bytes = 1U << 20;
    limits.functions = 10'000;
    read(file.get(), limits);
    // The same as a kernel module whose sections lie side by side, far apart, and one upon the other.
    limits.sections = std::vector<PlacedSection>{{".text", 0xffffffffc0000000},
                                                 {".text.unlikely", 0xffffffffc0000040},
                                                 {".text.f", 0xffffffffc0000000},
                                                 {".exit.text", ~std::uint64_t{0} - 0x20}};
    read(file.get(), limits);
    const auto inflated = memory_file({});
    if (answer_inflated(inflated.get(), file.get(), 1U << 20)) read(inflated.get(), limits);
    (void)decode_sections(bytes);
    return 0;
}
