// SPDX-License-Identifier: GPL-2.0-or-later
// A synthetic stream that is always due, as a capture file is.
#pragma once

#include <optional>
#include <utility>

#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

class ImmediateSource final : public collector::RecordSource {
public:
    explicit ImmediateSource(SyntheticOptions options) : stream(std::move(options)) {}

    [[nodiscard]] const collector::EventTable& events() const override { return stream.events(); }
    [[nodiscard]] Result<void> pump(collector::RecordSink& sink) override { return stream.pump(sink); }
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const override {
        return stream.next_pump() ? std::optional(MonotonicTime{}) : std::nullopt;
    }
    [[nodiscard]] Result<void> finish(collector::RecordSink& sink) override { return stream.finish(sink); }

    SyntheticStream stream;
};

}  // namespace perfvigil::test
