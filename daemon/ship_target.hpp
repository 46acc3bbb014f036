// SPDX-License-Identifier: GPL-2.0-or-later
// Where windows are shipped to: a folder, or a collector that takes a POST over plain HTTP. Blocks its caller, a
// thread of its own, up to its limits; a stop ends it at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "config/ship.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

struct Shipment {
    std::string_view id;      // of the window
    std::string_view suffix;  // of a file: "pb.gz"
    std::string_view media_type;
    std::string_view bytes;
};

struct ShipLimits {
    Nanoseconds connect = std::chrono::seconds(5);
    Nanoseconds exchange = std::chrono::seconds(30);  // all that follows
    std::size_t answer = 64U << 10;                   // bytes of it that are read
};

class ShipTarget {
public:
    virtual ~ShipTarget() = default;
    // kInvalid: refused for good, the same again would be refused again. kCancelled: `stop` was raised. Else it may be
    // tried again.
    [[nodiscard]] virtual Result<void> send(const Shipment& shipment, const WakeEvent& stop) = 0;
};

// `free_limit`: a folder is not filled beyond that.
[[nodiscard]] std::unique_ptr<ShipTarget> make_ship_target(const config::ShipOptions& options, std::uint64_t free_limit,
                                                           ShipLimits limits = {});

}  // namespace perfvigil::daemon
