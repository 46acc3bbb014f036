// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/question.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace perfvigil::analyzer {

Result<std::vector<std::byte>> read_question(int question, std::uint64_t skipped, std::uint64_t max_bytes) {
    struct stat status{};
    if (::fstat(question, &status) != 0) return fail_errno(errno, "fstat");
    const auto all = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    const auto size = all - std::min(all, skipped);
    if (size > max_bytes) return fail(ErrorCode::kInvalid, "malformed question");
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto got =
            ::pread(question, bytes.data() + done, bytes.size() - done, static_cast<off_t>(skipped + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail_errno(got < 0 ? errno : EIO, "pread");
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

}  // namespace perfvigil::analyzer
