// SPDX-License-Identifier: GPL-2.0-or-later
// The terminal as a screen of lines: one frame after the other without flicker, keys unseen. What was there before
// comes back in the end.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/live_page.hpp"

namespace perfvigil::cli {

class Terminal {
public:
    // Whether standard input and output are one.
    [[nodiscard]] static bool present();
    [[nodiscard]] static Result<Terminal> open();
    Terminal(Terminal&& other) noexcept;
    Terminal& operator=(Terminal&&) = delete;
    ~Terminal();

    [[nodiscard]] ScreenSize size() const;
    // Lines that fit (LiveView::page).
    void draw(const std::vector<std::string>& lines) const;

private:
    explicit Terminal(const termios& before) : before_(before) {}

    termios before_{};
    bool open_ = true;
};

}  // namespace perfvigil::cli
