// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/evidence.hpp"

#include <fmt/format.h>

namespace perfvigil::analyzer {
namespace {

std::string key_of(collector::DsoKind kind, const std::string& path, const BuildId& build_id, std::uint32_t major,
                   std::uint32_t minor, std::uint64_t inode, std::uint64_t generation, Pid pid) {
    return fmt::format("{} {} {}:{} {} {} {} {}", static_cast<unsigned>(kind), build_id.hex(), major, minor, inode,
                       generation, pid.value, path);
}

}  // namespace

std::string evidence_key(const collector::Dso& dso) {
    // Of a file it says who was the first to map it, which tells nothing apart.
    const Pid pid = dso.kind == collector::DsoKind::kAnonymous ? dso.first_pid : Pid{};
    return key_of(dso.kind, dso.path, dso.build_id, dso.major, dso.minor, dso.inode, dso.inode_generation, pid);
}

std::string evidence_key(const Evidence& evidence, const EvidenceDso& dso) {
    return key_of(dso.kind, evidence.strings[dso.path], dso.build_id, dso.major, dso.minor, dso.inode,
                  dso.inode_generation, dso.pid);
}

}  // namespace perfvigil::analyzer
