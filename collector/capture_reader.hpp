// SPDX-License-Identifier: GPL-2.0-or-later
// Reads perf.data of every kind as a RecordSource: v1 and v2, both byte orders, pipe mode, zstd, without rounds,
// truncated, unfinished. What can be read is read; what could not is in warnings(), one sentence each. Only a file in
// which nothing can be read is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "collector/capture_counts.hpp"
#include "collector/capture_features.hpp"
#include "collector/host_facts.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

class CaptureReader final : public RecordSource {
public:
    // "-": standard input. Of a file only its first `size` bytes: what lies behind is none of the capture.
    [[nodiscard]] static Result<std::unique_ptr<CaptureReader>> open(const std::string& path,
                                                                     std::uint64_t size = UINT64_MAX);
    [[nodiscard]] static Result<std::unique_ptr<CaptureReader>> from_bytes(std::vector<std::byte> bytes,
                                                                           std::string name);
    // A stream whose first bytes, `start`, were looked at to tell what it is.
    [[nodiscard]] static Result<std::unique_ptr<CaptureReader>> from_stream(UniqueFd fd, std::vector<std::byte> start,
                                                                            std::string name);
    ~CaptureReader() override;

    [[nodiscard]] const EventTable& events() const override;  // complete after open() for files, grows for pipes
    // Delivers the next stretch (one round, or up to a bounded number of records). next_pump() is always "now" until
    // the end.
    [[nodiscard]] Result<void> pump(RecordSink& sink) override;
    [[nodiscard]] std::optional<MonotonicTime> next_pump() const override;
    // Reads to the end, makes the last cut. An error where the capture held neither an event nor a sample.
    [[nodiscard]] Result<void> finish(RecordSink& sink) override;

    // From the header features; our own section where present. Complete after finish() for pipes.
    [[nodiscard]] const HostFacts& host() const;
    [[nodiscard]] bool ours() const;  // written by perfvigil: READ records and host facts can be trusted
    // When the first and the last sample were taken, where the header says so (never in pipes, nor after a crash).
    [[nodiscard]] const std::optional<SampleTimes>& sample_times() const;
    // Its bytes cannot be read a second time.
    [[nodiscard]] bool streamed() const;
    [[nodiscard]] const std::vector<CaptureBuildId>& build_ids() const;
    [[nodiscard]] const CaptureCounts& counts() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const;
    [[nodiscard]] const std::string& name() const;

private:
    struct State;
    explicit CaptureReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::collector
