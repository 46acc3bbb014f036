// SPDX-License-Identifier: GPL-2.0-or-later
// One screen of perfvigil top: the newest slice as /v1/live tells it (docs/http-api.md). Knows no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace perfvigil::cli {

struct ScreenSize {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

// Keeps the newest slice; answers without one leave it as it is.
class LiveView {
public:
    [[nodiscard]] Result<void> take(std::string_view answer);
    // The number of the newest slice; 0: none yet.
    [[nodiscard]] std::uint64_t newest() const { return newest_; }

    // At most as many lines, and as wide, as the screen has. `trouble`: why nothing newer comes; empty: all is well.
    [[nodiscard]] std::vector<std::string> page(ScreenSize screen, std::string_view trouble) const;

private:
    boost::json::object around_;
    boost::json::object slice_;
    std::string run_;
    std::uint64_t newest_ = 0;
};

}  // namespace perfvigil::cli
