// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>
#include <utility>

#include "analyzer/bundle/evidence_names.hpp"
#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/kernel_dso.hpp"
#include "analyzer/symbols/line_source.hpp"
#include "analyzer/symbols/lines_format.hpp"
#include "analyzer/symbols/regular_file.hpp"
#include "analyzer/symbols/this_host.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kLargestFunction = 4U << 20;
constexpr const char* kKcore = "/proc/kcore";

// Fewer bytes at the file's end.
std::vector<std::byte> bytes_at(int fd, std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(std::min(size, kLargestFunction));
    std::size_t have = 0;
    while (have < bytes.size()) {
        const auto got = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

class CodeFinder {
public:
    CodeFinder(CaptureAnalysis& analysis, const collector::HostFacts& host, const SymbolSources& sources,
               const Clock& clock)
        : names_(analysis.names().names()),
          pokes_(analysis.text_pokes()),
          host_(host),
          sources_(sources),
          clock_(clock) {}

    void find(FunctionCode& made) {
        const CountedFunction& function = made.function;
        if (function.size == 0 || function.size > kLargestFunction) {
            made.notes.emplace_back("Its size is not known, so its code cannot be shown.");
            return;
        }
        switch (function.dso->kind) {
            case collector::DsoKind::kFile: of_file(made); break;
            case collector::DsoKind::kKernel: of_kernel(made); break;
            default: made.notes.push_back("The code of " + function.dso_name + " is in no file."); break;
        }
    }

    // The source lines of all functions that were found; to open the debug information of a large file takes seconds.
    void find_lines() {
        for (auto& [identity, question] : questions_) {
            auto& functions = question.functions;
            for (std::size_t done = 0; done < functions.size();) {
                std::vector<LinkAddress> addresses;
                std::size_t next = done;
                do {
                    const FunctionCode& made = *functions[next++];
                    for (std::uint64_t i = 0; i < made.function.size; ++i)
                        addresses.push_back(LinkAddress{link_start(made).value + i});
                } while (next < functions.size() &&
                         addresses.size() + functions[next]->function.size <= kMaxLineAddresses);
                const std::span part(functions.begin() + static_cast<std::ptrdiff_t>(done), next - done);
                take_lines(part, source_lines_of(names_, *question.file, addresses));
                done = next;
            }
        }
        questions_.clear();
    }

private:
    struct Question {
        OpenedFileRef file;
        std::vector<FunctionCode*> functions;
    };

    static LinkAddress link_start(const FunctionCode& made) { return LinkAddress{made.function.start + made.shift}; }

    void ask_lines(FunctionCode& made, const OpenedFileRef& file) {
        Question& question = questions_[{file->device, file->inode}];
        question.file = file;
        question.functions.push_back(&made);
    }

    static void take_lines(std::span<FunctionCode* const> functions, const Result<SourceLines>& lines) {
        for (FunctionCode* made : functions) {
            if (!lines) {
                made->notes.push_back("Its source lines could not be read: " + lines.error().message + ".");
            } else if (!lines->has_debug_info()) {
                made->notes.push_back("There is no debug information for " + made->function.dso_name +
                                      ": build it with -g, or install its debug symbols, to see source lines.");
            } else {
                made->lines = lines->part(link_start(*made), made->function.size);
            }
        }
    }

    void describe(FunctionCode& made, const ElfHead& head) const {
        made.machine = head.machine;
        made.big_endian = head.big_endian;
        made.wide = head.wide;
    }

    void of_file(FunctionCode& made) {
        const CountedFunction& function = made.function;
        const auto file = names_.symbolizer().file_of(*function.dso);
        if (!file) {
            made.notes.push_back("Its code is not to be had: " + file.error().message + ".");
            return;
        }
        const auto head = read_elf_head((*file)->fd.get());
        if (!head) {
            made.notes.push_back("Its code is not to be had: " + function.dso->path + ": " + head.error().message +
                                 ".");
            return;
        }
        describe(made, *head);
        const auto load = std::ranges::find_if(head->loads, [&](const ElfLoad& l) {
            return function.start >= l.offset && function.start - l.offset < l.size;
        });
        if (load != head->loads.end()) made.shift = load->address - load->offset;
        made.code = bytes_at((*file)->fd.get(), function.start, function.size);
        ask_lines(made, *file);
    }

    void of_kernel(FunctionCode& made) {
        KernelNames& kernel = names_.symbolizer().kernel();
        const bool in_module = made.function.dso_name != kKernelDso;
        // A vmlinux that was named is wanted for its source lines, even where /proc/kcore has the code.
        const bool as_it_is = in_module || !sources_.vmlinux;
        if (as_it_is && same_boot(read_this_host(clock_), host_) && of_kcore(made)) return;
        if (in_module) return of_module(made, kernel);
        if (const VmlinuxSymbols* image = kernel.vmlinux()) return of_vmlinux(made, *image);
        made.notes.emplace_back(
            "For the kernel's code give a vmlinux with its build-id (--vmlinux), or look at the capture as root in the "
            "boot that was recorded.");
    }

    void of_module(FunctionCode& made, KernelNames& kernel) {
        ModuleSymbols* modules = kernel.modules();
        if (modules == nullptr) return;
        const auto code = modules->code_at(RuntimeAddress{made.function.start});
        if (!code) {
            made.notes.push_back("Its code is not to be had: " + code.error().message + ".");
            return;
        }
        const auto head = read_elf_head(code->file->fd.get());
        if (!head) {
            made.notes.push_back("Its code is not to be had: " + head.error().message + ".");
            return;
        }
        describe(made, *head);
        made.code = bytes_at(code->file->fd.get(), code->offset, made.function.size);
        made.notes.emplace_back(
            "The code is that of the module's file: the addresses that the loader writes into it are still zero. "
            "Modules "
            "are shown without source lines.");
        note_pokes(made);
    }

    void of_vmlinux(FunctionCode& made, const VmlinuxSymbols& image) {
        const auto& file = image.file();
        const auto head = read_elf_head(file->fd.get());
        if (!head) {
            made.notes.push_back("The kernel's image: " + head.error().message + ".");
            return;
        }
        describe(made, *head);
        made.shift = image.shift();
        const auto link = made.function.start + made.shift;
        const auto load = std::ranges::find_if(
            head->loads, [&](const ElfLoad& l) { return link >= l.address && link - l.address < l.size; });
        if (load == head->loads.end()) {
            made.notes.emplace_back("The kernel's image does not hold this function's code: it is a debug file alone.");
        } else {
            made.code = bytes_at(file->fd.get(), link - load->address + load->offset, made.function.size);
            made.notes.emplace_back(
                "The code is that of the kernel's image: what the kernel patches in itself at its start is not in it.");
        }
        note_pokes(made);
        ask_lines(made, file);
    }

    bool of_kcore(FunctionCode& made) const {
        const auto file = open_file(kKcore, O_RDONLY);
        if (!file) return false;
        const auto head = read_elf_head(file->get());
        if (!head) return false;
        const auto start = made.function.start;
        const auto load = std::ranges::find_if(
            head->loads, [&](const ElfLoad& l) { return start >= l.address && start - l.address < l.size; });
        if (load == head->loads.end()) return false;
        auto code = bytes_at(file->get(), start - load->address + load->offset, made.function.size);
        if (code.size() != made.function.size) return false;
        describe(made, *head);
        made.code = std::move(code);
        made.notes.emplace_back("The kernel's code is that of /proc/kcore, as it is now.");
        note_pokes(made);
        return true;
    }

    // The kernel's code changes while it runs: static keys, ftrace, kprobes.
    void note_pokes(FunctionCode& made) const {
        const auto from = pokes_.lower_bound(made.function.start);
        const auto to = pokes_.lower_bound(made.function.start + made.function.size);
        std::uint64_t count = 0;
        for (auto poke = from; poke != to; ++poke) count += poke->second;
        if (count == 0) return;
        made.notes.push_back("The kernel rewrote instructions of this function " + std::to_string(count) +
                             (count == 1 ? " time" : " times") +
                             " while it was recorded: samples before that are of other instructions there.");
    }

    HostNames& names_;
    const TextPokes& pokes_;
    const collector::HostFacts& host_;
    const SymbolSources& sources_;
    const Clock& clock_;
    std::map<std::pair<dev_t, ino_t>, Question> questions_;  // by file; functions to be found lines for
};

}  // namespace

void find_codes(std::vector<FunctionCode>& made, CaptureAnalysis& analysis, const collector::HostFacts& host,
                const SymbolSources& sources, const Clock& clock) {
    CodeFinder finder(analysis, host, sources, clock);
    for (auto& function : made) finder.find(function);
    finder.find_lines();
}

Result<FunctionCodes> function_codes(collector::CaptureReader& reader, const CodeRequest& request,
                                     const CaptureOptions& options, const Clock& clock) {
    auto analysis = CaptureAnalysis::prepare(reader, options, clock);
    if (!analysis) return fail(std::move(analysis.error()));
    AddressCounts counts(reader.events().events(), (*analysis)->source(), request.symbol, request.dso, request.event);
    (*analysis)->each_slice([&](const Slice& slice) { counts.add(slice); });
    auto profile = (*analysis)->finish(reader.name());
    if (!profile) return fail(std::move(profile.error()));

    FunctionCodes found;
    found.event = counts.event();
    found.profile = std::move(*profile);
    for (auto& function : counts.functions()) {
        found.functions.emplace_back().function = std::move(function);
    }
    if (auto* evidence = (*analysis)->evidence()) {
        for (auto& made : found.functions) evidence->find_code(made);
    } else {
        find_codes(found.functions, **analysis, reader.host(), options.symbols, clock);
    }
    return found;
}

}  // namespace perfvigil::analyzer
