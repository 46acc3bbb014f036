// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/code_frames.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/kernel_dso.hpp"
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

// One question to one file, and what its answer lacks.
class FileFrames {
public:
    FileFrames(const std::vector<SampledCode>& codes, CodeFrames& made) : codes_(codes), made_(made) {}

    // `to_link`: optional<LinkAddress>(offset in the Dso's terms); `ask`: Result<InlinedFrames>(addresses).
    template <class ToLink, class Ask>
    void find(const std::vector<std::size_t>& wanted, const std::string& name, std::vector<std::string>& sentences,
              ToLink&& to_link, Ask&& ask) {
        std::vector<std::pair<std::size_t, LinkAddress>> places;
        std::vector<LinkAddress> addresses;
        for (const auto position : wanted) {
            const std::optional<LinkAddress> address = to_link(codes_[position].offset);
            if (!address) continue;
            places.emplace_back(position, *address);
            addresses.push_back(*address);
        }
        if (addresses.empty()) return;
        const Result<InlinedFrames> found = ask(addresses);
        if (!found) {
            sentences.push_back(
                fmt::format("{}: its lines and inlined calls are not known: {}.", name, found.error().message));
            return;
        }
        say_what_is_missing(*found, name, sentences);
        for (const auto& [position, address] : places) made_.frames[position] = found->find(address);
    }

private:
    static void say_what_is_missing(const InlinedFrames& found, const std::string& name,
                                    std::vector<std::string>& sentences) {
        if (found.is_split()) {
            const auto& files = found.split_files();
            const auto more = found.split_units() - std::min<std::uint64_t>(found.split_units(), files.size());
            sentences.push_back(fmt::format(
                "{}: its debug information lies partly in .dwo files, which are not read: lines are known, inlined "
                "calls are not. Those with sampled code: {}{}. Built without -gsplit-dwarf it has them itself.",
                name, fmt::join(files, ", "), more == 0 ? "" : fmt::format(" and {} more", more)));
        }
        if (found.lacks_alt()) {
            sentences.push_back(fmt::format(
                "{}: its debug information names functions in a file that is not here (build-id {}, made by dwz): some "
                "inlined calls have no name.",
                name, found.alt().hex()));
        }
    }

    const std::vector<SampledCode>& codes_;
    CodeFrames& made_;
};

class Search {
public:
    Search(const std::vector<SampledCode>& codes, DebugScope scope, HostNames& names, CodeFrames& made)
        : codes_(codes), scope_(scope), names_(names), made_(made), files_(codes, made) {}

    // The instructions `wanted` of one Dso, by their positions in `codes`.
    void in_dso(const std::vector<std::size_t>& wanted) {
        switch (codes_[wanted.front()].dso->kind) {
            case collector::DsoKind::kFile: return in_file(wanted);
            case collector::DsoKind::kKernel: return in_kernel(wanted);
            default: return;
        }
    }

private:
    void in_file(const std::vector<std::size_t>& wanted) {
        const collector::Dso& dso = *codes_[wanted.front()].dso;
        const auto file = names_.symbolizer().file_of(dso);
        if (!file) return;
        const auto head = read_elf_head((*file)->fd.get());
        if (!head) return;
        files_.find(
            wanted, escape(dso.path), made_.sentences,
            [&](std::uint64_t offset) { return link_address(*head, offset); },
            [&](const auto& addresses) { return inlined_frames_of(names_, **file, addresses); });
    }

    void in_kernel(const std::vector<std::size_t>& wanted) {
        KernelNames& kernel = names_.symbolizer().kernel();
        ModuleSymbols* modules = kernel.modules();
        std::map<std::string, std::vector<std::size_t>> by_module;
        std::vector<std::size_t> core;
        for (const auto position : wanted) {
            const RuntimeAddress address{codes_[position].offset};
            const auto module = modules == nullptr ? std::string_view() : modules->dso_at(address);
            if (module.empty())
                core.push_back(position);
            else
                by_module[std::string(module)].push_back(position);
        }
        in_image(core, kernel);
        if (scope_ == DebugScope::kNotModules) return;
        for (const auto& [dso, positions] : by_module) in_module(positions, dso, *modules);
    }

    void in_image(const std::vector<std::size_t>& wanted, KernelNames& kernel) {
        const VmlinuxSymbols* image = kernel.vmlinux();
        if (image == nullptr) return;
        files_.find(
            wanted, std::string(kKernelDso), made_.sentences,
            [&](std::uint64_t address) { return std::optional(LinkAddress{address + image->shift()}); },
            [&](const auto& addresses) { return inlined_frames_of(names_, *image->file(), addresses); });
    }

    void in_module(const std::vector<std::size_t>& wanted, const std::string& dso, ModuleSymbols& modules) {
        files_.find(
            wanted, dso, made_.module_sentences,
            [](std::uint64_t address) { return std::optional(LinkAddress{address}); },
            [&](const auto& addresses) { return modules.inlined(addresses); });
    }

    const std::vector<SampledCode>& codes_;
    DebugScope scope_;
    HostNames& names_;
    CodeFrames& made_;
    FileFrames files_;
};

}  // namespace

CodeFrames code_frames(const std::vector<SampledCode>& codes, DebugScope scope, HostNames& names) {
    std::map<std::uint64_t, std::vector<std::size_t>> by_dso;
    for (std::size_t i = 0; i < codes.size(); ++i) by_dso[codes[i].dso->id.value].push_back(i);
    CodeFrames made;
    made.frames.resize(codes.size());
    Search search(codes, scope, names, made);
    for (const auto& [id, wanted] : by_dso) search.in_dso(wanted);
    return made;
}

}  // namespace perfvigil::analyzer
