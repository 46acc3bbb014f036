// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/attr_builder.hpp"

#include <ctime>
#include <initializer_list>

namespace perfvigil::collector {
namespace {

bool follows_tasks(const RecordingOptions& options) { return !std::holds_alternative<AllCpus>(options.target); }

// What sampling events and the dummy have in common: their records must be parseable together, and their counters
// read alike.
EventAttr base_attr(const RecordingOptions& options, const FeatureSet& features) {
    EventAttr attr;
    // IDENTIFIER is first in samples and last in every other record, so the event is found without its layout.
    attr.sample_type = kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu;
    attr.read_format = kReadId | kReadTotalTimeEnabled | kReadTotalTimeRunning;
    if (features.has(Feature::kLostCounts)) attr.read_format |= kReadLost;
    for (const AttrFlag flag : {kFlagDisabled, kFlagSampleIdAll, kFlagUseClockid}) attr.set(flag);
    attr.clockid = CLOCK_MONOTONIC;
    if (features.has(Feature::kExcludeGuest)) attr.set(kFlagExcludeGuest);
    if (!features.has(Feature::kKernelSamples)) {
        for (const AttrFlag flag : {kFlagExcludeKernel, kFlagExcludeHv, kFlagExcludeCallchainKernel}) attr.set(flag);
    }
    if (follows_tasks(options) && options.inherit) attr.set(kFlagInherit);
    return attr;
}

}  // namespace

EventAttr build_sampling_attr(const EventSpec& event, const RecordingOptions& options, const Tuning& tuning,
                              const FeatureSet& features, std::uint16_t kernel_max_stack) {
    EventAttr attr = base_attr(options, features);
    attr.type = event.type;
    attr.config = event.config;
    attr.set_precise_ip(event.precise);
    attr.sample_type |= kSampleIp | kSamplePeriod;
    if (features.has(Feature::kCgroups)) attr.sample_type |= kSampleCgroup;
    if (options.call_chains != CallChains::kNone) {
        attr.sample_type |= kSampleCallchain;
        if (tuning.max_stack != kernel_max_stack) attr.sample_max_stack = tuning.max_stack;
    }
    if (options.call_chains == CallChains::kStackDumps) {
        attr.sample_type |= kSampleRegsUser | kSampleStackUser;
        attr.sample_regs_user = kUnwindRegisters;
        attr.sample_stack_user = options.stack_dump_bytes;
        attr.set(kFlagExcludeCallchainUser);
    }
    attr.sample_period_or_freq = tuning.frequency;
    attr.set(kFlagFreq);
    if (options.start_disabled_until_exec) attr.set(kFlagEnableOnExec);
    return attr;
}

EventAttr build_side_band_attr(const RecordingOptions& options, const FeatureSet& features) {
    EventAttr attr = base_attr(options, features);
    attr.type = kTypeSoftware;
    attr.config = kSwDummy;
    attr.sample_period_or_freq = 1;
    for (const AttrFlag flag : {kFlagMmap, kFlagMmap2, kFlagComm, kFlagCommExec, kFlagTask}) attr.set(flag);
    // Stock perf finds a file's unwind table from where its first mapping lies, which is no code.
    if (options.call_chains == CallChains::kStackDumps) attr.set(kFlagMmapData);
    if (features.has(Feature::kKsymbols)) attr.set(kFlagKsymbol);
    if (features.has(Feature::kBpfEvents)) attr.set(kFlagBpfEvent);
    if (features.has(Feature::kCgroups)) attr.set(kFlagCgroup);
    if (features.has(Feature::kBuildIds)) attr.set(kFlagBuildId);
    if (features.has(Feature::kTextPokes)) attr.set(kFlagTextPoke);
    return attr;
}

Degraded missing_feature(Feature feature) {
    switch (feature) {
        case Feature::kLostCounts:
            return {"no_lost_counts",
                    "the kernel refuses PERF_FORMAT_LOST, so lost samples are known per ring only, not per event",
                    "Linux 6.0 or newer counts them."};
        case Feature::kBuildIds:
            return {"no_build_ids",
                    "the kernel refuses build-ids in mapping records, so files of short-lived processes are found by "
                    "path and inode only",
                    "Linux 5.12 or newer sends them."};
        case Feature::kTextPokes: return {"no_text_pokes", "the kernel does not report changes of its own text", ""};
        case Feature::kCgroups:
            return {"no_cgroups",
                    "the kernel refuses cgroups in samples, so units and containers are found by process only",
                    "Linux 5.7 or newer with CONFIG_CGROUP_PERF sends them."};
        case Feature::kBpfEvents:
            return {"no_bpf_events", "the kernel does not report BPF programs as they are loaded",
                    "Linux 5.1 or newer reports them."};
        case Feature::kKsymbols:
            return {"no_ksymbols",
                    "the kernel does not report symbols that come and go, so BPF programs loaded later have no name",
                    "Linux 5.1 or newer reports them."};
        case Feature::kExcludeGuest:
            return {"guests_included", "the event cannot leave out guests, so time inside virtual machines is counted",
                    ""};
        case Feature::kKernelSamples:
            return {"no_kernel_samples",
                    "kernel.perf_event_paranoid does not allow us to sample the kernel, so only user time is seen",
                    "Run as root, or grant CAP_PERFMON, or set sysctl kernel.perf_event_paranoid=1."};
    }
    return {};
}

}  // namespace perfvigil::collector
