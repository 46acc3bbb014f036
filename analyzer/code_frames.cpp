// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/code_frames.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/line_source.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

std::optional<LinkAddress> link_address(const ElfHead& head, std::uint64_t offset) {
    const auto load = std::ranges::find_if(
        head.loads, [&](const ElfLoad& l) { return offset >= l.offset && offset - l.offset < l.size; });
    if (load == head.loads.end()) return std::nullopt;
    return LinkAddress{offset - load->offset + load->address};
}

// The instructions `wanted` of one Dso, by their positions in `codes`.
void find_in_dso(const std::vector<SampledCode>& codes, const std::vector<std::size_t>& wanted, HostNames& names,
                 CodeFrames& made) {
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
    const auto found = inlined_frames_of(names, **file, addresses);
    if (!found) {
        made.sentences.push_back(
            fmt::format("{}: its lines and inlined calls are not known: {}.", escape(dso.path), found.error().message));
        return;
    }
    if (found->is_split()) {
        made.sentences.push_back(fmt::format(
            "{}: its debug information lies partly in .dwo files, which are not read: lines are known, inlined calls "
            "are not.",
            escape(dso.path)));
    }
    if (found->lacks_alt()) {
        made.sentences.push_back(fmt::format(
            "{}: its debug information names functions in a file that is not here (build-id {}, made by dwz): some "
            "inlined calls have no name.",
            escape(dso.path), found->alt().hex()));
    }
    for (const auto position : wanted) {
        if (const auto address = link_address(*head, codes[position].offset)) {
            made.frames[position] = found->find(*address);
        }
    }
}

}  // namespace

CodeFrames code_frames(const std::vector<SampledCode>& codes, HostNames& names) {
    std::map<std::uint64_t, std::vector<std::size_t>> by_dso;
    for (std::size_t i = 0; i < codes.size(); ++i) by_dso[codes[i].dso->id.value].push_back(i);
    CodeFrames made;
    made.frames.resize(codes.size());
    for (const auto& [id, wanted] : by_dso) find_in_dso(codes, wanted, names, made);
    return made;
}

}  // namespace perfvigil::analyzer
