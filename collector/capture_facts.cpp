// SPDX-License-Identifier: GPL-2.0-or-later
// The writing half of capture_facts.hpp; capture_facts_decode.cpp reads.
#include "collector/capture_facts.hpp"

#include <algorithm>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "collector/cpu_times_codec.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kVersion = 1;

class MessageWriter {
public:
    explicit MessageWriter(std::string& out) : writer_(out) {}
    MessageWriter(MessageWriter& parent, std::uint32_t field) : writer_(parent.writer_, field) {}

    // Defaults are not written.
    void text(std::uint32_t field, std::string_view value) {
        if (!value.empty()) writer_.add_bytes(field, value.data(), value.size());
    }
    void bytes(std::uint32_t field, Bytes value) {
        if (!value.empty()) writer_.add_bytes(field, reinterpret_cast<const char*>(value.data()), value.size());
    }
    void number(std::uint32_t field, std::uint64_t value) {
        if (value != 0) writer_.add_uint64(field, value);
    }
    void fixed(std::uint32_t field, std::uint64_t value) {
        if (value != 0) writer_.add_fixed64(field, value);
    }
    void flag(std::uint32_t field, bool value) {
        if (value) writer_.add_bool(field, value);
    }
    void packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
        writer_.add_packed_sint64(field, values.begin(), values.end());
    }

private:
    protozero::pbf_writer writer_;
};

void write_cpu_times(MessageWriter& parent, std::uint32_t field, MonotonicTime time, const std::vector<CpuTimes>& rows,
                     CpuTimesCodec& memory) {
    MessageWriter out(parent, field);
    out.fixed(1, to_ns(time));
    out.packed(2, memory.encode(rows));
}

using Named = std::vector<std::pair<std::string, std::string>>;

void write_named(MessageWriter& parent, std::uint32_t field, const Named& rows) {
    for (const auto& [name, value] : rows) {
        MessageWriter out(parent, field);
        out.text(1, name);
        out.text(2, value);
    }
}

void write_host(MessageWriter& parent, std::uint32_t field, const HostFacts& host, CpuTimesCodec& memory) {
    MessageWriter out(parent, field);
    out.text(1, host.hostname);
    out.text(2, host.os_release);
    out.text(3, host.os_version);
    out.text(4, host.architecture);
    out.text(5, host.cpu_description);
    out.text(6, host.cpuid);
    out.number(7, host.total_memory_kib);
    out.number(8, host.cpus_online);
    out.number(9, host.cpus_present);
    out.text(10, host.command_line);
    out.text(11, host.version);
    out.bytes(12, host.kernel_build_id.bytes());
    out.fixed(13, host.kernel_start);
    out.fixed(14, host.kernel_end);
    out.text(15, host.kernel_reference);
    for (const auto& module : host.modules) {
        MessageWriter m(out, 16);
        m.text(1, module.name);
        m.text(2, module.path);
        m.fixed(3, module.start);
        m.number(4, module.size);
        m.bytes(5, module.build_id.bytes());
        for (const auto& section : module.sections) {
            MessageWriter part(m, 6);
            part.text(1, section.name);
            part.fixed(2, section.address);
        }
    }
    for (const auto& range : host.text_ranges) {
        MessageWriter m(out, 17);
        m.fixed(1, range.start);
        m.number(2, range.end - range.start);
        m.number(3, range.text_class);
    }
    write_named(out, 18, host.vulnerabilities);
    out.text(19, host.kernel_command_line);
    for (const auto& degraded : host.degraded) {
        MessageWriter m(out, 20);
        m.text(1, degraded.reason);
        m.text(2, degraded.detail);
        m.text(3, degraded.remedy);
    }
    out.number(21, static_cast<std::uint64_t>(host.scope));
    out.fixed(22, to_ns(host.monotonic_reference));
    out.fixed(23, static_cast<std::uint64_t>(host.wall_reference.time_since_epoch().count()));
    for (const auto& times : host.cpu_times) write_cpu_times(out, 24, times.time, times.cpus, memory);
    write_named(out, 25, host.kernel_config);
    write_named(out, 26, host.settings);
}

void write_event(MessageWriter& parent, std::uint32_t field, const EventInfo& event) {
    std::vector<std::byte> attr;
    encode_attr(event.attr, attr);
    MessageWriter out(parent, field);
    out.text(1, event.name);
    out.number(2, static_cast<std::uint64_t>(event.role));
    out.bytes(3, attr);
}

void write_instance(MessageWriter& parent, std::uint32_t field, const CaptureFacts::Instance& instance) {
    MessageWriter out(parent, field);
    out.fixed(1, instance.id.value);
    out.number(2, instance.event.value);
    out.number(3, instance.cpu ? std::uint64_t{instance.cpu->value} + 1 : 0);
    out.number(4, instance.generation);
    out.number(5, static_cast<std::uint64_t>(instance.nominal_period.count()));
    out.number(6, instance.period_or_freq);
    out.number(7, instance.max_stack);
}

void write_cut(MessageWriter& parent, std::uint32_t field, const Cut& cut, CpuTimesCodec& memory) {
    MessageWriter out(parent, field);
    write_cpu_times(out, 1, cut.time, cut.cpu_times, memory);
    out.fixed(2, static_cast<std::uint64_t>(cut.wall.time_since_epoch().count()));
    out.number(3, cut.lost_side_band);
    out.flag(4, cut.clock_stepped);
    out.flag(5, cut.last);
    std::vector<std::int64_t> delays;
    for (const auto& row : cut.waits.run_delays) {
        delays.push_back(row.cpu.value);
        delays.push_back(row.waited.count());
    }
    if (!delays.empty()) out.packed(6, delays);
    for (const auto& row : cut.waits.throttled) {
        MessageWriter m(out, 7);
        m.text(1, row.path);
        m.number(2, row.periods);
        m.number(3, row.throttled_periods);
        m.number(4, static_cast<std::uint64_t>(std::max(row.throttled, Nanoseconds{}).count()));
    }
}

}  // namespace

std::vector<std::byte> encode_capture_facts(const CaptureFacts& facts) {
    std::string text;
    {
        MessageWriter out(text);
        CpuTimesCodec memory;
        out.number(1, kVersion);
        write_host(out, 2, facts.host, memory);
        for (const auto& event : facts.events) write_event(out, 3, event);
        for (const auto& instance : facts.instances) write_instance(out, 4, instance);
        for (const auto& cut : facts.cuts) write_cut(out, 5, cut, memory);
    }
    const Bytes bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

}  // namespace perfvigil::collector
