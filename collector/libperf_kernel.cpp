// SPDX-License-Identifier: GPL-2.0-or-later
// The real kernel, through libperf 6.1: one evlist per CPU and ring. What libperf does not offer decides the shape:
// opening is all-or-nothing per event, an evlist is mapped once, no file descriptor and no ioctl is exported, so ids
// and lost counts come from perf_evsel__read, and close-on-exec is set afterwards.
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// libperf 6.1 declares C functions without saying so. What it includes itself is included above, as C++.
extern "C" {
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/cgroup_throttling.hpp"
#include "collector/event_kernel.hpp"
#include "collector/host_facts.hpp"
#include "collector/run_delays.hpp"
#include "collector/tickless.hpp"

namespace perfvigil::collector {
namespace {

// libperf 6.1 never gives back the references that an evsel takes on its maps, so they are made once per kernel, one
// per CPU and one per list of threads, and never destroyed.
class MapsForGood {
public:
    perf_cpu_map* of(CpuId cpu) {
        auto& map = cpus_[cpu];
        if (map == nullptr) map = perf_cpu_map__new(fmt::format("{}", cpu.value).c_str());
        return map;
    }

    perf_thread_map* of(const std::vector<Tid>& threads) {
        auto& map = threads_[threads];
        if (map == nullptr) {
            std::vector<pid_t> tids;
            tids.reserve(threads.size());
            for (const Tid tid : threads) tids.push_back(tid.value);
            map = perf_thread_map__new_array(static_cast<int>(tids.size()), tids.data());
        }
        return map;
    }

private:
    std::map<CpuId, perf_cpu_map*> cpus_;
    std::map<std::vector<Tid>, perf_thread_map*> threads_;
};

perf_event_attr kernel_attr(const EventAttr& attr) {
    std::vector<std::byte> bytes;
    encode_attr(attr, bytes);
    perf_event_attr out{};
    static_assert(sizeof out >= kStoredAttrSize);
    std::memcpy(&out, bytes.data(), bytes.size());
    return out;
}

class LibperfRing final : public EventRing {
public:
    LibperfRing() : evlist_(perf_evlist__new()) {}
    ~LibperfRing() override { perf_evlist__delete(evlist_); }
    LibperfRing(const LibperfRing&) = delete;
    LibperfRing& operator=(const LibperfRing&) = delete;

    std::expected<void, OpenFailure> open(const RingRequest& request, MapsForGood& maps, std::size_t page_size) {
        using Step = OpenFailure::Step;
        perf_cpu_map* cpus = maps.of(request.cpu);
        perf_thread_map* threads = maps.of(request.threads);
        if (evlist_ == nullptr || cpus == nullptr || threads == nullptr) {
            return std::unexpected(OpenFailure{Step::kOpen, ENOMEM, 0});
        }
        for (const EventAttr& attr : request.events) {
            perf_event_attr raw = kernel_attr(attr);
            perf_evsel* evsel = perf_evsel__new(&raw);
            if (evsel == nullptr) return std::unexpected(OpenFailure{Step::kOpen, ENOMEM, evsels_.size()});
            perf_evlist__add(evlist_, evsel);
            evsels_.push_back(evsel);
        }
        perf_evlist__set_maps(evlist_, cpus, threads);
        for (std::size_t i = 0; i < evsels_.size(); ++i) {
            if (const int error = perf_evsel__open(evsels_[i], cpus, threads); error < 0) {
                return std::unexpected(OpenFailure{Step::kOpen, -error, i});
            }
        }
        page_size_ = page_size;
        size_ = request.bytes;
        return map(request.bytes / page_size);
    }

    int enable() override {
        for (perf_evsel* evsel : evsels_) {
            errno = 0;
            if (perf_evsel__enable(evsel) != 0) return errno != 0 ? errno : EIO;
        }
        return 0;
    }

    void disable() override { perf_evlist__disable(evlist_); }

    std::optional<Counter> read(std::size_t event, std::size_t thread) override {
        perf_counts_values values{};
        // A read of nothing leaves libperf's result at zero and success; an opened event's id is never zero.
        if (perf_evsel__read(evsels_[event], 0, static_cast<int>(thread), &values) < 0 || values.id == 0) {
            return std::nullopt;
        }
        return Counter{EventId{values.id}, values.val, values.ena, values.run, values.lost};
    }

    Bytes next() override {
        if (!reading_) {
            // After its tasks have ended libperf unmaps the ring as soon as it is empty.
            const int error = mapped_ ? perf_mmap__read_init(ring_) : -ENOENT;
            mapped_ = error != -ENOENT;
            if (error < 0) return {};
            reading_ = true;
        }
        const perf_event* record = perf_mmap__read_event(ring_);
        if (record == nullptr) {
            reading_ = false;
            return {};
        }
        return whole({reinterpret_cast<const std::byte*>(record), record->header.size});
    }

    void release() override {
        if (mapped_) perf_mmap__consume(ring_);
    }

    void skip_to_head() override {
        if (mapped_) perf_mmap__read_done(ring_);
        release();
        reading_ = false;
        place_known_ = data_ != nullptr;
        if (!place_known_ || !mapped_) return;
        // The control page lies in front of the data; only the call above moves the tail.
        const auto* control = reinterpret_cast<const perf_event_mmap_page*>(data_ - page_size_);
        position_ = control->data_tail;
    }

    bool alive() override {
        if (ended_) return false;
        perf_evlist__poll(evlist_, 0);
        ended_ = perf_evlist__filter_pollfd(evlist_, POLLERR | POLLHUP) == 0;
        return !ended_;
    }

private:
    using perf_event = union ::perf_event;

    // Of a record that wraps around the ring's end libperf copies no more than sizeof(perf_event), some 4 KiB; a stack
    // dump has more. The first record of all lies at the start of the ring's data, so from then on it is known where
    // each one lies, and a wrapping one is put together here.
    Bytes whole(Bytes seen) {
        if (!place_known_) return seen.first(std::min(seen.size(), sizeof(perf_event)));
        if (data_ == nullptr) data_ = seen.data();
        const auto at = static_cast<std::size_t>(position_ % size_);
        position_ += seen.size();
        const std::size_t before_end = size_ - at;
        if (seen.size() <= before_end) return seen;
        joined_.assign(data_ + at, data_ + size_);
        joined_.insert(joined_.end(), data_, data_ + (seen.size() - before_end));
        return joined_;
    }

    std::expected<void, OpenFailure> map(std::uint64_t pages) {
        // With PERF_FORMAT_ID libperf builds tables of ids that 6.1 never frees. They are of no use here: the format
        // is hidden from it while it maps.
        std::vector<__u64> formats;
        formats.reserve(evsels_.size());
        for (perf_evsel* evsel : evsels_) {
            formats.push_back(std::exchange(perf_evsel__attr(evsel)->read_format, 0));
        }
        errno = 0;
        const int result = perf_evlist__mmap(evlist_, static_cast<int>(pages));
        const int error = errno;
        for (std::size_t i = 0; i < evsels_.size(); ++i) perf_evsel__attr(evsels_[i])->read_format = formats[i];
        if (result == 0) ring_ = perf_evlist__next_mmap(evlist_, nullptr, false);
        if (ring_ == nullptr) return std::unexpected(OpenFailure{OpenFailure::Step::kMap, error != 0 ? error : EIO, 0});
        return {};
    }

    perf_evlist* evlist_;
    std::vector<perf_evsel*> evsels_;  // owned by the evlist
    perf_mmap* ring_ = nullptr;        // owned by the evlist
    std::size_t page_size_ = 0;
    std::size_t size_ = 0;             // of the ring's data
    const std::byte* data_ = nullptr;  // its start, once a record has been seen
    bool place_known_ = true;          // false: the first record was skipped unseen, and with it where the data starts
    std::uint64_t position_ = 0;       // of the next record, in bytes ever written
    std::vector<std::byte> joined_;
    bool mapped_ = true;
    bool reading_ = false;  // between read_init and the record that was not there
    bool ended_ = false;
};

int keep_quiet(libperf_print_level, const char*, va_list) { return 0; }

class LiveKernel final : public EventKernel {
public:
    explicit LiveKernel(std::optional<HostFacts> known = {}) : known_(std::move(known)) {
        static std::once_flag quiet;
        std::call_once(quiet, [] { libperf_init(keep_quiet); });
    }

    int probe(const EventAttr& attr, CpuId cpu, Tid thread) override {
        perf_event_attr raw = kernel_attr(attr);
        perf_evsel* evsel = perf_evsel__new(&raw);
        if (evsel == nullptr) return ENOMEM;
        const int error = perf_evsel__open(evsel, maps_.of(cpu), maps_.of(std::vector<Tid>{thread}));
        perf_evsel__close(evsel);
        perf_evsel__delete(evsel);
        return -error;
    }

    std::expected<std::unique_ptr<EventRing>, OpenFailure> open(const RingRequest& request) override {
        auto ring = std::make_unique<LibperfRing>();
        if (auto opened = ring->open(request, maps_, page_size()); !opened) return std::unexpected(opened.error());
        return ring;
    }

    void seal_descriptors() override {
        DIR* folder = ::opendir("/proc/self/fd");
        if (folder == nullptr) return;
        while (const dirent* entry = ::readdir(folder)) {
            const auto fd = parse_number<int>(entry->d_name);
            if (!fd || (::fcntl(*fd, F_GETFD) & FD_CLOEXEC) != 0) continue;
            std::array<char, 64> target{};
            if (::readlinkat(::dirfd(folder), entry->d_name, target.data(), target.size() - 1) > 0 &&
                std::string_view(target.data()).contains("[perf_event]")) {
                (void)::fcntl(*fd, F_SETFD, FD_CLOEXEC);
            }
        }
        ::closedir(folder);
    }

    bool raise_file_limit() override {
        rlimit limit{};
        if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
        const rlim_t before = limit.rlim_cur;
        // Root may go on to fs.nr_open; others stop at the hard limit.
        const auto most = read_number("/proc/sys/fs/nr_open");
        if (most && static_cast<rlim_t>(*most) > before) {
            const auto all = static_cast<rlim_t>(*most);
            const rlimit wanted{all, std::max(all, limit.rlim_max)};
            if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return true;
        }
        limit.rlim_cur = limit.rlim_max;
        return limit.rlim_cur > before && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }

    std::optional<std::int64_t> setting(std::string_view name) override {
        return read_number(fmt::format("/proc/sys/kernel/{}", name));
    }

    Result<std::vector<CpuId>> online_cpus() override { return collector::online_cpus(); }
    std::vector<CorePmu> core_pmus() override { return read_core_pmus(); }
    std::string tickless_cpus() override { return collector::tickless_cpus(); }
    std::vector<CpuTimes> cpu_times() override { return read_cpu_times(); }
    Waits waits(MonotonicTime now) override {
        if (!throttling_) {
            const auto mounts = read_file("/proc/self/mountinfo");
            throttling_.emplace(mounts ? find_cgroup_mount(*mounts, "cpu") : std::nullopt);
        }
        return {delays_.since_last(), throttling_->read(now)};
    }
    HostFacts host_facts(const Clock& clock) override {
        auto facts = known_ ? as_of_now(*known_, clock) : read_host_facts(clock);
        modules_.emplace("", facts.os_release);
        return facts;
    }
    std::vector<KernelModule> new_modules() override {
        return modules_ ? modules_->news() : std::vector<KernelModule>();
    }
    std::size_t page_size() override { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
    const std::string& proc_root() override {
        static const std::string root = "/proc";
        return root;
    }

private:
    static HostFacts as_of_now(HostFacts facts, const Clock& clock) {
        facts.monotonic_reference = clock.monotonic();
        facts.wall_reference = clock.wall();
        if (const auto online = collector::online_cpus())
            facts.cpus_online = static_cast<std::uint32_t>(online->size());
        facts.modules = read_kernel_modules("", facts.os_release);
        // The caller's to fill.
        facts.command_line.clear();
        facts.text_ranges.clear();
        facts.degraded.clear();
        facts.cpu_times.clear();
        return facts;
    }

    static std::optional<std::int64_t> read_number(const std::string& path) {
        const auto text = read_file(path, 4096);
        return text ? parse_number<std::int64_t>(trim(*text)) : std::nullopt;
    }

    std::optional<HostFacts> known_;
    MapsForGood maps_;
    RunDelays delays_;
    std::optional<CgroupThrottling> throttling_;
    std::optional<ModuleWatch> modules_;
};

}  // namespace

EventKernel& live_kernel() {
    static LiveKernel kernel;
    return kernel;
}

std::unique_ptr<EventKernel> make_live_kernel(std::optional<HostFacts> known) {
    return std::make_unique<LiveKernel>(std::move(known));
}

}  // namespace perfvigil::collector
