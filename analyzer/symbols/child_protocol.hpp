// SPDX-License-Identifier: GPL-2.0-or-later
// The words between perfvigil-symbols and the process that started it, over a SOCK_SEQPACKET pair. The child says once
// that it is ready (a reply to request 0: its sandbox is closed); from then on one request, one reply, in turn. A
// request carries two descriptors: the file to read (regular, opened for reading) and a memfd for the answer, which the
// caller seals before it looks: empty for symbols (table_format.hpp), with the question at its head for source lines
// (lines_format.hpp), modules (module_question.hpp), inlined calls (inlined_format.hpp) and names. Inlined calls may
// need a third one: of the file that this one shares debug information with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/symbols/table_format.hpp"
#include "base/bytes.hpp"

namespace perfvigil::analyzer {

inline constexpr int kChildSocket = 3;  // the descriptor on which the child finds its end
inline constexpr std::uint32_t kRequestMagic = 0x51565046;
inline constexpr std::uint32_t kReplyMagic = 0x52565046;
inline constexpr std::size_t kRequestDescriptors = 2;
inline constexpr std::size_t kMaxRequestDescriptors = 3;
inline constexpr std::size_t kMaxMessage = 64;

enum class RequestKind : std::uint32_t {
    kSymbols = 0,
    kLines = 1,
    kDebugFile = 2,        // the symbols of a separate debug file, in link addresses: the code itself is not in it
    kLinkedDebugFile = 3,  // the same, if the whole file has the checksum `crc`
    kUnwind = 4,           // how to get from each instruction to its caller (unwind_format.hpp)
    // Those of a kernel module (ET_REL) whose sections lie where the question says (module_question.hpp), in runtime
    // addresses; the table's segments lead from those to the file's offsets.
    kModule = 5,
    kInflate = 6,  // the answer is the file itself, without its compression (gzip, xz, zstd)
    kInlined = 7,
    kInlinedInModule = 8,  // of a kernel module: its sections, then the addresses, which are runtime addresses
    kPackages = 9,         // of an rpm database: the answer is text, as apk keeps its own (child/rpm_packages.hpp)
    // Names of tables in NameForm::kLinker, as they are shown (child/demangled_names.hpp). The file is the memfd again.
    kDemangle = 10,
};

struct SymbolRequest {
    RequestKind kind = RequestKind::kSymbols;
    std::uint64_t id = 0;
    std::uint64_t max_table_bytes = 0;  // of the answer
    std::uint32_t cpu_seconds = 0;      // the child dies by SIGXCPU when one file takes longer
    std::uint32_t crc = 0;              // kLinkedDebugFile
    NameForm names = NameForm::kShown;  // of what tables of functions hold
};

enum class ReplyStatus : std::uint32_t {
    kWritten = 0,
    kTooLarge = 1,   // the table would not fit max_table_bytes
    kFailed = 2,     // memory or the output file gave out
    kOtherFile = 3,  // kLinkedDebugFile: its checksum is another one
};

struct SymbolReply {
    std::uint64_t id = 0;
    ReplyStatus status = ReplyStatus::kFailed;
};

[[nodiscard]] inline std::vector<std::byte> encode(const SymbolRequest& request) {
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.u32(kRequestMagic);
    writer.u32(static_cast<std::uint32_t>(request.kind));
    writer.u32(request.cpu_seconds);
    writer.u64(request.id);
    writer.u64(request.max_table_bytes);
    writer.u32(request.crc);
    writer.u32(static_cast<std::uint32_t>(request.names));
    return out;
}

[[nodiscard]] inline std::optional<SymbolRequest> decode_request(Bytes message) {
    ByteReader reader(message);
    const bool known = reader.u32() == kRequestMagic;
    SymbolRequest request;
    const auto kind = reader.u32();
    request.cpu_seconds = reader.u32();
    request.id = reader.u64();
    request.max_table_bytes = reader.u64();
    request.crc = reader.u32();
    const auto names = reader.u32();
    if (!known || !reader.ok() || kind > static_cast<std::uint32_t>(RequestKind::kDemangle)) return std::nullopt;
    if (names > static_cast<std::uint32_t>(NameForm::kLinker)) return std::nullopt;
    request.kind = static_cast<RequestKind>(kind);
    request.names = static_cast<NameForm>(names);
    return request;
}

[[nodiscard]] inline std::vector<std::byte> encode(const SymbolReply& reply) {
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.u32(kReplyMagic);
    writer.u32(static_cast<std::uint32_t>(reply.status));
    writer.u64(reply.id);
    return out;
}

[[nodiscard]] inline std::optional<SymbolReply> decode_reply(Bytes message) {
    ByteReader reader(message);
    const bool known = reader.u32() == kReplyMagic;
    const auto status = reader.u32();
    SymbolReply reply;
    reply.id = reader.u64();
    if (!known || !reader.ok() || status > static_cast<std::uint32_t>(ReplyStatus::kOtherFile)) return std::nullopt;
    reply.status = static_cast<ReplyStatus>(status);
    return reply;
}

}  // namespace perfvigil::analyzer
