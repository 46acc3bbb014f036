// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/capture_stream.hpp"

#include <boost/json.hpp>

#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace frame = protocol::frame;

// A block of a capture is far smaller, a profile too.
constexpr std::uint64_t kLargestFrame = 1U << 30;

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8U | static_cast<unsigned char>(bytes[i]);
    return number;
}

Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

}  // namespace

Result<void> CaptureStreamParser::feed(std::string_view bytes) {
    pending_ += bytes;
    std::string_view rest = pending_;
    while (rest.size() >= frame::kHeadSize) {
        const auto length = little_endian(rest.substr(1, frame::kHeadSize - 1));
        if (length > kLargestFrame) return fail(ErrorCode::kInvalid, "the daemon's answer is no capture");
        if (rest.size() < frame::kHeadSize + length) break;
        if (auto done = deliver(rest.front(), rest.substr(frame::kHeadSize, length)); !done) return done;
        rest.remove_prefix(frame::kHeadSize + length);
    }
    pending_.erase(0, pending_.size() - rest.size());
    return {};
}

Result<void> CaptureStreamParser::deliver(char kind, std::string_view payload) const {
    if (kind == frame::kProfile) return frames_.on_profile(as_bytes(payload));
    if (kind == frame::kBytes) {
        if (payload.size() < frame::kOffsetSize)
            return fail(ErrorCode::kInvalid, "a frame of the capture is too short");
        return frames_.on_bytes(little_endian(payload.substr(0, frame::kOffsetSize)),
                                as_bytes(payload.substr(frame::kOffsetSize)));
    }
    if (kind != frame::kEvent) return {};
    boost::system::error_code error;
    const auto value = boost::json::parse(payload, error);
    if (error || !value.is_object()) return fail(ErrorCode::kInvalid, "an event of the capture is no JSON object");
    return frames_.on_event(value.get_object());
}

}  // namespace perfvigil::cli
