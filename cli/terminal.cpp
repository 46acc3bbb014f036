// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "base/fd.hpp"

namespace perfvigil::cli {
namespace {

// Control sequences of xterm, which every terminal of today knows or passes over (ctlseqs).
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kFrameBegin = "\x1b[?2026h\x1b[H";  // shown at once when it is complete; from the top
constexpr std::string_view kFrameEnd = "\x1b[J\x1b[?2026l";    // nothing below the last line
constexpr std::string_view kLineEnd = "\x1b[K";                // nothing behind it

void put(std::string_view text) { (void)write_all(STDOUT_FILENO, std::as_bytes(std::span(text))); }

}  // namespace

bool Terminal::present() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

Result<Terminal> Terminal::open() {
    termios before{};
    if (::tcgetattr(STDIN_FILENO, &before) != 0) return fail_errno(errno, "the terminal");
    termios quiet = before;
    // Keys come as they are pressed and are not shown; Ctrl-C and Ctrl-Z are keys too, so that none leaves the terminal
    // as it is now.
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    if (::tcsetattr(STDIN_FILENO, TCSANOW, &quiet) != 0) return fail_errno(errno, "the terminal");
    put(kEnter);
    return Terminal(before);
}

Terminal::Terminal(Terminal&& other) noexcept : before_(other.before_), open_(std::exchange(other.open_, false)) {}

Terminal::~Terminal() {
    if (!open_) return;
    put(kLeave);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

ScreenSize Terminal::size() const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
    return {size.ws_row, size.ws_col};
}

void Terminal::draw(const std::vector<std::string>& lines) const {
    std::string frame(kFrameBegin);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) frame += "\r\n";
        frame += lines[i];
        frame += kLineEnd;
    }
    frame += kFrameEnd;
    put(frame);
}

}  // namespace perfvigil::cli
