// SPDX-License-Identifier: GPL-2.0-or-later
// The one place where options become perf_event_attr. Which parts of the full recording this kernel and our rights
// allow is a FeatureSet, found out by negotiation.cpp; the builder only obeys it.
// Source: perf_event_open(2), include/uapi/linux/perf_event.h.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>

#include "collector/degraded.hpp"
#include "collector/event_attr.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::collector {

// Newest first: the order in which features are given up when the kernel answers EINVAL.
enum class Feature : std::uint8_t {
    kLostCounts,     // 6.0  read_format LOST
    kBuildIds,       // 5.12 build-ids in MMAP2
    kTextPokes,      // 5.9  changes of kernel text
    kCgroups,        // 5.7  CGROUP records and the cgroup of each sample
    kBpfEvents,      // 5.1
    kKsymbols,       // 5.1
    kExcludeGuest,   // 3.2  without it a host's samples hold its guests' time too
    kKernelSamples,  // not a matter of the kernel's age but of rights
};
inline constexpr std::size_t kFeatureCount = 8;
// Those that EINVAL may be about.
inline constexpr std::array kFeaturesByAge{Feature::kLostCounts,  Feature::kBuildIds,  Feature::kTextPokes,
                                           Feature::kCgroups,     Feature::kBpfEvents, Feature::kKsymbols,
                                           Feature::kExcludeGuest};

class FeatureSet {
public:
    [[nodiscard]] static FeatureSet all() {
        FeatureSet set;
        set.bits_.set();
        return set;
    }
    [[nodiscard]] bool has(Feature f) const { return bits_.test(static_cast<std::size_t>(f)); }
    [[nodiscard]] FeatureSet with(Feature f) const { return changed(f, true); }
    [[nodiscard]] FeatureSet without(Feature f) const { return changed(f, false); }

    friend bool operator==(const FeatureSet&, const FeatureSet&) = default;

private:
    [[nodiscard]] FeatureSet changed(Feature f, bool value) const {
        FeatureSet set = *this;
        set.bits_.set(static_cast<std::size_t>(f), value);
        return set;
    }
    std::bitset<kFeatureCount> bits_;
};

// What follows from doing without `feature`.
[[nodiscard]] Degraded missing_feature(Feature feature);

// Longest chain that is asked for: 4 KiB of each record.
inline constexpr std::uint16_t kMaxStackFrames = 480;

// The user registers that unwinding needs on the architecture this is built for, as perf asks for them; 0: none known.
// Source: arch/{x86,arm64}/include/uapi/asm/perf_regs.h.
#if defined(__x86_64__)
inline constexpr std::uint64_t kUnwindRegisters = 0xff0fff;  // all but ds, es, fs, gs
#elif defined(__aarch64__)
inline constexpr std::uint64_t kUnwindRegisters = 0x1ffffffff;  // x0 to x29, lr, sp, pc
#else
inline constexpr std::uint64_t kUnwindRegisters = 0;
#endif

// The attr of a sampling event. `kernel_max_stack` is kernel.perf_event_max_stack: a depth equal to it is left to the
// kernel (sample_max_stack is younger than the sysctl's default).
[[nodiscard]] EventAttr build_sampling_attr(const EventSpec& event, const RecordingOptions& options,
                                            const Tuning& tuning, const FeatureSet& features,
                                            std::uint16_t kernel_max_stack);
// The dummy event that carries mmap, comm, task, ksymbol, bpf, cgroup and text_poke records. It is never throttled and
// needs no PMU.
[[nodiscard]] EventAttr build_side_band_attr(const RecordingOptions& options, const FeatureSet& features);

}  // namespace perfvigil::collector
