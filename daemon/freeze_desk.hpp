// SPDX-License-Identifier: GPL-2.0-or-later
// Takes orders to freeze captures, from callers and from rules, and has the disk's thread do them. What a rule asked
// for is followed by a capture of higher rate, whose file and profile lie with what was frozen.
//
//   caller ─ freeze ─┐                         ┌─▶ JSON to the caller
//                    ├▶ disk: FrozenCaptures ──┤
//   rule ─ on_rule ──┘   sampler: cut the file └─▶ io: CaptureDesk ─▶ ID/triggered.perf.data
//
// Thread: io, but for on_rule() and notes(), which are the analyst's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "daemon/api_frozen.hpp"
#include "daemon/capture_desk.hpp"
#include "daemon/disk_writer.hpp"
#include "daemon/trigger_judge.hpp"

namespace perfvigil::daemon {

class FreezeDesk final : public api::Frozen {
public:
    struct Parts {
        DiskWriter& disk;
        const config::Options& options;
        const Clock& clock;
        std::function<void()> cut;  // the file at hand ends with its slice
        CaptureDesk& captures;
        std::function<void(std::function<void()>)> post;  // to the io thread, from any
    };
    explicit FreezeDesk(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] Answer freeze(api::FreezeRequest request, const std::optional<Peer>& peer) override;
    [[nodiscard]] Answer thaw(std::string id) override;
    [[nodiscard]] std::string list_json() const override;

    // Any thread. `last`: how far back.
    void on_rule(const Firing& firing, Nanoseconds last);

    // Any thread: a sentence for what callers had frozen between the two times.
    [[nodiscard]] std::vector<std::string> notes(WallTime from, WallTime to) const;

private:
    struct Past {
        WallTime time{};
        std::string text;
    };

    void note(WallTime time, std::string text);
    void capture_for(const std::string& rule, const std::string& id, const std::string& folder);
    void note_capture(const std::string& id, std::string what);

    Parts parts_;
    mutable std::mutex past_mutex_;
    std::deque<Past> past_;
};

}  // namespace perfvigil::daemon
