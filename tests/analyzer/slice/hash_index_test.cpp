// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/hash_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/allocations.hpp"

namespace perfvigil::analyzer {
namespace {

TEST(HashIndex, AgreesWithAMap) {
    std::mt19937_64 random(1);
    HashIndex index;
    std::map<std::uint64_t, std::uint32_t> model;
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t key = random() % 8000;
        // Few hashes for many keys: equal ones must be told apart by the caller's comparison.
        const std::uint64_t hash = mix(5, key % 4000);
        const auto found = index.find(hash, [&](std::uint32_t position) { return keys[position] == key; });
        const auto known = model.find(key);
        ASSERT_EQ(found, known == model.end() ? HashIndex::kNone : known->second);
        if (found == HashIndex::kNone) {
            model[key] = static_cast<std::uint32_t>(keys.size());
            index.insert(hash, static_cast<std::uint32_t>(keys.size()));
            keys.push_back(key);
        }
    }
    index.clear();
    EXPECT_EQ(index.find(mix(5, 0), [](std::uint32_t) { return true; }), HashIndex::kNone);
}

TEST(HashIndex, RefillingAllocatesNothing) {
    HashIndex index;
    const auto fill = [&] {
        for (std::uint32_t i = 0; i < 1000; ++i) index.insert(mix(1, i), i);
    };
    fill();
    EXPECT_EQ(test::allocations_in([&] {
                  index.clear();
                  fill();
              }),
              0U);
}

TEST(Mix, DependsOnTheOrder) {
    EXPECT_NE(mix(mix(1, 2), 3), mix(mix(1, 3), 2));
    EXPECT_NE(mix_text(1, "ab"), mix_text(1, "ba"));
    EXPECT_EQ(hash_seed(), hash_seed());
}

}  // namespace
}  // namespace perfvigil::analyzer
