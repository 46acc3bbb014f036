// SPDX-License-Identifier: GPL-2.0-or-later
// Sums that are found by a key of several small numbers, without a map of its own kind for each.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/slice/hash_index.hpp"

namespace perfvigil::analyzer {

// Sums under a key made of small numbers; each key once, in the order of first use.
template <class Row>
class Sums {
public:
    template <class Same>
    Row& at(std::uint64_t hash, Same&& same) {
        auto found = index_.find(hash, [&](std::uint32_t position) { return same(rows_[position]); });
        if (found == HashIndex::kNone) {
            found = static_cast<std::uint32_t>(rows_.size());
            rows_.emplace_back();
            index_.insert(hash, found);
        }
        return rows_[found];
    }
    [[nodiscard]] std::vector<Row>& rows() { return rows_; }
    void clear() {
        rows_.clear();
        index_.clear();
    }

private:
    std::vector<Row> rows_;
    HashIndex index_;
};

}  // namespace perfvigil::analyzer
