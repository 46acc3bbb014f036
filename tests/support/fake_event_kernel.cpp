// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/fake_event_kernel.hpp"

#include <algorithm>

namespace perfvigil::test {

using namespace perfvigil::collector;

namespace {

class FakeRing final : public EventRing {
public:
    FakeRing(std::shared_ptr<FakeEventKernel::Ring> ring, ManualClock& clock, int enable_error)
        : ring_(std::move(ring)), clock_(clock), enable_error_(enable_error) {}
    ~FakeRing() override { ring_->closed = true; }

    int enable() override {
        if (enable_error_ != 0) return enable_error_;
        ring_->enabled = true;
        ring_->enabled_at = clock_.monotonic();
        return 0;
    }
    void disable() override {
        ring_->enabled_before = enabled_time();
        ring_->enabled = false;
    }
    std::optional<Counter> read(std::size_t event, std::size_t thread) override {
        const EventId id = ring_->ids.at(event * ring_->request.threads.size() + thread);
        const auto enabled = static_cast<std::uint64_t>(enabled_time().count());
        const std::uint64_t counted = ring_->value != 0 ? ring_->value : enabled;
        if (ring_->never_runs) return Counter{id, 0, enabled, 0, ring_->lost};
        return Counter{id, ring_->silent.contains(event) ? 0 : counted, enabled, enabled, ring_->lost};
    }
    Bytes next() override {
        if (ring_->stuck || ring_->records.empty()) return {};
        ring_->last = std::move(ring_->records.front());
        ring_->records.pop_front();
        return ring_->last;
    }
    void release() override {}
    void skip_to_head() override {
        ++ring_->skipped;
        ring_->stuck = false;
        ring_->records.clear();
    }
    bool alive() override { return ring_->alive; }

private:
    [[nodiscard]] Nanoseconds enabled_time() const {
        if (ring_->frozen_at >= Nanoseconds(0)) return ring_->frozen_at;
        return ring_->enabled ? ring_->enabled_before + (clock_.monotonic() - ring_->enabled_at)
                              : ring_->enabled_before;
    }

    std::shared_ptr<FakeEventKernel::Ring> ring_;
    ManualClock& clock_;
    int enable_error_;
};

}  // namespace

SampleId FakeEventKernel::Ring::sample_id(MonotonicTime time, std::int32_t pid) const {
    SampleId id;
    id.pid = Pid{pid};
    id.tid = Tid{pid};
    id.time = time;
    id.id = ids.front();
    id.cpu = request.cpu;
    return id;
}

void FakeEventKernel::Ring::write_sample(MonotonicTime time, std::int32_t pid, std::size_t event) {
    SampleFields sample;
    sample.id = sample_id(time, pid);
    sample.id.id = ids.at(event * request.threads.size());
    sample.ip = 0x401000;
    sample.chain = {kContextUser, 0x401000};
    records.push_back(record_bytes(layout(), sample));
}

void FakeEventKernel::Ring::write_lost(MonotonicTime time, std::uint64_t count) {
    records.push_back(record_bytes(layout(), LostRecord{sample_id(time, 1), ids.front(), count}));
}

void FakeEventKernel::Ring::write_comm(MonotonicTime time, std::int32_t pid, std::string_view comm) {
    records.push_back(record_bytes(layout(), CommRecord{sample_id(time, pid), Pid{pid}, Tid{pid}, false, comm}));
}

FakeEventKernel::Ring* FakeEventKernel::ring(std::uint32_t cpu, bool side_band) {
    for (auto it = rings.rbegin(); it != rings.rend(); ++it) {
        if (!(*it)->closed && (*it)->request.cpu == CpuId{cpu} && (*it)->side_band() == side_band) return it->get();
    }
    return nullptr;
}

std::size_t FakeEventKernel::open_rings() const {
    return static_cast<std::size_t>(std::ranges::count(rings, false, [](const auto& ring) { return ring->closed; }));
}

int FakeEventKernel::probe(const EventAttr& attr, CpuId cpu, Tid thread) {
    return on_open ? on_open(attr, cpu, thread) : 0;
}

std::expected<std::unique_ptr<EventRing>, OpenFailure> FakeEventKernel::open(const RingRequest& request) {
    for (std::size_t event = 0; event < request.events.size(); ++event) {
        for (const Tid thread : request.threads) {
            if (const int error = probe(request.events[event], request.cpu, thread); error != 0) {
                return std::unexpected(OpenFailure{OpenFailure::Step::kOpen, error, event});
            }
        }
    }
    if (const int error = on_map ? on_map(request.cpu, request.bytes) : 0; error != 0) {
        return std::unexpected(OpenFailure{OpenFailure::Step::kMap, error, 0});
    }
    auto ring = std::make_shared<Ring>();
    ring->request = request;
    for (std::size_t i = 0; i < request.events.size() * request.threads.size(); ++i) {
        ring->ids.push_back(EventId{next_id_++});
    }
    rings.push_back(ring);
    return std::make_unique<FakeRing>(std::move(ring), clock_, enable_error);
}

std::optional<std::int64_t> FakeEventKernel::setting(std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::nullopt : std::optional(found->second);
}

std::vector<CpuTimes> FakeEventKernel::cpu_times() {
    std::vector<CpuTimes> times;
    for (const CpuId cpu : online) times.push_back({.cpu = cpu, .idle = to_ns(clock_.monotonic())});
    return times;
}

}  // namespace perfvigil::test
