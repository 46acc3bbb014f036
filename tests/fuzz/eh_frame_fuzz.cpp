// SPDX-License-Identifier: GPL-2.0-or-later
// The door for unwind information: sections of a foreign file into entries, entries into rows, rows through the table's
// check and look-ups. A whole ELF file goes the child's way with libelf; a table goes to its check as it is.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "analyzer/symbols/child/unwind_program.hpp"
#include "analyzer/symbols/child/unwind_sections.hpp"
#include "analyzer/unwind/file_unwind.hpp"
#include "base/fd.hpp"
#include "tests/support/unwind_table.hpp"

using namespace perfvigil;
using namespace perfvigil::analyzer;

namespace {

constexpr std::size_t kMostRows = 10'000;

void ask(const FileUnwind& table) {
    for (std::uint64_t address = 0x400000; address < 0x402000; ++address) {
        const UnwindRule* rule = table.find(LinkAddress{address});
        if (rule == nullptr) continue;
        const unsigned known = unwind_registers(table.machine());
        if (rule->cfa_register >= known || rule->return_column >= known) std::abort();
        for (const auto& saved : rule->registers) {
            if (saved.number >= known) std::abort();
        }
    }
    (void)table.link_address(FileOffset{0x1000});
}

void take_section(Bytes bytes, FrameSectionKind kind, UnwindMachine machine) {
    FrameEntries entries;
    read_frame_entries({.kind = kind, .bytes = bytes, .address = 0x500000}, entries);
    const auto rows = unwind_rows(entries, machine, {{.start = 0x400000, .end = 0x600000}}, kMostRows);
    if (rows.starts.size() > kMostRows || rows.starts.size() != rows.rules.size()) std::abort();
    const auto written = test::unwind_table_bytes(rows, machine, {.start = 0x400000, .end = 0x600000});
    // What we made ourselves is always accepted.
    const auto table = FileUnwind::from_bytes(written);
    if (!table) std::abort();
    ask(*table);
}

void take_file(Bytes bytes) {
    const UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
    const UniqueFd out(::memfd_create("fuzz", MFD_CLOEXEC));
    if (!file || !out || !write_all(file.get(), bytes)) std::abort();
    if (!write_unwind_table(out.get(), file.get(), 16U << 20)) return;
    const auto mapped = MappedFile::map(out.get());
    if (!mapped) std::abort();
    const auto table = FileUnwind::from_bytes(mapped->bytes());
    if (!table) std::abort();
    ask(*table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    if (size == 0) return 0;
    if (data[0] == 0x7f) {
        take_file(bytes);
        return 0;
    }
    if (const auto table = FileUnwind::from_bytes(bytes)) ask(*table);
    const auto kind = (data[0] & 1U) == 0 ? FrameSectionKind::kEhFrame : FrameSectionKind::kDebugFrame;
    take_section(bytes.subspan(1), kind, (data[0] & 2U) == 0 ? UnwindMachine::kX86_64 : UnwindMachine::kArm64);
    (void)eh_frame_address(bytes, 0x500000);
    return 0;
}
