// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/evidence.hpp"

#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

std::string key_of(collector::DsoKind kind, const std::string& path, const BuildId& build_id, std::uint32_t major,
                   std::uint32_t minor, std::uint64_t inode, std::uint64_t generation, Pid pid,
                   const std::string& function, std::uint64_t start) {
    return fmt::format("{} {} {}:{} {} {} {} {} {} {}", static_cast<unsigned>(kind), build_id.hex(), major, minor,
                       inode, generation, pid.value, start, function, path);
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::uint64_t unwound_key(const collector::SampleRecord& sample) {
    const std::array<std::uint64_t, 6> parts{to_ns(sample.sample.time),
                                             static_cast<std::uint64_t>(sample.sample.pid.value),
                                             static_cast<std::uint64_t>(sample.sample.tid.value),
                                             sample.ip,
                                             stable_hash(text_of(sample.chain.bytes())),
                                             stable_hash(text_of(sample.user_stack.bytes()))};
    return stable_hash(text_of(std::as_bytes(std::span(parts))));
}

std::string evidence_key(const collector::Dso& dso) {
    // Of a file it says who was the first to map it, which tells nothing apart.
    const Pid pid = dso.kind == collector::DsoKind::kAnonymous ? dso.first_pid : Pid{};
    return key_of(dso.kind, dso.path, dso.build_id, dso.major, dso.minor, dso.inode, dso.inode_generation, pid,
                  dso.function, dso.start);
}

std::string evidence_key(const Evidence& evidence, const EvidenceDso& dso) {
    return key_of(dso.kind, evidence.strings[dso.path], dso.build_id, dso.major, dso.minor, dso.inode,
                  dso.inode_generation, dso.pid, evidence.strings[dso.function], dso.start);
}

}  // namespace perfvigil::analyzer
