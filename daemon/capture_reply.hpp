// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture says. To a caller: frames as it goes on (protocol.hpp), or one document at the end, as was asked for.
// To a folder: its file and its profile. Thread: the capture's, but for what is said of one that waits.
#pragma once

#include <functional>
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
    virtual ~CaptureReply() = default;
    // Of protocol::event; `fields` are its.
    virtual void event(std::string_view name, boost::json::object fields) = 0;
    // Where the capture's records go, if they are kept.
    [[nodiscard]] virtual Result<std::unique_ptr<collector::CaptureFile>> file() = 0;
    virtual void profile(const analyzer::Profile& profile) = 0;
    // There will be no profile.
    virtual void failure(const std::string& why) = 0;
    // Nothing comes after it.
    virtual void end() = 0;
};

[[nodiscard]] std::unique_ptr<CaptureReply> reply_to_caller(std::shared_ptr<CaptureStream> stream,
                                                            CaptureRequest::Format format);
// Writes NAME.perf.data and NAME.profile into the folder; `done` is told in one sentence what came of it.
[[nodiscard]] std::unique_ptr<CaptureReply> reply_to_folder(std::string folder, std::string name,
                                                            std::function<void(std::string)> done);

}  // namespace perfvigil::daemon
