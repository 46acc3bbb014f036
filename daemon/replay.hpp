// SPDX-License-Identifier: GPL-2.0-or-later
// A capture file as if it happened now: its records come no faster than `speed` times their own pace. Thread: sampler.
#pragma once

#include <memory>
#include <optional>

#include "collector/stream.hpp"

namespace perfvigil::daemon {

class PacedSource final : public collector::RecordSource {
public:
    // `speed` 0: as fast as possible.
    PacedSource(std::unique_ptr<collector::RecordSource> source, double speed, const Clock& clock);

    [[nodiscard]] const collector::EventTable& events() const override { return source_->events(); }
    [[nodiscard]] Result<void> pump(collector::RecordSink& sink) override;
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const override;
    [[nodiscard]] Result<void> finish(collector::RecordSink& sink) override { return source_->finish(sink); }

private:
    class Watch;

    std::unique_ptr<collector::RecordSource> source_;
    double speed_;
    const Clock& clock_;
    std::optional<MonotonicTime> first_record_;  // the capture's clock
    MonotonicTime last_record_{};
    MonotonicTime begun_{};  // ours, when the first record was delivered
};

}  // namespace perfvigil::daemon
