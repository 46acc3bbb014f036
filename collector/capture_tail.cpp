// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_tail.hpp"

#include <algorithm>
#include <string_view>

#include "collector/capture_facts.hpp"
#include "collector/file_trailer.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

std::vector<CaptureBuildId> build_id_table(const HostFacts& host, const std::map<std::string, BuildId>& files) {
    std::vector<CaptureBuildId> table;
    if (!host.kernel_build_id.empty())
        table.push_back({host.kernel_build_id, Pid{-1}, kMiscKernel, std::string(kKernelMapping)});
    for (const KernelModule& module : host.modules) {
        if (!module.build_id.empty()) table.push_back({module.build_id, Pid{-1}, kMiscKernel, module.path});
    }
    for (const auto& [path, id] : files) table.push_back({id, Pid{-1}, kMiscUser, path});
    return table;
}

std::vector<std::byte> encode_compression(const CaptureSummary::Compression& used) {
    constexpr std::uint32_t kVersion = 1;
    constexpr std::uint32_t kZstd = 1;
    const std::uint64_t ratio = used.bytes_out == 0 ? 1 : std::max<std::uint64_t>(1, used.bytes_in / used.bytes_out);
    return encode_numbers32_feature(
        {kVersion, kZstd, static_cast<std::uint32_t>(used.level), static_cast<std::uint32_t>(ratio), used.block_size});
}

std::map<unsigned, std::vector<std::byte>> features_of(const HostFacts& host,
                                                       const std::vector<EventDescription>& events,
                                                       const CaptureSummary& summary) {
    std::map<unsigned, std::vector<std::byte>> all;
    const auto add_text = [&](HeaderFeature bit, std::string_view text) {
        if (!text.empty()) all[bit] = encode_text_feature(text);
    };
    all[kFeatureBuildId] = encode_build_ids_feature(build_id_table(host, summary.build_ids));
    add_text(kFeatureHostname, host.hostname);
    add_text(kFeatureOsRelease, host.os_release);
    add_text(kFeatureVersion, host.version);
    add_text(kFeatureArch, host.architecture);
    all[kFeatureCpuCount] = encode_numbers32_feature({host.cpus_present, host.cpus_online});
    add_text(kFeatureCpuDescription, host.cpu_description);
    add_text(kFeatureCpuid, host.cpuid);
    all[kFeatureTotalMemory] = encode_numbers64_feature({host.total_memory_kib});
    if (!host.command_line.empty()) all[kFeatureCommandLine] = encode_command_line_feature(host.command_line);
    all[kFeatureEventDescription] = encode_events_feature(events);
    if (const auto& times = summary.sample_times)
        all[kFeatureSampleTime] = encode_numbers64_feature({to_ns(times->first), to_ns(times->last)});
    all[kFeatureClockid] = encode_numbers64_feature({1});  // resolution, ns
    all[kFeatureClockData] = encode_clock_data_feature(host.monotonic_reference, host.wall_reference);
    if (summary.compression) all[kFeatureCompressed] = encode_compression(*summary.compression);
    return all;
}

}  // namespace

void append_features(const HostFacts& host, const std::vector<EventDescription>& events, const CaptureSummary& summary,
                     std::uint64_t at, CaptureHeader& header, std::vector<std::byte>& out) {
    const auto sections = features_of(host, events, summary);
    ByteWriter to(out);
    at += sections.size() * kFeatureTableEntrySize;
    for (const auto& [bit, content] : sections) {
        header.features.set(bit);
        to.u64(at);
        to.u64(content.size());
        at += content.size();
    }
    for (const auto& [bit, content] : sections) to.bytes(content);
}

void append_facts(const CaptureFacts& facts, std::uint64_t at, std::vector<std::byte>& out) {
    const auto part = encode_capture_facts(facts);
    const std::uint64_t offset = at + out.size();
    out.insert(out.end(), part.begin(), part.end());
    append_trailer(FilePart::kHostFacts, offset, part, out);
}

}  // namespace perfvigil::collector
