// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/replay.hpp"

#include <algorithm>

namespace perfvigil::daemon {

// Passes everything on and notes the times.
class PacedSource::Watch final : public collector::RecordSink {
public:
    Watch(PacedSource& paced, collector::RecordSink& sink) : paced_(paced), sink_(sink) {}
    void on_record(const collector::OrderedRecord& record) override {
        // State that a file repeats at its head bears time 0: it is of no moment.
        if (record.time != MonotonicTime{}) {
            if (!paced_.first_record_) {
                paced_.first_record_ = record.time;
                paced_.begun_ = paced_.clock_.monotonic();
            }
            paced_.last_record_ = std::max(paced_.last_record_, record.time);
        }
        sink_.on_record(record);
    }
    void on_cut(const collector::Cut& cut) override { sink_.on_cut(cut); }

private:
    PacedSource& paced_;
    collector::RecordSink& sink_;
};

PacedSource::PacedSource(std::unique_ptr<collector::RecordSource> source, double speed, const Clock& clock)
    : source_(std::move(source)), speed_(speed), clock_(clock) {}

Result<void> PacedSource::pump(collector::RecordSink& sink) {
    Watch watch(*this, sink);
    return source_->pump(watch);
}

std::optional<MonotonicTime> PacedSource::next_pump() const {
    const auto next = source_->next_pump();
    if (!next || speed_ <= 0 || !first_record_) return next;
    const auto played = std::chrono::duration<double, std::nano>(last_record_ - *first_record_) / speed_;
    return std::max(*next, begun_ + std::chrono::duration_cast<Nanoseconds>(played));
}

}  // namespace perfvigil::daemon
