// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/asked_addresses.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "analyzer/symbols/child/question.hpp"
#include "analyzer/symbols/lines_format.hpp"

namespace perfvigil::analyzer {

Result<std::vector<std::uint64_t>> read_asked_addresses(int question, std::uint64_t skipped) {
    const auto bytes = read_question(question, skipped, kMaxLineAddresses * sizeof(std::uint64_t));
    if (!bytes) return fail(bytes.error());
    std::vector<std::uint64_t> addresses(bytes->size() / sizeof(std::uint64_t));
    std::memcpy(addresses.data(), bytes->data(), addresses.size() * sizeof(std::uint64_t));
    const bool ascending = std::ranges::adjacent_find(addresses, std::greater_equal{}) == addresses.end();
    if (bytes->size() % sizeof(std::uint64_t) != 0 || !ascending) {
        return fail(ErrorCode::kInvalid, "malformed question");
    }
    return addresses;
}

}  // namespace perfvigil::analyzer
