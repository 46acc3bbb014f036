// SPDX-License-Identifier: GPL-2.0-or-later
// The reading half of capture_facts.hpp.
#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include <protozero/pbf_reader.hpp>

#include "collector/capture_facts.hpp"
#include "collector/cpu_times_codec.hpp"

namespace perfvigil::collector {
namespace {

// protozero asserts that a field has the type that is asked for; here a wrong type is a damaged file.
[[noreturn]] void wrong_type() { throw std::runtime_error("a field has the wrong type"); }

std::uint64_t number(protozero::pbf_reader& in) {
    switch (in.wire_type()) {
        case protozero::pbf_wire_type::varint: return in.get_uint64();
        case protozero::pbf_wire_type::fixed64: return in.get_fixed64();
        default: wrong_type();
    }
}

constexpr std::int64_t kMostNanoseconds = std::int64_t{1} << 61;

// Far enough from the ends of the range that sums and differences of two times fit.
std::int64_t nanoseconds(protozero::pbf_reader& in) {
    const std::uint64_t value = number(in);
    if (value > static_cast<std::uint64_t>(kMostNanoseconds)) throw std::runtime_error("a time is out of range");
    return static_cast<std::int64_t>(value);
}

MonotonicTime monotonic_time(protozero::pbf_reader& in) { return MonotonicTime(Nanoseconds(nanoseconds(in))); }
WallTime wall_time(protozero::pbf_reader& in) { return WallTime(Nanoseconds(nanoseconds(in))); }

std::uint32_t number32(protozero::pbf_reader& in) { return static_cast<std::uint32_t>(number(in)); }

protozero::data_view view_in(protozero::pbf_reader& in) {
    if (in.wire_type() != protozero::pbf_wire_type::length_delimited) wrong_type();
    return in.get_view();
}

Bytes bytes_in(protozero::pbf_reader& in) {
    const auto view = view_in(in);
    return std::as_bytes(std::span(view.data(), view.size()));
}

std::string read_text(protozero::pbf_reader& in) {
    const auto view = view_in(in);
    return {view.data(), view.size()};
}

protozero::pbf_reader message_in(protozero::pbf_reader& in) { return protozero::pbf_reader(view_in(in)); }

// A message of no bytes costs the file two and us hundreds, so what is plainly too much is refused.
constexpr std::size_t kMaxItems = 1U << 20;

template <class T>
void append(std::vector<T>& items, T item) {
    if (items.size() >= kMaxItems) throw std::runtime_error("a list is too long");
    items.push_back(std::move(item));
}

// Calls `take(reader)` for each field; `take` reads the value or returns false to have it skipped.
template <class Take>
void for_each_field(protozero::pbf_reader reader, Take&& take) {
    while (reader.next()) {
        if (!take(reader)) reader.skip();
    }
}

void read_packed(protozero::pbf_reader& in, std::vector<std::int64_t>& numbers) {
    if (in.wire_type() != protozero::pbf_wire_type::length_delimited) wrong_type();
    for (const std::int64_t n : in.get_packed_sint64()) numbers.push_back(n);
}

HostFacts::Times read_cpu_times(protozero::pbf_reader message, CpuTimesCodec& memory) {
    HostFacts::Times times;
    std::vector<std::int64_t> numbers;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: times.time = monotonic_time(in); return true;
            case 2: read_packed(in, numbers); return true;
            default: return false;
        }
    });
    times.cpus = memory.decode(numbers);
    return times;
}

ModuleSection read_section(protozero::pbf_reader message) {
    ModuleSection section;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: section.name = read_text(in); return true;
            case 2: section.address = number(in); return true;
            default: return false;
        }
    });
    return section;
}

KernelModule read_module(protozero::pbf_reader message) {
    KernelModule module;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: module.name = read_text(in); return true;
            case 2: module.path = read_text(in); return true;
            case 3: module.start = number(in); return true;
            case 4: module.size = number(in); return true;
            case 5: module.build_id = BuildId(bytes_in(in)); return true;
            case 6: append(module.sections, read_section(message_in(in))); return true;
            default: return false;
        }
    });
    return module;
}

KernelTextRange read_text_range(protozero::pbf_reader message) {
    KernelTextRange range;
    std::uint64_t length = 0;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: range.start = number(in); return true;
            case 2: length = number(in); return true;
            case 3: range.text_class = static_cast<std::uint8_t>(number32(in)); return true;
            default: return false;
        }
    });
    range.end = range.start + length;
    return range;
}

// Messages of a few texts, fields 1 to n.
template <std::size_t N>
std::array<std::string, N> read_texts(protozero::pbf_reader message) {
    std::array<std::string, N> texts;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        const std::size_t field = in.tag();
        if (field < 1 || field > N) return false;
        texts[field - 1] = read_text(in);
        return true;
    });
    return texts;
}

bool read_host_text(protozero::pbf_reader& in, HostFacts& host) {
    std::string* text = nullptr;
    switch (in.tag()) {
        case 1: text = &host.hostname; break;
        case 2: text = &host.os_release; break;
        case 3: text = &host.os_version; break;
        case 4: text = &host.architecture; break;
        case 5: text = &host.cpu_description; break;
        case 6: text = &host.cpuid; break;
        case 10: text = &host.command_line; break;
        case 11: text = &host.version; break;
        case 15: text = &host.kernel_reference; break;
        case 19: text = &host.kernel_command_line; break;
        default: return false;
    }
    *text = read_text(in);
    return true;
}

void append_named(std::vector<std::pair<std::string, std::string>>& rows, protozero::pbf_reader message) {
    auto [name, value] = read_texts<2>(message);
    append(rows, {std::move(name), std::move(value)});
}

HostFacts::Scope scope_of(std::uint64_t number) {
    return number <= static_cast<std::uint64_t>(HostFacts::Scope::kTasks) ? static_cast<HostFacts::Scope>(number)
                                                                          : HostFacts::Scope::kUnknown;
}

bool read_host_number(protozero::pbf_reader& in, HostFacts& host) {
    switch (in.tag()) {
        case 7: host.total_memory_kib = number(in); return true;
        case 8: host.cpus_online = number32(in); return true;
        case 9: host.cpus_present = number32(in); return true;
        case 12: host.kernel_build_id = BuildId(bytes_in(in)); return true;
        case 13: host.kernel_start = number(in); return true;
        case 14: host.kernel_end = number(in); return true;
        case 21: host.scope = scope_of(number(in)); return true;
        case 22: host.monotonic_reference = monotonic_time(in); return true;
        case 23: host.wall_reference = wall_time(in); return true;
        default: return false;
    }
}

bool read_host_list(protozero::pbf_reader& in, HostFacts& host, CpuTimesCodec& memory) {
    switch (in.tag()) {
        case 16: append(host.modules, read_module(message_in(in))); return true;
        case 17: append(host.text_ranges, read_text_range(message_in(in))); return true;
        case 18: append_named(host.vulnerabilities, message_in(in)); return true;
        case 20: {
            auto [reason, detail, remedy] = read_texts<3>(message_in(in));
            append(host.degraded, {std::move(reason), std::move(detail), std::move(remedy)});
            return true;
        }
        case 24: append(host.cpu_times, read_cpu_times(message_in(in), memory)); return true;
        case 25: append_named(host.kernel_config, message_in(in)); return true;
        case 26: append_named(host.settings, message_in(in)); return true;
        default: return false;
    }
}

HostFacts read_host(protozero::pbf_reader message, CpuTimesCodec& memory) {
    HostFacts host;
    host.kernel_reference.clear();
    for_each_field(message, [&](protozero::pbf_reader& in) {
        return read_host_text(in, host) || read_host_number(in, host) || read_host_list(in, host, memory);
    });
    return host;
}

EventInfo read_event(protozero::pbf_reader message) {
    EventInfo event;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: event.name = read_text(in); return true;
            case 2: event.role = number(in) == 1 ? EventRole::kSideBand : EventRole::kSampling; return true;
            case 3:
                if (auto attr = decode_attr(bytes_in(in), Endian::kNative)) event.attr = *attr;
                return true;
            default: return false;
        }
    });
    return event;
}

CaptureFacts::Instance read_instance(protozero::pbf_reader message) {
    CaptureFacts::Instance instance;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: instance.id = EventId{number(in)}; return true;
            case 2: instance.event = EventIndex{number32(in)}; return true;
            case 3:
                if (const auto plus_one = number32(in); plus_one != 0) instance.cpu = CpuId{plus_one - 1};
                return true;
            case 4: instance.generation = number32(in); return true;
            case 5: instance.nominal_period = Nanoseconds(nanoseconds(in)); return true;
            case 6: instance.period_or_freq = number(in); return true;
            case 7: instance.max_stack = static_cast<std::uint16_t>(number(in)); return true;
            default: return false;
        }
    });
    return instance;
}

void read_run_delays(protozero::pbf_reader& in, std::vector<RunDelay>& rows) {
    std::vector<std::int64_t> numbers;
    read_packed(in, numbers);
    for (std::size_t at = 0; at + 2 <= numbers.size(); at += 2) {
        append(rows, {CpuId{static_cast<std::uint32_t>(numbers[at])},
                      Nanoseconds(std::clamp<std::int64_t>(numbers[at + 1], 0, kMostNanoseconds))});
    }
}

CgroupThrottled read_throttled(protozero::pbf_reader message) {
    CgroupThrottled row;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: row.path = read_text(in); return true;
            case 2: row.periods = number(in); return true;
            case 3: row.throttled_periods = number(in); return true;
            case 4: row.throttled = Nanoseconds(nanoseconds(in)); return true;
            default: return false;
        }
    });
    return row;
}

Cut read_cut(protozero::pbf_reader message, CpuTimesCodec& memory) {
    Cut cut;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 1: {
                auto times = read_cpu_times(message_in(in), memory);
                cut.time = times.time;
                cut.cpu_times = std::move(times.cpus);
                return true;
            }
            case 2: cut.wall = wall_time(in); return true;
            case 3: cut.lost_side_band = number(in); return true;
            case 4: cut.clock_stepped = number(in) != 0; return true;
            case 5: cut.last = number(in) != 0; return true;
            case 6: read_run_delays(in, cut.waits.run_delays); return true;
            case 7: append(cut.waits.throttled, read_throttled(message_in(in))); return true;
            default: return false;
        }
    });
    return cut;
}

CaptureFacts read_facts(protozero::pbf_reader message) {
    CaptureFacts facts;
    CpuTimesCodec memory;
    for_each_field(message, [&](protozero::pbf_reader& in) {
        switch (in.tag()) {
            case 2: facts.host = read_host(message_in(in), memory); return true;
            case 3: append(facts.events, read_event(message_in(in))); return true;
            case 4: append(facts.instances, read_instance(message_in(in))); return true;
            case 5: append(facts.cuts, read_cut(message_in(in), memory)); return true;
            default: return false;
        }
    });
    return facts;
}

}  // namespace

Result<CaptureFacts> decode_capture_facts(Bytes bytes) {
    try {
        CaptureFacts facts =
            read_facts(protozero::pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        for (const auto& instance : facts.instances) {
            if (instance.event.value >= facts.events.size())
                return fail(ErrorCode::kInvalid, "the host facts name an event that they do not list");
        }
        return facts;
    } catch (const std::exception& e) {
        return fail(ErrorCode::kInvalid, std::string("the host facts are damaged: ") + e.what());
    }
}

}  // namespace perfvigil::collector
