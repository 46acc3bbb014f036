// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information of a foreign file, all the way: the child's search for lines and inlined calls, its answers, the
// caller's check of them. The bytes go to the checks as they are, too: the child may answer anything.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "analyzer/symbols/child/inlined_calls.hpp"
#include "analyzer/symbols/child/line_tables.hpp"
#include "analyzer/symbols/inlined_frames.hpp"
#include "analyzer/symbols/source_lines.hpp"
#include "base/fd.hpp"

using namespace perfvigil;
using namespace perfvigil::analyzer;

namespace {

UniqueFd memory_file(Bytes bytes) {
    UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
    if (!fd || !write_all(fd.get(), bytes)) std::abort();
    return fd;
}

// Where small programs have their code, whatever they were linked to.
std::vector<LinkAddress> addresses() {
    std::vector<LinkAddress> all;
    for (std::uint64_t base : {0x0U, 0x1000U, 0x400080U}) {
        for (std::uint64_t at = 0; at < 128; ++at) all.push_back(LinkAddress{base + at});
    }
    return all;
}

template <class Answer>
Answer answered(const std::vector<LinkAddress>& asked, Result<void> (*answer)(int question, int file), int file) {
    std::vector<std::byte> question;
    ByteWriter writer(question);
    for (const auto address : asked) writer.u64(address.value);
    const auto out = memory_file(question);
    if (!answer(out.get(), file)) std::abort();
    const auto mapped = MappedFile::map(out.get());
    if (!mapped) std::abort();
    // What our own child writes is always accepted.
    auto checked = Answer::from_bytes(mapped->bytes().subspan(question.size()), asked);
    if (!checked) std::abort();
    return std::move(*checked);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t kMostBytes = 64U << 20;
    const Bytes bytes = std::as_bytes(std::span(data, size));
    (void)SourceLines::from_bytes(bytes, {LinkAddress{0x401000}});
    (void)InlinedFrames::from_bytes(bytes, {LinkAddress{0x401000}, LinkAddress{0x401004}});

    const auto file = memory_file(bytes);
    const auto asked = addresses();
    const auto lines = answered<SourceLines>(
        asked, [](int question, int elf) { return answer_lines(question, elf, kMostBytes); }, file.get());
    const auto frames = answered<InlinedFrames>(
        asked, [](int question, int elf) { return answer_inlined(question, elf, elf, kMostBytes); }, file.get());
    for (const auto address : asked) {
        const auto found = frames.find(address);
        const auto line = lines.find(address);
        // Both ask the same tables.
        if (line && (found.empty() || found.front().line != line->line || found.front().file != line->file)) {
            std::abort();
        }
    }
    return 0;
}
