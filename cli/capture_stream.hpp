// SPDX-License-Identifier: GPL-2.0-or-later
// The answer of the daemon to a capture, taken apart as it comes (protocol.hpp, frame::*). Bytes in, frames out; knows
// no socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::cli {

// What is done with each frame. An error ends the stream.
struct CaptureFrames {
    std::function<Result<void>(const boost::json::object&)> on_event;
    std::function<Result<void>(std::uint64_t offset, Bytes bytes)> on_bytes;
    std::function<Result<void>(Bytes profile)> on_profile;
};

class CaptureStreamParser {
public:
    explicit CaptureStreamParser(CaptureFrames frames) : frames_(std::move(frames)) {}

    // The next bytes, cut anywhere. Frames of a kind that is not known (a newer daemon's) are passed over.
    [[nodiscard]] Result<void> feed(std::string_view bytes);
    // Whether a frame was begun that is not whole.
    [[nodiscard]] bool within_frame() const { return !pending_.empty(); }

private:
    [[nodiscard]] Result<void> deliver(char kind, std::string_view payload) const;

    CaptureFrames frames_;
    std::string pending_;
};

}  // namespace perfvigil::cli
