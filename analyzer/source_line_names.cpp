// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/source_line_names.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/line_source.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kNoLine = "(no line)";

std::optional<LinkAddress> link_address(const ElfHead& head, std::uint64_t offset) {
    const auto load = std::ranges::find_if(
        head.loads, [&](const ElfLoad& l) { return offset >= l.offset && offset - l.offset < l.size; });
    if (load == head.loads.end()) return std::nullopt;
    return LinkAddress{offset - load->offset + load->address};
}

// The lines of the instructions `wanted` of one Dso, by their positions in `codes`.
void name_dso(const std::vector<SampledCode>& codes, const std::vector<std::size_t>& wanted, HostNames& names,
              std::vector<std::string>& lines) {
    const collector::Dso& dso = *codes[wanted.front()].dso;
    if (dso.kind != collector::DsoKind::kFile) return;
    const auto file = names.symbolizer().file_of(dso);
    if (!file) return;
    const auto head = read_elf_head((*file)->fd.get());
    if (!head) return;
    std::vector<LinkAddress> addresses;
    for (const auto position : wanted) {
        if (const auto address = link_address(*head, codes[position].offset)) addresses.push_back(*address);
    }
    const auto found = source_lines_of(names, **file, addresses);
    if (!found) return;
    for (const auto position : wanted) {
        const auto address = link_address(*head, codes[position].offset);
        const auto line = address ? found->find(*address) : std::nullopt;
        if (line) lines[position] = fmt::format("{}:{}", base_name(line->file), line->line);
    }
}

}  // namespace

void name_source_lines(Profile& profile, const std::vector<SampledCode>& codes, HostNames& names) {
    std::map<std::uint64_t, std::vector<std::size_t>> by_dso;
    for (std::size_t i = 0; i < codes.size(); ++i) by_dso[codes[i].dso->id.value].push_back(i);
    std::vector<std::string> lines(codes.size(), kNoLine);
    for (const auto& [id, wanted] : by_dso) name_dso(codes, wanted, names, lines);
    for (auto& context : profile.contexts) {
        const auto position = parse_number<std::size_t>(context.source_line);
        context.source_line = position && *position < lines.size() ? lines[*position] : kNoLine;
    }
}

}  // namespace perfvigil::analyzer
