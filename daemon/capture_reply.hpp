// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture says, in the form that its caller asked for: frames as it goes on (protocol.hpp), or one document at
// the end. Thread: the capture's, but for waiting(), which comes before it starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "analyzer/profile.hpp"
#include "base/bytes.hpp"
#include "collector/capture_file.hpp"
#include "daemon/capture_request.hpp"
#include "daemon/capture_stream.hpp"

namespace perfvigil::daemon {

class CaptureReply {
public:
    CaptureReply(std::shared_ptr<CaptureStream> stream, CaptureRequest::Format format)
        : stream_(std::move(stream)), format_(format) {}

    // Only frames tell of it. `fields` are the event's.
    void event(std::string_view name, boost::json::object fields);
    // Of the capture file; false: the caller does not take them.
    [[nodiscard]] bool bytes(std::uint64_t offset, Bytes bytes);
    void profile(const analyzer::Profile& profile);
    // There will be no profile.
    void failure(const std::string& why);
    void end();

private:
    bool frame(char kind, std::string_view head, std::string_view payload);

    std::shared_ptr<CaptureStream> stream_;
    CaptureRequest::Format format_;
};

// A capture file whose bytes go to the caller, who writes it.
[[nodiscard]] std::unique_ptr<collector::CaptureFile> streamed_file(CaptureReply& reply);

}  // namespace perfvigil::daemon
