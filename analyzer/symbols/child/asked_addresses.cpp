// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/asked_addresses.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "analyzer/symbols/lines_format.hpp"

namespace perfvigil::analyzer {

Result<std::vector<std::uint64_t>> read_asked_addresses(int question, std::uint64_t skipped) {
    struct stat status{};
    if (::fstat(question, &status) != 0) return fail_errno(errno, "fstat");
    const auto all = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    const auto size = all - std::min(all, skipped);
    if (size % sizeof(std::uint64_t) != 0 || size / sizeof(std::uint64_t) > kMaxLineAddresses) {
        return fail(ErrorCode::kInvalid, "malformed question");
    }
    std::vector<std::uint64_t> addresses(size / sizeof(std::uint64_t));
    std::size_t done = 0;
    while (done < size) {
        const auto got = ::pread(question, reinterpret_cast<std::byte*>(addresses.data()) + done, size - done,
                                 static_cast<off_t>(skipped + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail_errno(got < 0 ? errno : EIO, "pread");
        done += static_cast<std::size_t>(got);
    }
    if (std::ranges::adjacent_find(addresses, std::greater_equal{}) != addresses.end()) {
        return fail(ErrorCode::kInvalid, "malformed question");
    }
    return addresses;
}

}  // namespace perfvigil::analyzer
