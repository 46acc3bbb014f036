// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/module_symbols.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "analyzer/symbols/elf_head.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::KernelModule;

bool same_place(const KernelModule& a, const KernelModule& b) {
    return a.name == b.name && a.start == b.start && a.build_id == b.build_id && a.sections == b.sections;
}

std::vector<PlacedSection> placed(const KernelModule& module) {
    std::vector<PlacedSection> sections;
    for (const auto& section : module.sections) sections.push_back({.name = section.name, .address = section.address});
    return sections;
}

// As many as are worth reading.
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kNamed = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
    return text;
}

}  // namespace

void ModuleSymbols::set_modules(std::vector<KernelModule> modules) {
    for (auto& known : modules_) known->wanted = false;
    by_start_.clear();
    for (auto& facts : modules) {
        const auto known = std::ranges::find_if(modules_, [&](const auto& m) { return same_place(m->facts, facts); });
        Module* module = nullptr;
        if (known != modules_.end()) {
            module = known->get();
        } else {
            const auto dso = '[' + escape(facts.name) + ']';
            modules_.push_back(std::make_unique<Module>(Module{.facts = std::move(facts), .dso = dso}));
            module = modules_.back().get();
        }
        module->wanted = true;
        by_start_[module->facts.start] = module;
    }
}

void ModuleSymbols::begin_window() {
    std::erase_if(modules_, [](const auto& module) { return !module->wanted; });
}

ModuleSymbols::Module* ModuleSymbols::module_at(RuntimeAddress address) const {
    const auto after = by_start_.upper_bound(address.value);
    if (after == by_start_.begin()) return nullptr;
    Module* module = std::prev(after)->second;
    return address.value - module->facts.start < module->facts.size ? module : nullptr;
}

std::string_view ModuleSymbols::dso_at(RuntimeAddress address) const {
    const Module* module = module_at(address);
    return module == nullptr ? std::string_view() : std::string_view(module->dso);
}

ModuleSymbols::Answer ModuleSymbols::find(RuntimeAddress address) {
    Module* module = module_at(address);
    if (module == nullptr) return {};
    if (!module->tried) load(*module);
    if (!module->symbols) return {.kind = Kind::kNoFile, .dso = module->dso};
    const FileOffset at{address.value};
    if (const auto function = module->symbols->find(at)) {
        return {.kind = Kind::kFunction,
                .dso = module->dso,
                .name = function->name,
                .start = RuntimeAddress{function->start.value},
                .size = function->size};
    }
    const bool in_file = module->symbols->link_address(at).has_value();
    return {.kind = in_file ? Kind::kGap : Kind::kElsewhere, .dso = module->dso};
}

void ModuleSymbols::load(Module& module) {
    if (bytes() > kMaxBytes) {
        module.tried = true;
        module.why = "the tables of other modules fill their limit";
        return;
    }
    auto found = search(module.facts);
    if (found) {
        module.tried = true;
        module.symbols = std::move(found->symbols);
        return;
    }
    // What is wrong with the child will pass; what is wrong with the files will not.
    module.tried = found.error().code != ErrorCode::kBusy && found.error().code != ErrorCode::kCancelled;
    module.why = std::move(found.error().message);
}

Result<ModuleSymbols::Found> ModuleSymbols::search(const KernelModule& module) {
    const auto missing = [](const char* why) { return fail(ErrorCode::kNotFound, why); };
    if (module.sections.empty()) return missing("where its sections lie is not known");
    if (module.build_id.empty()) return missing("its build-id is not known");
    Error best{ErrorCode::kNotFound, 0, "there is no file of it"};
    for (const auto& candidate : files_.module_files(module)) {
        auto found = judge(candidate, module);
        if (found || found.error().code == ErrorCode::kBusy || found.error().code == ErrorCode::kCancelled)
            return found;
        best = std::move(found.error());
    }
    return fail(std::move(best));
}

Result<InlinedFrames> ModuleSymbols::inlined(const std::vector<LinkAddress>& addresses) {
    const Module* module = addresses.empty() ? nullptr : module_at(RuntimeAddress{addresses.front().value});
    if (module == nullptr) return fail(ErrorCode::kNotFound, "no module is known to lie there");
    const auto& facts = module->facts;
    std::vector<OpenedFileRef> files;
    if (auto own = search(facts)) files.push_back(std::move(own->file));
    for (const auto& candidate : files_.module_debug_files(facts)) {
        if (auto debug = read(candidate, facts)) files.push_back(std::move(debug->file));
    }
    std::vector<RuntimeAddress> asked;
    for (const auto address : addresses) asked.push_back(RuntimeAddress{address.value});
    for (const auto& file : files) {
        auto frames = child_.inlined_in_module(file->fd.get(), placed(facts), asked);
        if (!frames || frames->has_debug_info()) return frames;
    }
    return fail(ErrorCode::kNotFound,
                "there is no debug information of the module (built with CONFIG_DEBUG_INFO, or in a separate debug "
                "file)");
}

Result<ModuleSymbols::Found> ModuleSymbols::judge(const OpenedFileRef& candidate, const KernelModule& module) {
    auto found = read(candidate, module);
    if (found && found->symbols.state() != FileState::kFunctions) {
        return fail(ErrorCode::kInvalid, "its file has no symbols");
    }
    return found;
}

Result<ModuleSymbols::Found> ModuleSymbols::read(const OpenedFileRef& candidate, const KernelModule& module) {
    OpenedFileRef file = candidate;
    if (!read_elf_head(file->fd.get())) {
        auto inflated = child_.inflate(file->fd.get());
        if (!inflated) return fail(std::move(inflated.error()));
        struct stat st{};
        if (::fstat(inflated->get(), &st) != 0) return fail_errno(errno, "fstat");
        OpenedFile whole;
        whole.fd = std::move(*inflated);
        whole.size = static_cast<std::uint64_t>(std::max<off_t>(st.st_size, 0));
        whole.modified = candidate->modified;
        file = std::make_shared<const OpenedFile>(std::move(whole));
    }
    auto symbols = child_.read_module(file->fd.get(), placed(module));
    if (!symbols) return fail(std::move(symbols.error()));
    if (symbols->build_id() != module.build_id) return fail(ErrorCode::kInvalid, "its file has another build-id");
    return Found{.file = std::move(file), .symbols = std::move(*symbols)};
}

Result<ModuleSymbols::Code> ModuleSymbols::code_at(RuntimeAddress address) {
    const Module* module = module_at(address);
    if (module == nullptr) return fail(ErrorCode::kNotFound, "no module is known to lie there");
    auto found = search(module->facts);
    if (!found) return fail(std::move(found.error()).at(module->facts.name));
    const auto offset = found->symbols.link_address(FileOffset{address.value});
    if (!offset) return fail(ErrorCode::kNotFound, module->facts.name + ": the code is in no section of its file");
    return Code{.file = std::move(found->file), .offset = offset->value};
}

std::string ModuleSymbols::sentence() const {
    std::vector<std::string> by_file;
    std::vector<std::string> by_kallsyms;
    for (const auto& module : modules_) {
        if (module->symbols)
            by_file.push_back(escape(module->facts.name));
        else if (module->tried)
            by_kallsyms.push_back(fmt::format("{} ({})", escape(module->facts.name), module->why));
    }
    if (by_file.empty() && by_kallsyms.empty()) return {};
    std::string text = "Functions of kernel modules are named ";
    if (!by_file.empty()) text += "by the modules' files and where the kernel put their sections: " + listed(by_file);
    if (!by_file.empty() && !by_kallsyms.empty()) text += "; ";
    if (!by_kallsyms.empty()) {
        text += "by the kernel's own symbol list alone, which knows no sizes: " + listed(by_kallsyms);
    }
    return text + ".";
}

std::size_t ModuleSymbols::bytes() const {
    std::size_t sum = 0;
    for (const auto& module : modules_) sum += module->symbols ? module->symbols->bytes() : 0;
    return sum;
}

}  // namespace perfvigil::analyzer
