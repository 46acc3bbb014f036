// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/chain_resolver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/support/record_bytes.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::Dso;
using collector::DsoId;
using collector::DsoKind;
using collector::DsoRef;
using collector::Process;
using test::SyntheticCode;
using testing::ElementsAre;

constexpr std::uint64_t K = collector::kContextKernel;
constexpr std::uint64_t U = collector::kContextUser;
constexpr std::uint64_t kUnknownMarker = static_cast<std::uint64_t>(-640);
constexpr std::uint64_t kKernelHere = 0xffffffff82000000;

DsoRef dso(std::uint32_t id, std::string path, DsoKind kind = DsoKind::kFile) {
    return std::make_shared<const Dso>(Dso{.id = DsoId{id}, .kind = kind, .path = std::move(path), .build_id = {}});
}

// A process with a program at 0x1000 (offset 0x100) and a library at 0x8000; chains come as numbers.
class ChainResolverTest : public testing::Test {
protected:
    ChainResolverTest() {
        process.pid = Pid{10};
        process.epoch = {7};
        process.maps.map({.start = 0x1000, .end = 0x3000, .page_offset = 0x100, .dso = program});
        process.maps.map({.start = 0x8000, .end = 0x9000, .page_offset = 0, .dso = library});
        resolver.set_kernel_text(KernelText(SyntheticCode::text_ranges()));
    }

    const Chain& resolve(std::vector<std::uint64_t> chain, std::uint16_t mode = collector::kMiscUser,
                         std::uint64_t ip = 0, Tid tid = Tid{10}) {
        test::SampleFields fields;
        fields.id.pid = process.pid;
        fields.id.tid = tid;
        fields.misc = mode;
        fields.ip = ip;
        fields.chain = std::move(chain);
        auto attr = test::cpu_clock_attr();
        if (!with_chains) attr.sample_type &= ~std::uint64_t{collector::kSampleCallchain};
        const auto layout = collector::RecordLayout::of(attr);
        bytes = test::record_bytes(layout, fields);
        record = collector::decode_record(bytes, layout);
        return resolver.resolve(std::get<collector::SampleRecord>(*record), process, space, max_stack);
    }
    // Innermost first, as it is said.
    std::vector<Frame> frames(const Chain& chain) {
        std::vector<Frame> out;
        for (auto at = chain.frames.rbegin(); at != chain.frames.rend(); ++at) {
            out.push_back(resolver.frames().frame(*at));
        }
        return out;
    }
    static Frame in(const DsoRef& of, std::uint64_t offset) { return {of->id, offset}; }
    static Frame without(NoDsoFrame what) { return {{}, what}; }
    static std::uint64_t kernel_function(std::string_view name) { return SyntheticCode::kernel_address(name) + 0x20; }

    DsoRef kernel = dso(1, "[kernel.kallsyms]", DsoKind::kKernel);
    collector::KernelSpace space{.image = kernel, .made = {}};
    DsoRef program = dso(2, "/bin/program");
    DsoRef library = dso(3, "/lib/library");
    Process process;
    ChainResolver resolver;
    std::uint16_t max_stack = 127;
    bool with_chains = true;
    test::RecordBytes bytes;
    std::optional<collector::Record> record;
};

TEST_F(ChainResolverTest, OnlyTheFirstAddressOfAContextIsExact) {
    const Chain& chain =
        resolve({K, kKernelHere, kKernelHere + 0x50, U, 0x1010, 0x1020, 0x8030}, collector::kMiscKernel);
    EXPECT_THAT(frames(chain), ElementsAre(in(kernel, kKernelHere), in(kernel, kKernelHere + 0x4f), in(program, 0x110),
                                           in(program, 0x11f), in(library, 0x2f)));
    EXPECT_EQ(chain.flags, kStackKernelLeaf);
}

TEST_F(ChainResolverTest, CodeThatTheKernelMadeIsADsoOfItsOwnWhileItIsThere) {
    const DsoRef first = dso(4, "[bpf]", DsoKind::kKernelCode);
    const DsoRef second = dso(5, "[bpf]", DsoKind::kKernelCode);
    const std::vector<std::uint64_t> chain{K, kKernelHere + 0x10, kKernelHere + 0x1000};
    const auto place = [&](const DsoRef& made) {
        ++space.version;
        space.made.map({.start = kKernelHere, .end = kKernelHere + 0x100, .page_offset = 0, .dso = made});
    };
    const auto leaf = [&] { return frames(resolve(chain, collector::kMiscKernel)).front(); };
    EXPECT_EQ(leaf(), in(kernel, kKernelHere + 0x10));
    place(first);
    EXPECT_EQ(leaf(), in(first, kKernelHere + 0x10));
    place(second);
    EXPECT_EQ(leaf(), in(second, kKernelHere + 0x10));
    ++space.version;
    space.made.unmap(kKernelHere, kKernelHere + 0x100);
    EXPECT_EQ(leaf(), in(kernel, kKernelHere + 0x10));
}

TEST_F(ChainResolverTest, AReturnAddressRightBehindAMappingBelongsToIt) {
    EXPECT_THAT(frames(resolve({U, 0x8000, 0x3000})), ElementsAre(in(library, 0), in(program, 0x20ff)));
    // As the sampled address it would lie outside.
    EXPECT_THAT(frames(resolve({U, 0x3000})), ElementsAre(without(kFrameUnmapped)));
}

TEST_F(ChainResolverTest, AFrameOutsideEveryMappingEndsTheChain) {
    const Chain& chain = resolve({U, 0x1010, 0x8020, 0x5000, 0x1050});
    EXPECT_THAT(frames(chain), ElementsAre(in(program, 0x110), in(library, 0x1f)));
    EXPECT_EQ(chain.flags, kStackBroken);
    EXPECT_EQ(chain.broken_in, library->id);
}

TEST_F(ChainResolverTest, WhereMapsMayBeMissingNobodyIsBlamed) {
    process.maps_incomplete = true;
    const Chain& chain = resolve({U, 0x1010, 0x5000, 0x1050});
    EXPECT_THAT(frames(chain), ElementsAre(in(program, 0x110), without(kFrameUnmapped)));
    EXPECT_EQ(chain.flags, 0);
    EXPECT_EQ(chain.broken_in, DsoId{});
}

TEST_F(ChainResolverTest, TheSampledAddressIsAFrameEvenWhereNothingIsMapped) {
    const Chain& chain = resolve({U, 0x5000, 0x1010});
    EXPECT_THAT(frames(chain), ElementsAre(without(kFrameUnmapped)));
    EXPECT_EQ(chain.flags, kStackBroken);
    EXPECT_EQ(chain.broken_in, DsoId{});
    process.maps_incomplete = true;
    EXPECT_THAT(frames(resolve({U, 0x5000, 0x1010})), ElementsAre(without(kFrameUnmapped)));
    EXPECT_EQ(resolve({U, 0x5000, 0x1010}).flags, 0);
}

TEST_F(ChainResolverTest, AReturnAddressOfZeroIsAProperEnd) {
    const Chain& chain = resolve({U, 0x1010, 0x8020, 0, 0x1050});
    EXPECT_THAT(frames(chain), ElementsAre(in(program, 0x110), in(library, 0x1f)));
    EXPECT_EQ(chain.flags, 0);
}

TEST_F(ChainResolverTest, WithoutACallChainTheAddressIsTheFrame) {
    with_chains = false;
    EXPECT_THAT(frames(resolve({}, collector::kMiscUser, 0x1010)), ElementsAre(in(program, 0x110)));
    const Chain& chain = resolve({}, collector::kMiscKernel, kKernelHere);
    EXPECT_THAT(frames(chain), ElementsAre(in(kernel, kKernelHere)));
    EXPECT_EQ(chain.flags, kStackKernelLeaf);  // not kStackNoUser: nobody looked for one
}

TEST_F(ChainResolverTest, PartsThatTheRecorderLeftOut) {
    // exclude_callchain_kernel, sampled in the kernel
    EXPECT_THAT(frames(resolve({U, 0x1010, 0x1020}, collector::kMiscKernel, kKernelHere)),
                ElementsAre(in(kernel, kKernelHere), in(program, 0x110), in(program, 0x11f)));
    // exclude_callchain_user, sampled in user code
    EXPECT_THAT(frames(resolve({}, collector::kMiscUser, 0x1010)), ElementsAre(in(program, 0x110)));
    EXPECT_THAT(frames(resolve({K}, collector::kMiscKernel, kKernelHere)), ElementsAre(in(kernel, kKernelHere)));
    // no markers at all: all of it is of the sample's mode
    EXPECT_THAT(frames(resolve({0x1010, 0x8020}, collector::kMiscUser, 0x1010)),
                ElementsAre(in(program, 0x110), in(library, 0x1f)));
}

TEST_F(ChainResolverTest, ModeOfSamplesThatDoNotSayIt) {
    EXPECT_THAT(frames(resolve({}, 0, kKernelHere)), ElementsAre(in(kernel, kKernelHere)));
    EXPECT_THAT(frames(resolve({}, 0, 0x1010)), ElementsAre(in(program, 0x110)));
}

TEST_F(ChainResolverTest, AnUnknownMarkerEndsTheChainButNotItsPrefix) {
    EXPECT_THAT(frames(resolve({U, 0x1010, 0x1020, kUnknownMarker, 0x8010})),
                ElementsAre(in(program, 0x110), in(program, 0x11f)));
    EXPECT_THAT(frames(resolve({kUnknownMarker, 0x8010}, collector::kMiscUser, 0x1010)),
                ElementsAre(in(program, 0x110)));
}

TEST_F(ChainResolverTest, GuestsAndHypervisorsAreOneFrame) {
    EXPECT_THAT(frames(resolve({collector::kContextGuestUser, 0x1, 0x2, collector::kContextGuestKernel, 0x3},
                               collector::kMiscGuestUser, 0x1)),
                ElementsAre(without(kFrameGuest), without(kFrameGuest)));
    EXPECT_THAT(frames(resolve({K, kKernelHere, collector::kContextGuest, 1, 2, 3}, collector::kMiscKernel)),
                ElementsAre(in(kernel, kKernelHere), without(kFrameGuest)));
    EXPECT_THAT(frames(resolve({}, collector::kMiscHypervisor, 0x77)), ElementsAre(without(kFrameHypervisor)));
}

TEST_F(ChainResolverTest, AsDeepAsAllowedIsTruncated) {
    max_stack = 4;
    EXPECT_EQ(resolve({K, kKernelHere, kKernelHere, U, 0x1010}, collector::kMiscKernel).flags & kStackTruncated, 0);
    EXPECT_NE(resolve({K, kKernelHere, kKernelHere, U, 0x1010, 0x1020}, collector::kMiscKernel).flags & kStackTruncated,
              0);
    EXPECT_NE(resolve({U, 0x1010, 0x7777, 0x1020, 0x1030}).flags & kStackTruncated, 0);  // broken and truncated
    max_stack = 0;
    EXPECT_EQ(resolve({U, 0x1010, 0x1020, 0x1030, 0x1040}).flags & kStackTruncated, 0);
}

TEST_F(ChainResolverTest, KernelThreadsHaveNoUserPartToMiss) {
    EXPECT_NE(resolve({K, kKernelHere}, collector::kMiscKernel).flags & kStackNoUser, 0);
    process.kernel_thread = true;
    process.epoch = {8};
    EXPECT_EQ(resolve({K, kKernelHere}, collector::kMiscKernel).flags & kStackNoUser, 0);
}

// --- what the CPU was doing

TEST_F(ChainResolverTest, Modes) {
    const auto kf = [](std::string_view name) { return kernel_function(name); };
    struct Case {
        const char* what;
        std::vector<std::uint64_t> chain;
        std::uint16_t misc;
        std::int32_t tid;
        Mode mode;
    };
    const Case cases[] = {
        {"user code", {U, 0x1010}, collector::kMiscUser, 10, Mode::kUser},
        {"a system call", {K, kf("copy_page"), kf("vfs_read"), U, 0x1010}, collector::kMiscKernel, 10, Mode::kKernel},
        {"softirq at an interrupt's exit",
         {K, kf("net_rx_action"), kf("handle_softirqs"), kf("__irq_exit_rcu"), kf("asm_sysvec_apic_timer_interrupt"), U,
          0x1010},
         collector::kMiscKernel,
         10,
         Mode::kSoftirq},
        {"softirq in its own thread",
         {K, kf("net_rx_action"), kf("handle_softirqs"), kf("kthread")},
         collector::kMiscKernel,
         10,
         Mode::kSoftirq},
        {"a task that was preempted by an interrupt runs again",
         {K, kf("finish_task_switch"), kf("schedule"), kf("irqentry_exit_to_user_mode"),
          kf("asm_sysvec_apic_timer_interrupt"), U, 0x1010},
         collector::kMiscKernel,
         10,
         Mode::kKernel},
        {"idle",
         {K, kf("pv_native_safe_halt"), kf("default_idle"), kf("do_idle"), kf("cpu_startup_entry")},
         collector::kMiscKernel,
         0,
         Mode::kIdle},
        {"idle injected into a task is that task's",
         {K, kf("pv_native_safe_halt"), kf("do_idle"), kf("kthread")},
         collector::kMiscKernel,
         10,
         Mode::kKernel},
        {"softirq on an idle CPU",
         {K, kf("net_rx_action"), kf("handle_softirqs"), kf("__irq_exit_rcu"), kf("pv_native_safe_halt"),
          kf("do_idle")},
         collector::kMiscKernel,
         0,
         Mode::kSoftirq},
        {"the swapper outside its loop",
         {K, kf("copy_page"), kf("vfs_read")},
         collector::kMiscKernel,
         0,
         Mode::kKernel},
        {"a chain that could not be walked", {K, kf("pv_native_safe_halt")}, collector::kMiscKernel, 0, Mode::kIdle},
        {"… in a softirq", {K, kf("handle_softirqs")}, collector::kMiscKernel, 0, Mode::kSoftirq},
    };
    for (const auto& c : cases) {
        process.pid = Pid{c.tid};
        const Chain& chain = resolve(c.chain, c.misc, c.chain[1], Tid{c.tid});
        EXPECT_EQ(resolver.mode_of(chain.flags, Tid{c.tid}), c.mode) << c.what;
    }
}

TEST_F(ChainResolverTest, WithoutKernelTextTheTaskDecides) {
    resolver.set_kernel_text({});
    EXPECT_FALSE(resolver.kernel_text_known());
    process.pid = Pid{0};
    const auto softirq = kernel_function("handle_softirqs");
    const Chain& chain = resolve({K, softirq, softirq, softirq}, collector::kMiscKernel, softirq, Tid{0});
    EXPECT_EQ(resolver.mode_of(chain.flags, Tid{0}), Mode::kIdle);
    EXPECT_EQ(resolver.mode_of(chain.flags, Tid{5}), Mode::kKernel);
}

// --- the kept part

TEST_F(ChainResolverTest, TheSamePathHasTheSameNumbers) {
    const Chain first = resolve({U, 0x1010, 0x1020, 0x8030});
    const Chain other = resolve({U, 0x1014, 0x1020, 0x8030});
    const Chain again = resolve({U, 0x1010, 0x1020, 0x8030});
    EXPECT_EQ(first.frames, again.frames);
    EXPECT_EQ(first.path, again.path);
    EXPECT_NE(first.path, other.path);
    EXPECT_EQ(first.frames.front(), other.frames.front());
}

TEST_F(ChainResolverTest, AChangedMappingIsSeen) {
    EXPECT_THAT(frames(resolve({U, 0x1010, 0x8020})), ElementsAre(in(program, 0x110), in(library, 0x1f)));
    const DsoRef newer = dso(9, "/lib/newer");
    process.maps.map({.start = 0x8000, .end = 0x9000, .page_offset = 0x7000, .dso = newer});
    resolver.maps_changed(process.pid);
    EXPECT_THAT(frames(resolve({U, 0x1010, 0x8020})), ElementsAre(in(program, 0x110), in(newer, 0x701f)));
}

TEST_F(ChainResolverTest, AnotherLifeUnderThePidIsAnotherAddressSpace) {
    EXPECT_THAT(frames(resolve({U, 0x1010})), ElementsAre(in(program, 0x110)));
    process.epoch = {99};
    process.maps.clear();
    process.maps.map({.start = 0x1000, .end = 0x2000, .page_offset = 0, .dso = library});
    EXPECT_THAT(frames(resolve({U, 0x1010})), ElementsAre(in(library, 0x10)));
}

TEST_F(ChainResolverTest, FramesSurviveATrim) {
    const auto before = frames(resolve({U, 0x1010, 0x8020}));
    for (int i = 0; i < 200; ++i) resolver.trim();
    EXPECT_EQ(frames(resolve({U, 0x1010, 0x8020})), before);
    EXPECT_EQ(resolver.frames().size(), 2U);
}

// What is kept from a thread's last chain must never show: a resolver with memory and one that has none (a new one for
// each chain) agree on every chain of a random walk through hostile and ordinary ones.
TEST_F(ChainResolverTest, MemoryChangesNothing) {
    std::mt19937_64 random(3);
    const std::uint64_t values[] = {K,
                                    U,
                                    kUnknownMarker,
                                    collector::kContextGuest,
                                    kKernelHere,
                                    kKernelHere + 8,
                                    kernel_function("do_idle"),
                                    kernel_function("handle_softirqs"),
                                    kernel_function("irqentry_exit_to_user_mode"),
                                    0x1010,
                                    0x1020,
                                    0x1030,
                                    0x8010,
                                    0x8020,
                                    0x5000,
                                    0};
    const std::uint16_t modes[] = {0, collector::kMiscKernel, collector::kMiscUser, collector::kMiscGuestKernel};
    std::vector<std::uint64_t> outer;
    std::size_t same_length = 0;
    for (int round = 0; round < 30000; ++round) {
        if (random() % 8 == 0) {
            outer.clear();
            for (auto i = random() % 7; i > 0; --i) outer.push_back(values[random() % std::size(values)]);
        }
        std::vector<std::uint64_t> chain;
        for (auto i = random() % 4; i > 0; --i) chain.push_back(values[random() % std::size(values)]);
        chain.insert(chain.end(),
                     outer.begin() + static_cast<std::ptrdiff_t>(outer.empty() ? 0 : random() % outer.size()),
                     outer.end());
        if (random() % 2 == 0) chain.insert(chain.begin(), random() % 2 == 0 ? U : K);
        const std::uint16_t mode = !chain.empty() && random() % 2 == 0
                                       ? (chain[0] == K ? collector::kMiscKernel : collector::kMiscUser)
                                       : modes[random() % 4];
        process.maps_incomplete = random() % 16 == 0;
        max_stack = random() % 16 == 0 ? 3 : 127;
        const Tid tid{static_cast<std::int32_t>(random() % 2)};
        const std::uint64_t ip = values[random() % std::size(values)];

        const Chain with_memory = resolve(chain, mode, ip, tid);
        const auto its_frames = frames(with_memory);
        ChainResolver fresh;
        fresh.set_kernel_text(KernelText(SyntheticCode::text_ranges()));
        const Chain& without_memory =
            fresh.resolve(std::get<collector::SampleRecord>(*record), process, space, max_stack);
        std::vector<Frame> expected;
        for (auto at = without_memory.frames.rbegin(); at != without_memory.frames.rend(); ++at) {
            expected.push_back(fresh.frames().frame(*at));
        }
        ASSERT_EQ(its_frames, expected) << "round " << round;
        ASSERT_FALSE(expected.empty()) << "round " << round;
        ASSERT_EQ(with_memory.flags, without_memory.flags) << "round " << round;
        ASSERT_EQ(with_memory.broken_in, without_memory.broken_in) << "round " << round;
        std::uint64_t path = resolver.frames().empty_path();
        for (const auto frame : with_memory.frames) path = Chain::longer_path(path, frame);
        ASSERT_EQ(with_memory.path, path) << "round " << round;
        same_length += expected.size() > 2 ? 1 : 0;
    }
    EXPECT_GT(same_length, 3000U);  // the walk met more than stumps
}

}  // namespace
}  // namespace perfvigil::analyzer
