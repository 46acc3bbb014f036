// SPDX-License-Identifier: GPL-2.0-or-later
// The seam between a recording session and the kernel: opening events that share a ring, reading rings and counters,
// and the few files that say what is allowed. live_kernel() is the real one (libperf_kernel.cpp); tests script another
// to answer with any errno at any step.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/core_pmus.hpp"
#include "collector/event_attr.hpp"
#include "collector/host_facts.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

inline constexpr Tid kEveryTask{-1};  // perf_event_open's pid = -1: whoever runs on the CPU

struct RingRequest {
    CpuId cpu{};
    std::vector<Tid> threads{kEveryTask};
    std::vector<EventAttr> events;  // the first owns the ring, the others write into it too
    std::uint64_t bytes = 0;        // of the ring's data: a power of two, at least a page
};

struct OpenFailure {
    enum class Step : std::uint8_t { kOpen, kMap };
    Step step = Step::kOpen;
    int error_number = 0;
    std::size_t event = 0;  // index into RingRequest::events, for kOpen
};

// One read() of an event, cumulative since it was opened.
struct Counter {
    EventId id{};
    std::uint64_t value = 0;
    std::uint64_t enabled = 0;  // ns
    std::uint64_t running = 0;  // ns
    std::uint64_t lost = 0;     // 0 without kReadLost
};

// Events on one CPU that share one ring. Opened disabled. Closes itself.
class EventRing {
public:
    virtual ~EventRing() = default;
    [[nodiscard]] virtual int enable() = 0;  // 0 or errno
    virtual void disable() = 0;
    // nullopt: the kernel does not answer for it (any more).
    [[nodiscard]] virtual std::optional<Counter> read(std::size_t event, std::size_t thread) = 0;
    // The next record; empty when everything was read that had been committed before the call. Valid until the next
    // call of next() or release().
    [[nodiscard]] virtual Bytes next() = 0;
    // Gives the room of all records returned so far back to the kernel.
    virtual void release() = 0;
    // Gives up what is in the ring and goes on at its head: the way out of a ring that next() cannot step through.
    virtual void skip_to_head() = 0;
    // False when every task of this ring and everything that inherited from it has ended.
    [[nodiscard]] virtual bool alive() = 0;
};

class EventKernel {
public:
    virtual ~EventKernel() = default;
    // Opens and closes one event: 0 or errno.
    [[nodiscard]] virtual int probe(const EventAttr& attr, CpuId cpu, Tid thread) = 0;
    [[nodiscard]] virtual std::expected<std::unique_ptr<EventRing>, OpenFailure> open(const RingRequest& request) = 0;
    // After a batch of open(): children that we start must not inherit the events.
    virtual void seal_descriptors() = 0;
    // Raises RLIMIT_NOFILE as far as allowed; whether it is higher now.
    [[nodiscard]] virtual bool raise_file_limit() = 0;

    // A number below /proc/sys/kernel.
    [[nodiscard]] virtual std::optional<std::int64_t> setting(std::string_view name) = 0;
    [[nodiscard]] virtual Result<std::vector<CpuId>> online_cpus() = 0;
    // read_core_pmus(), as of now.
    [[nodiscard]] virtual std::vector<CorePmu> core_pmus() = 0;
    // tickless_cpus().
    [[nodiscard]] virtual std::string tickless_cpus() = 0;
    [[nodiscard]] virtual std::vector<CpuTimes> cpu_times() = 0;
    // Since the call before; what was counted before the first one is left out.
    [[nodiscard]] virtual Waits waits(MonotonicTime now) = 0;
    [[nodiscard]] virtual HostFacts host_facts(const Clock& clock) = 0;
    // Found loaded since host_facts() or the last call.
    [[nodiscard]] virtual std::vector<KernelModule> new_modules() = 0;
    [[nodiscard]] virtual std::size_t page_size() = 0;
    // Where a proc file system is: "/proc".
    [[nodiscard]] virtual const std::string& proc_root() = 0;
};

// The program's own, of one thread; and further ones for sessions on other threads. What libperf never gives back (a
// map per CPU and list of threads) stays for the life of the program, so a thread keeps the kernel it was given.
// `known`: facts of this host that were read before; what cannot have changed since is not read again (it takes 30 ms).
[[nodiscard]] EventKernel& live_kernel();
[[nodiscard]] std::unique_ptr<EventKernel> make_live_kernel(std::optional<HostFacts> known = {});

}  // namespace perfvigil::collector
