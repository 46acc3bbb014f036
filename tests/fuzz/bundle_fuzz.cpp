// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles: the input as the protobuf inside the evidence's zstd frame (what is accepted must come back equal and answer
// every question), as a trailer, and as a whole file.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/bundle/evidence_codec.hpp"
#include "analyzer/bundle/evidence_names.hpp"
#include "analyzer/bundle/open_capture.hpp"
#include "collector/file_trailer.hpp"

using namespace perfvigil;
using namespace perfvigil::analyzer;

namespace {

void ask(const std::shared_ptr<const Evidence>& evidence) {
    EvidenceNames names(evidence);
    (void)names.kernel_text();
    std::uint32_t id = 0;
    for (const auto& known : evidence->dsos) {
        collector::Dso dso;
        dso.id = collector::DsoId{++id};
        dso.kind = known.kind;
        dso.path = evidence->strings[known.path];
        dso.build_id = known.build_id;
        dso.major = known.major;
        dso.minor = known.minor;
        dso.inode = known.inode;
        dso.inode_generation = known.inode_generation;
        dso.first_pid = known.pid;
        dso.function = evidence->strings[known.function];
        dso.start = known.start;
        const auto ref = std::make_shared<const collector::Dso>(dso);
        std::vector<SampledCode> codes;
        for (const auto& address : known.addresses) {
            (void)names.resolve(ref, address.offset);
            codes.push_back({.dso = ref, .offset = address.offset});
        }
        (void)names.jit_code(ref);
        if (names.frames_of(codes, DebugScope::kEverything).frames.size() != codes.size()) std::abort();
        for (const auto& code : evidence->codes) {
            FunctionCode made;
            made.function.dso = ref;
            made.function.start = code.start;
            names.find_code(made);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    (void)collector::read_trailer(bytes, size);
    (void)decode_evidence(bytes);
    (void)open_capture(std::vector<std::byte>(bytes.begin(), bytes.end()), "fuzz");
    std::vector<std::byte> frame(ZSTD_compressBound(size));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), data, size, 1));
    auto evidence = decode_evidence(frame);
    if (!evidence) return 0;
    const auto again = decode_evidence(encode_evidence(*evidence));
    if (!again || *again != *evidence) std::abort();
    ask(std::make_shared<const Evidence>(std::move(*evidence)));
    return 0;
}
