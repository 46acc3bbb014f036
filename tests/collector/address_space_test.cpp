// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/address_space.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/support/allocations.hpp"

namespace perfvigil::collector {
namespace {

DsoRef dso(std::string path, DsoKind kind = DsoKind::kFile) {
    static std::uint32_t next = 1;
    return std::make_shared<const Dso>(Dso{.id = DsoId{next++}, .kind = kind, .path = std::move(path), .build_id = {}});
}

// "start-end+page_offset path" per mapping.
std::vector<std::string> listed(const AddressSpace& space) {
    std::vector<std::string> out;
    for (const Mapping& m : space.mappings()) {
        out.push_back(std::to_string(m.start) + '-' + std::to_string(m.end) + '+' + std::to_string(m.page_offset) +
                      ' ' + m.dso->path);
    }
    return out;
}
using Lines = std::vector<std::string>;

TEST(AddressSpace, FindsWhatHoldsTheAddress) {
    AddressSpace space;
    EXPECT_EQ(space.find(0), nullptr);
    space.map({200, 300, 0, dso("b")});
    space.map({100, 150, 0, dso("a")});
    struct Case {
        std::uint64_t address;
        const char* path;
    };
    for (const auto& [address, path] : {Case{99, nullptr},
                                        {100, "a"},
                                        {149, "a"},
                                        {150, nullptr},
                                        {200, "b"},
                                        {299, "b"},
                                        {300, nullptr},
                                        {100, "a"},
                                        {0, nullptr},
                                        {~std::uint64_t{0}, nullptr}}) {
        const Mapping* const found = space.find(address);
        ASSERT_EQ(found != nullptr, path != nullptr) << address;
        if (found != nullptr) {
            EXPECT_EQ(found->dso->path, path) << address;
        }
    }
    space.clear();
    EXPECT_EQ(space.find(100), nullptr);
    EXPECT_TRUE(space.mappings().empty());
}

TEST(AddressSpace, LaterMappingsCutEarlierOnes) {
    struct Case {
        const char* what;
        std::uint64_t start;
        std::uint64_t end;
        Lines want;
    };
    // Over 100-200 (page offset 1000) and 300-400 (page offset 0).
    const std::vector<Case> cases{
        {"apart", 210, 290, {"100-200+1000 a", "210-290+7 new", "300-400+0 b"}},
        {"head", 50, 120, {"50-120+7 new", "120-200+1020 a", "300-400+0 b"}},
        {"tail", 180, 250, {"100-180+1000 a", "180-250+7 new", "300-400+0 b"}},
        {"middle", 120, 180, {"100-120+1000 a", "120-180+7 new", "180-200+1080 a", "300-400+0 b"}},
        {"the same", 100, 200, {"100-200+7 new", "300-400+0 b"}},
        {"all of one", 90, 210, {"90-210+7 new", "300-400+0 b"}},
        {"two", 150, 350, {"100-150+1000 a", "150-350+7 new", "350-400+50 b"}},
        {"everything", 0, 1000, {"0-1000+7 new"}},
        {"touching", 200, 300, {"100-200+1000 a", "200-300+7 new", "300-400+0 b"}},
        {"nothing", 150, 150, {"100-200+1000 a", "300-400+0 b"}},
    };
    for (const Case& c : cases) {
        AddressSpace space;
        space.map({100, 200, 1000, dso("a")});
        space.map({300, 400, 0, dso("b")});
        EXPECT_TRUE(space.map({c.start, c.end, 7, dso("new")}));
        EXPECT_EQ(listed(space), c.want) << c.what;
    }
}

TEST(AddressSpace, WhatIsNotCodeAnyMoreIsForgotten) {
    AddressSpace space;
    EXPECT_TRUE(space.unmap(0, 100));
    space.map({100, 200, 1000, dso("a")});
    space.unmap(120, 130);
    EXPECT_EQ(listed(space), (Lines{"100-120+1000 a", "130-200+1030 a"}));
    space.unmap(0, 125);
    space.unmap(190, 500);
    EXPECT_EQ(listed(space), Lines{"130-190+1030 a"});
    space.unmap(200, 300);
    EXPECT_EQ(listed(space), Lines{"130-190+1030 a"});
}

TEST(AddressSpace, NeighboursThatContinueEachOtherAreOne) {
    AddressSpace space;
    const DsoRef file = dso("a");
    space.map({100, 200, 1000, file});
    space.map({300, 400, 1200, file});
    space.map({200, 300, 1100, file});
    EXPECT_EQ(listed(space), Lines{"100-400+1000 a"});
    space.map({400, 500, 1301, file});
    space.map({0, 100, 0, file});
    EXPECT_EQ(listed(space), (Lines{"0-100+0 a", "100-400+1000 a", "400-500+1301 a"}))
        << "other offsets do not continue";

    AddressSpace jit;
    const DsoRef anonymous = dso("//anon", DsoKind::kAnonymous);
    for (std::uint64_t page = 0; page < 1000; ++page) jit.map({page * 4096, (page + 1) * 4096, page * 4096, anonymous});
    EXPECT_EQ(jit.mappings().size(), 1U);
    EXPECT_EQ(jit.find(4096 * 500 + 8)->offset_of(4096 * 500 + 8), 4096U * 500 + 8);
}

TEST(AddressSpace, SplittingGrowsTheTable) {
    AddressSpace space;
    space.map({0, 100'000, 0, dso("a")});
    for (std::uint64_t i = 0; i < 200; ++i) space.map({i * 100 + 10, i * 100 + 20, 0, dso("b")});
    EXPECT_EQ(space.mappings().size(), 401U);
    EXPECT_EQ(space.find(19'915)->dso->path, "b");
    EXPECT_EQ(space.find(19'925)->offset_of(19'925), 19'925U);
}

TEST(AddressSpace, LimitIsKept) {
    AddressSpace space;
    for (std::uint64_t i = 0; i < 100; ++i) space.map({i * 20, i * 20 + 10, 0, dso("x")}, 50);
    EXPECT_LE(space.mappings().size(), 50U);
    const auto before = listed(space);
    EXPECT_FALSE(space.map({5000, 5010, 0, dso("y")}, 50));
    EXPECT_EQ(listed(space), before);
    while (space.mappings().size() < 50)
        space.map({6000 + 20 * space.mappings().size(), 6010 + 20 * space.mappings().size(), 0, dso("z")});
    EXPECT_FALSE(space.unmap(2, 4, 50)) << "a split makes one more";
}

TEST(AddressSpace, CopiesShareUntilOneChanges) {
    AddressSpace parent;
    std::vector<DsoRef> files;
    for (std::uint64_t i = 0; i < 30; ++i) {
        files.push_back(dso("lib" + std::to_string(i)));
        parent.map({i * 100, i * 100 + 50, 0, files.back()});
    }
    AddressSpace child;
    EXPECT_EQ(test::allocations_in([&] { child = parent; }), 0U);
    EXPECT_EQ(&child.mappings(), &parent.mappings());
    EXPECT_EQ(test::allocations_in([&] { child.map({100, 150, 0, files[1]}); }), 0U) << "known already";
    EXPECT_EQ(test::allocations_in([&] { child.clear(); }), 0U);
    EXPECT_EQ(parent.mappings().size(), 30U);

    child = parent;
    child.map({10, 20, 0, dso("child's")});
    EXPECT_EQ(child.find(15)->dso->path, "child's");
    EXPECT_EQ(parent.find(15)->dso->path, "lib0");
    parent.unmap(0, 50);
    EXPECT_EQ(child.find(5)->dso->path, "lib0");
}

TEST(Mapping, OffsetsFollowTheKind) {
    struct Case {
        DsoKind kind;
        std::uint64_t want;
    };
    for (const auto& [kind, want] : {Case{DsoKind::kFile, 0x4010},
                                     {DsoKind::kVdso, 0x4010},
                                     {DsoKind::kKernel, 0x1010},
                                     {DsoKind::kVsyscall, 0x1010},
                                     {DsoKind::kAnonymous, 0x1010},
                                     {DsoKind::kUprobes, 0x1010}}) {
        EXPECT_EQ((Mapping{0x1000, 0x2000, 0x4000, dso("x", kind)}).offset_of(0x1010), want) << static_cast<int>(kind);
    }
}

TEST(DsoKindOf, GoesByPerfsNames) {
    const BuildId none;
    const BuildId some = *BuildId::from_hex("abcd");
    struct Case {
        const char* path;
        DsoKind kind;
    };
    for (const auto& [path, kind] : {Case{"/usr/bin/dash", DsoKind::kFile},
                                     {"/usr/bin/dash (deleted)", DsoKind::kFile},
                                     {"//toolong", DsoKind::kFile},
                                     {"//enomem", DsoKind::kFile},
                                     {"relative.so", DsoKind::kFile},
                                     {"[vdso]", DsoKind::kVdso},
                                     {"[vsyscall]", DsoKind::kVsyscall},
                                     {"[uprobes]", DsoKind::kUprobes},
                                     {"//anon", DsoKind::kAnonymous},
                                     {"", DsoKind::kAnonymous},
                                     {"[heap]", DsoKind::kAnonymous},
                                     {"[stack]", DsoKind::kAnonymous},
                                     {"[stack:123]", DsoKind::kAnonymous},
                                     {"/memfd:doublemapper (deleted)", DsoKind::kAnonymous},
                                     {"/dev/zero", DsoKind::kAnonymous},
                                     {"/dev/zero (deleted)", DsoKind::kAnonymous},
                                     {"/SYSV00000000 (deleted)", DsoKind::kAnonymous},
                                     {"anon_inode:[perf_event]", DsoKind::kAnonymous},
                                     {"/anon_hugepage (deleted)", DsoKind::kAnonymous}}) {
        EXPECT_EQ(dso_kind_of(path, none, 2), kind) << path;
    }
    EXPECT_EQ(dso_kind_of("/memfd:runc_cloned:/proc/self/exe (deleted)", some, 2), DsoKind::kFile);
    EXPECT_EQ(dso_kind_of("/usr/bin/hot", none, 0x40002), DsoKind::kAnonymous) << "code copied to huge pages";
    EXPECT_EQ(dso_kind_of("[vdso]", some, 2), DsoKind::kVdso);
}

// Against a model with one entry per byte.
TEST(AddressSpace, AgreesWithABytewiseModel) {
    struct Byte {
        std::uint32_t dso;
        std::uint64_t offset;
        bool operator==(const Byte&) const = default;
    };
    std::mt19937_64 random(42);
    const std::vector<DsoRef> dsos{dso("a"), dso("b"), dso("//anon", DsoKind::kAnonymous),
                                   dso("[vsyscall]", DsoKind::kVsyscall)};
    for (int round = 0; round < 300; ++round) {
        AddressSpace space;
        std::map<std::uint64_t, Byte> model;
        std::vector<AddressSpace> relatives;  // copies that must not be disturbed
        for (int step = 0; step < 60; ++step) {
            const std::uint64_t start = random() % 200;
            const std::uint64_t end = start + random() % 60;
            const DsoRef& chosen = dsos[random() % dsos.size()];
            // Often an offset that continues what may be mapped beside it.
            const Mapping mapping{start, end, random() % 2 == 0 ? start + 500 : random() % 300, chosen};
            if (random() % 5 == 0) {
                space.unmap(start, end);
                for (std::uint64_t a = start; a < end; ++a) model.erase(a);
            } else {
                space.map(mapping);
                for (std::uint64_t a = start; a < end; ++a) model[a] = {chosen->id.value, mapping.offset_of(a)};
            }
            if (random() % 8 == 0) relatives.push_back(space);
            for (int probe = 0; probe < 40; ++probe) {
                const std::uint64_t address = random() % 270;
                const Mapping* const found = space.find(address);
                const auto want = model.find(address);
                ASSERT_EQ(found != nullptr, want != model.end()) << round << ' ' << step << ' ' << address;
                if (found != nullptr) {
                    ASSERT_EQ((Byte{found->dso->id.value, found->offset_of(address)}), want->second);
                }
            }
            const auto& list = space.mappings();
            for (std::size_t i = 1; i < list.size(); ++i) ASSERT_LE(list[i - 1].end, list[i].start);
        }
    }
}

}  // namespace
}  // namespace perfvigil::collector
