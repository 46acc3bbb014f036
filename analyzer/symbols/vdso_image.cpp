// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/vdso_image.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/symbols/elf_head.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// The image's size is that of its mapping: ELF headers do not say how much is mapped.
std::optional<std::uint64_t> mapping_size(std::string_view maps, std::uint64_t start) {
    while (!maps.empty()) {
        auto line = next_piece(maps, '\n');
        const auto from = parse_number<std::uint64_t>(next_piece(line, '-'), 16);
        const auto to = parse_number<std::uint64_t>(next_piece(line, ' '), 16);
        if (from && to && *from == start && *to > *from) return *to - *from;
    }
    return std::nullopt;
}

}  // namespace

Result<OpenedFileRef> copy_own_vdso() {
    const auto start = ::getauxval(AT_SYSINFO_EHDR);
    if (start == 0) return fail(ErrorCode::kNotFound, "the kernel maps no vDSO");
    const auto maps = read_file("/proc/self/maps");
    if (!maps) return fail(maps.error());
    const auto size = mapping_size(*maps, start);
    constexpr std::uint64_t kMaxImage = 1U << 20;
    if (!size || *size > kMaxImage) return fail(ErrorCode::kNotFound, "the vDSO has no mapping of a sane size");
    UniqueFd copy(::memfd_create("vdso", MFD_CLOEXEC));
    if (!copy) return fail_errno(errno, "memfd_create");
    const Bytes image(reinterpret_cast<const std::byte*>(start), *size);  // NOLINT(performance-no-int-to-ptr)
    if (auto written = write_all(copy.get(), image); !written) return fail(std::move(written.error()));
    OpenedFile file;
    file.size = *size;
    if (auto head = read_elf_head(copy.get())) file.build_id = head->build_id;
    file.fd = std::move(copy);
    return std::make_shared<const OpenedFile>(std::move(file));
}

}  // namespace perfvigil::analyzer
