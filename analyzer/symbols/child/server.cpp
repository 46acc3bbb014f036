// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/symbols/child/demangled_names.hpp"
#include "analyzer/symbols/child/elf_symbols.hpp"
#include "analyzer/symbols/child/gnu_sections.hpp"
#include "analyzer/symbols/child/inflate.hpp"
#include "analyzer/symbols/child/inlined_calls.hpp"
#include "analyzer/symbols/child/line_tables.hpp"
#include "analyzer/symbols/child/placed_sections.hpp"
#include "analyzer/symbols/child/rpm_packages.hpp"
#include "analyzer/symbols/child/sandbox.hpp"
#include "analyzer/symbols/child/table_writer.hpp"
#include "analyzer/symbols/child/unwind_sections.hpp"
#include "analyzer/symbols/child_protocol.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

struct Job {
    SymbolRequest request;
    UniqueFd file;
    UniqueFd table;
    UniqueFd shared;  // kInlined: what the file shares with others
};

// nullopt: the parent is gone.
Result<std::optional<Job>> receive(int socket) {
    std::array<std::byte, kMaxMessage> text{};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxRequestDescriptors * sizeof(int))> control{};
    iovec part{.iov_base = text.data(), .iov_len = text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t size = 0;
    do size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size < 0) return fail_errno(errno, "recvmsg");
    if (size == 0) return std::optional<Job>{};

    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    const bool carries = header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
                         header->cmsg_len >= CMSG_LEN(kRequestDescriptors * sizeof(int)) &&
                         header->cmsg_len <= CMSG_LEN(kMaxRequestDescriptors * sizeof(int));
    const auto request = decode_request(Bytes(text).first(static_cast<std::size_t>(size)));
    if (!carries || !request) return fail(ErrorCode::kInvalid, "malformed request");
    std::array<int, kMaxRequestDescriptors> fds{-1, -1, -1};
    std::memcpy(fds.data(), CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    return Job{.request = *request, .file = UniqueFd(fds[0]), .table = UniqueFd(fds[1]), .shared = UniqueFd(fds[2])};
}

Result<void> answer(const Job& job) {
    ElfLimits limits;
    switch (job.request.kind) {
        case RequestKind::kLines: return answer_lines(job.table.get(), job.file.get(), job.request.max_table_bytes);
        case RequestKind::kUnwind:
            return write_unwind_table(job.table.get(), job.file.get(), job.request.max_table_bytes);
        case RequestKind::kInlined:
            return answer_inlined(job.table.get(), job.file.get(), job.shared.get(), job.request.max_table_bytes);
        case RequestKind::kInlinedInModule:
            return answer_inlined_in_module(job.table.get(), job.file.get(), job.request.max_table_bytes);
        case RequestKind::kPackages:
            return answer_packages(job.table.get(), job.file.get(), job.request.max_table_bytes);
        case RequestKind::kDemangle: return answer_demangled(job.table.get(), job.request.max_table_bytes);
        case RequestKind::kSymbols: break;
        case RequestKind::kLinkedDebugFile:
            if (debug_link_crc(job.file.get()) != job.request.crc) return fail(ErrorCode::kNotFound, "another file");
            [[fallthrough]];
        case RequestKind::kDebugFile: limits.link_addresses = true; break;
        case RequestKind::kInflate:
            return answer_inflated(job.table.get(), job.file.get(), job.request.max_table_bytes);
        case RequestKind::kModule:
            auto placed = read_placed_sections(job.table.get());
            if (!placed) return fail(std::move(placed.error()));
            limits.sections = std::move(placed->sections);
            break;
    }
    limits.section_bytes = std::max<std::uint64_t>(job.request.max_table_bytes, 64U << 20);
    return write_table(job.table.get(), read_elf_symbols(job.file.get(), limits), job.request.max_table_bytes,
                       job.request.names);
}

ReplyStatus work(const Job& job) {
    // libelf reports exhausted memory as a failure; our own containers throw.
    try {
        const auto written = answer(job);
        if (written) return ReplyStatus::kWritten;
        if (written.error().code == ErrorCode::kNotFound) return ReplyStatus::kOtherFile;
        // ENOSPC is kExhausted too, but no limit of the table's.
        const bool too_large = written.error().code == ErrorCode::kExhausted && written.error().error_number == 0;
        return too_large ? ReplyStatus::kTooLarge : ReplyStatus::kFailed;
    } catch (const std::bad_alloc&) {
        return ReplyStatus::kFailed;
    }
}

Result<void> send(int socket, const SymbolReply& reply) {
    auto text = encode(reply);
    iovec part{.iov_base = text.data(), .iov_len = text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return fail_errno(errno, "sendmsg");
    return {};
}

}  // namespace

Result<void> serve(int socket) {
    if (auto ready = send(socket, {.id = 0, .status = ReplyStatus::kWritten}); !ready) return ready;
    while (true) {
        auto received = receive(socket);
        if (!received) return fail(std::move(received.error()));
        std::optional<Job> job = std::move(*received);
        if (!job) return {};
        limit_cpu_from_now(job->request.cpu_seconds);
        const SymbolReply reply{.id = job->request.id, .status = work(*job)};
        job.reset();  // the parent seals the table next: let go of it before the reply
        if (auto sent = send(socket, reply); !sent) return sent;
    }
}

}  // namespace perfvigil::analyzer
