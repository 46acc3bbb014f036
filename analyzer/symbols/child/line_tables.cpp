// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/line_tables.hpp"

#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "analyzer/symbols/child/asked_addresses.hpp"
#include "analyzer/symbols/child/name_numbers.hpp"
#include "analyzer/symbols/lines_format.hpp"
#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kLongestPath = 4096;

class Search {
public:
    Search(Dwarf* dwarf, const std::vector<std::uint64_t>& addresses, LineTables& out)
        : dwarf_(dwarf), addresses_(addresses), out_(out) {}

    void run() {
        Dwarf_CU* unit = nullptr;
        Dwarf_Die die;
        // Skeletons of split DWARF hold the line tables too.
        while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
            out_.debug_info = true;
            in_unit(die);
        }
        out_.files = files_.take();
    }

private:
    void in_unit(Dwarf_Die& die) {
        std::ptrdiff_t at = 0;
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0) {
            auto address = std::ranges::lower_bound(addresses_, begin);
            for (; address != addresses_.end() && *address < end; ++address) {
                auto& row = out_.rows[static_cast<std::size_t>(address - addresses_.begin())];
                if (row.file == 0) name(die, *address, row);
            }
        }
    }

    void name(Dwarf_Die& die, std::uint64_t address, LineTables::Row& row) {
        Dwarf_Line* line = dwarf_getsrc_die(&die, address);
        if (line == nullptr) return;
        int number = 0;
        const char* file = dwarf_linesrc(line, nullptr, nullptr);
        // Line 0: the compiler's own code, from no line.
        if (file == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return;
        row.file = files_.number_of(escape(std::string_view(file, ::strnlen(file, kLongestPath)))) + 1;
        row.line = static_cast<std::uint32_t>(number);
    }

    Dwarf* dwarf_;
    const std::vector<std::uint64_t>& addresses_;
    LineTables& out_;
    NameNumbers files_;
};

}  // namespace

LineTables read_line_tables(int fd, const std::vector<std::uint64_t>& addresses) {
    LineTables out;
    out.rows.resize(addresses.size());
    if (elf_version(EV_CURRENT) == EV_NONE) return out;
    // ELF_C_READ: by pread, never mapped (elf_symbols.hpp).
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd, ELF_C_READ, nullptr), elf_end);
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return out;
    const std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr), dwarf_end);
    if (dwarf == nullptr) return out;
    Search(dwarf.get(), addresses, out).run();
    return out;
}

Result<void> answer_lines(int question, int file, std::uint64_t max_bytes) {
    const auto addresses = read_asked_addresses(question);
    if (!addresses) return fail(addresses.error());
    const auto found = read_line_tables(file, *addresses);
    std::size_t names_size = 0;
    for (const auto& name : found.files) names_size += name.size();
    const auto size = found.rows.size() * kLinesRowSize + found.files.size() * sizeof(std::uint32_t) + names_size;
    if (size > std::min<std::uint64_t>(max_bytes, UINT32_MAX)) {
        return fail(ErrorCode::kExhausted, "source lines over their limit");
    }
    std::vector<std::byte> answer;
    ByteWriter writer(answer);
    writer.u32(kLinesMagic);
    writer.u32(kLinesVersion);
    writer.u32(static_cast<std::uint32_t>(found.rows.size()));
    writer.u32(static_cast<std::uint32_t>(found.files.size()));
    writer.u32(found.debug_info ? std::uint32_t{kLinesDebugInfo} : 0);
    writer.u32(static_cast<std::uint32_t>(names_size));
    for (const auto& row : found.rows) {
        writer.u32(row.file);
        writer.u32(row.line);
    }
    std::uint32_t end = 0;
    for (const auto& name : found.files) writer.u32(end += static_cast<std::uint32_t>(name.size()));
    for (const auto& name : found.files) writer.bytes(std::as_bytes(std::span(name)));
    return write_all(question, answer);
}

}  // namespace perfvigil::analyzer
