// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/open_event_set.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perfvigil::collector {
namespace {

constexpr int kMaxRaces = 16;  // threads that end between being listed and being opened

class Opening {
public:
    Opening(OpenRequest& request, std::vector<Degraded>& degraded) : request_(request), degraded_(degraded) {}

    Result<std::unique_ptr<EventSet>> run() {
        for (;;) {
            auto set = std::make_unique<EventSet>(request_.kernel, request_.table, request_.options, request_.plan,
                                                  request_.indices, request_.generation);
            std::expected<void, CpuOpenFailure> opened;
            for (const CpuId cpu : std::vector(request_.cpus)) {
                opened = set->open_cpu(cpu);
                if (!opened && went_offline(opened.error())) opened = {};
                if (!opened) break;
            }
            if (opened && set->cpus().empty()) return fail(ErrorCode::kUnsupported, "no CPU to record is online");
            if (opened) {
                request_.kernel.seal_descriptors();
                return set;
            }
            set.reset();  // gives memory and files back before the next attempt
            if (auto settled = settle(opened.error()); !settled) return fail(std::move(settled.error()));
        }
    }

private:
    bool went_offline(const CpuOpenFailure& failed) {
        if (failed.failure.step != OpenFailure::Step::kOpen || failed.failure.error_number != ENODEV) return false;
        const auto online = request_.kernel.online_cpus();
        return online && std::ranges::find(*online, failed.cpu) == online->end();
    }

    // Prepares another attempt, or says why there is none.
    Result<void> settle(const CpuOpenFailure& failed) {
        const int error = failed.failure.error_number;
        if (failed.failure.step == OpenFailure::Step::kMap) return settle_map(failed);
        if (error == EMFILE && !raised_ && request_.kernel.raise_file_limit()) {
            raised_ = true;
            note_degraded(degraded_,
                          {"raised_file_limit", "RLIMIT_NOFILE was too small for an event per CPU and was raised",
                           "Set LimitNOFILE= to three per CPU and 64 more."});
            return {};
        }
        if (error == ESRCH && races_ < kMaxRaces) {
            ++races_;
            auto threads = list_threads(request_.kernel.proc_root(), request_.options.target);
            if (!threads) return fail(std::move(threads.error()));
            request_.plan.threads = std::move(*threads);
            return {};
        }
        return explain(failed);
    }

    Result<void> settle_map(const CpuOpenFailure& failed) {
        const int error = failed.failure.error_number;
        if (request_.fallback == RingFallback::kNone || (error != EPERM && error != ENOMEM)) return explain(failed);
        if (!halve_rings(request_.plan.tuning, request_.kernel.page_size())) return explain(failed);
        const Tuning& now = request_.plan.tuning;
        note_degraded(degraded_,
                      {"small_rings",
                       fmt::format("rings of {} KiB for samples and {} KiB for side-band records per CPU are all that "
                                   "the kernel grants",
                                   now.sample_ring_bytes >> 10, now.side_band_ring_bytes >> 10),
                       open_error(request_.kernel, request_.options, "ring", failed.failure).message});
        return {};
    }

    std::unexpected<Error> explain(const CpuOpenFailure& failed) {
        return fail(open_error(request_.kernel, request_.options, failed.what, failed.failure)
                        .at(fmt::format("cpu {}", failed.cpu.value)));
    }

    OpenRequest& request_;
    std::vector<Degraded>& degraded_;
    bool raised_ = false;
    int races_ = 0;
};

}  // namespace

void note_degraded(std::vector<Degraded>& list, Degraded entry) {
    const auto known = std::ranges::find(list, entry.reason, &Degraded::reason);
    if (known == list.end())
        list.push_back(std::move(entry));
    else
        *known = std::move(entry);
}

void set_degraded(std::vector<Degraded>& list, std::string_view reason, std::optional<Degraded> now) {
    if (now) return note_degraded(list, *std::move(now));
    std::erase_if(list, [&](const Degraded& entry) { return entry.reason == reason; });
}

Result<std::unique_ptr<EventSet>> open_event_set(OpenRequest request, std::vector<Degraded>& degraded) {
    return Opening(request, degraded).run();
}

std::optional<Degraded> missing_events(const EventSet& set) {
    std::map<std::string, std::vector<std::uint32_t>> cpus_of;
    for (const MissingEvent& missing : set.missing()) cpus_of[missing.event].push_back(missing.cpu.value);
    std::string detail;
    for (const auto& [event, cpus] : cpus_of) {
        detail += fmt::format("{}{} could not be opened on {} of {} CPUs ({})", detail.empty() ? "" : "; ", event,
                              cpus.size(), set.cpus().size(), fmt::join(cpus, ","));
    }
    if (detail.empty()) return std::nullopt;
    return Degraded{"event_missing", detail + "; what needs it says nothing of them",
                    "Another program may hold the counter, or these CPUs do not have it."};
}

std::optional<Degraded> offline_cpus(const std::vector<CpuId>& wanted, const std::vector<CpuId>& online) {
    std::vector<std::uint32_t> offline;
    for (const CpuId cpu : wanted) {
        if (std::ranges::find(online, cpu) == online.end()) offline.push_back(cpu.value);
    }
    if (offline.empty()) return std::nullopt;
    return Degraded{"cpu_offline", fmt::format("cpu {} is not online and not recorded", fmt::join(offline, ",")),
                    "It is recorded as soon as it comes online."};
}

}  // namespace perfvigil::collector
