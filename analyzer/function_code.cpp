// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/line_source.hpp"
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
    CodeFinder(CaptureNames& names, const collector::HostFacts& host, const CodeRequest& request, const Clock& clock)
        : names_(names.names()), host_(host), request_(request), clock_(clock) {}

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

private:
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
        find_lines(made, **file);
    }

    void find_lines(FunctionCode& made, const OpenedFile& file) {
        std::vector<LinkAddress> addresses;
        for (std::uint64_t i = 0; i < made.function.size; ++i) {
            addresses.push_back(LinkAddress{made.function.start + i + made.shift});
        }
        auto lines = source_lines_of(names_, file, addresses);
        if (!lines) {
            made.notes.push_back("Its source lines could not be read: " + lines.error().message + ".");
        } else if (!lines->has_debug_info()) {
            made.notes.push_back("There is no debug information for " + made.function.dso_name +
                                 ": build it with -g, or install its debug symbols, to see source lines.");
        } else {
            made.lines = std::move(*lines);
        }
    }

    void of_kernel(FunctionCode& made) {
        if (!request_.vmlinux.empty()) return of_vmlinux(made);
        if (same_boot(read_this_host(clock_), host_) && of_kcore(made)) return;
        made.notes.emplace_back("For the kernel's code give a vmlinux with its build-id (--vmlinux).");
    }

    void of_vmlinux(FunctionCode& made) {
        const auto file = open_regular_at(request_.vmlinux, RemoteFiles::kAllow);
        if (!file) {
            made.notes.push_back("--vmlinux: " + file.error().message + ".");
            return;
        }
        if ((*file)->build_id != host_.kernel_build_id || host_.kernel_build_id.empty()) {
            made.notes.push_back("--vmlinux: " + request_.vmlinux + " has build-id " + (*file)->build_id.hex() +
                                 ", the recorded kernel " +
                                 (host_.kernel_build_id.empty() ? "none" : host_.kernel_build_id.hex()) + ".");
            return;
        }
        const auto head = read_elf_head((*file)->fd.get());
        const auto symbols = names_.child().read((*file)->fd.get());
        if (!head || !symbols) {
            made.notes.push_back("--vmlinux: " + (head ? symbols.error() : head.error()).message + ".");
            return;
        }
        const auto found = named(*symbols, made.function);
        const auto link = found ? symbols->link_address(found->start) : std::nullopt;
        if (!link) {
            made.notes.push_back("--vmlinux: has not exactly one function " + made.function.name +
                                 " of that size; modules are not in it.");
            return;
        }
        describe(made, *head);
        made.shift = link->value - made.function.start;
        made.code = bytes_at((*file)->fd.get(), found->start.value, made.function.size);
        find_lines(made, **file);
    }

    // kallsyms rounds sizes up to the next symbol, so padding may be in it.
    static std::optional<FileSymbols::Function> named(const FileSymbols& symbols, const CountedFunction& function) {
        std::optional<FileSymbols::Function> one;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const auto candidate = symbols.at(i);
            if (candidate.name != function.name || candidate.size > function.size) continue;
            if (one) return std::nullopt;
            one = candidate;
        }
        return one;
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
        describe(made, *head);
        made.code = bytes_at(file->get(), start - load->address + load->offset, made.function.size);
        made.notes.emplace_back("The kernel's code is that of /proc/kcore, as it is now.");
        return !made.code.empty();
    }

    HostNames& names_;
    const collector::HostFacts& host_;
    const CodeRequest& request_;
    const Clock& clock_;
};

}  // namespace

Result<FunctionCodes> function_codes(collector::CaptureReader& reader, const CodeRequest& request,
                                     const CaptureOptions& options, const Clock& clock) {
    auto analysis = CaptureAnalysis::prepare(reader, options, clock);
    if (!analysis) return fail(std::move(analysis.error()));
    AddressCounts counts(reader.events().events(), (*analysis)->names(), request.symbol, request.dso, request.event);
    (*analysis)->each_slice([&](const Slice& slice) { counts.add(slice); });
    auto profile = (*analysis)->finish(reader.name());
    if (!profile) return fail(std::move(profile.error()));

    FunctionCodes found;
    found.event = counts.event();
    found.profile = std::move(*profile);
    CodeFinder finder((*analysis)->names(), reader.host(), request, clock);
    for (auto& function : counts.functions()) {
        FunctionCode made;
        made.function = std::move(function);
        finder.find(made);
        found.functions.push_back(std::move(made));
    }
    return found;
}

}  // namespace perfvigil::analyzer
