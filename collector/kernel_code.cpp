// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kernel_code.hpp"

#include <algorithm>

#include "base/fd.hpp"
#include "collector/kallsyms.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxPieces = 8192;
constexpr std::uint64_t kMaxLength = 256U << 10;  // of the last one, behind which no symbol lies
constexpr std::uint16_t kBpf = 1;
constexpr std::uint16_t kOutOfLine = 2;

std::uint16_t type_of(std::string_view module) {
    if (module == "bpf") return kBpf;
    return module == "__builtin__ftrace" || module == "__builtin__kprobes" ? kOutOfLine : std::uint16_t{0};
}

}  // namespace

std::vector<KernelCode> parse_kernel_code(std::string_view kallsyms) {
    std::vector<KernelCode> pieces;
    std::vector<std::uint64_t> addresses;
    KallsymsStream stream([&](const KallsymsLine& line) {
        if (line.address == 0) return;
        addresses.push_back(line.address);
        const auto type = type_of(line.module);
        if (type == 0 || pieces.size() == kMaxPieces) return;
        pieces.push_back({.address = line.address, .length = 0, .type = type, .name = std::string(line.name)});
    });
    stream.feed(kallsyms);
    stream.finish();
    if (pieces.empty()) return pieces;
    std::ranges::sort(addresses);
    for (auto& piece : pieces) {
        const auto next = std::ranges::upper_bound(addresses, piece.address);
        const auto end = next == addresses.end() ? piece.address + kMaxLength : *next;
        piece.length = static_cast<std::uint32_t>(std::min(end - piece.address, kMaxLength));
    }
    return pieces;
}

std::vector<KernelCode> read_kernel_code(const std::string& proc_root) {
    const auto text = read_file(proc_root + "/kallsyms", 256U << 20);
    return text ? parse_kernel_code(*text) : std::vector<KernelCode>();
}

}  // namespace perfvigil::collector
