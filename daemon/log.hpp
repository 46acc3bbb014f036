// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon says, one line per decision: "window stored id=20260131T120500Z bytes=51200". Values that are not
// plain words are quoted, foreign bytes escaped, so a line stays one line and can be taken apart again. Under systemd
// (JOURNAL_STREAM) each line begins with its priority, sd-daemon(3); elsewhere with the time. Any thread may call.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "config/options.hpp"

namespace perfvigil::daemon::log {

struct Field {
    std::string_view key;
    std::string value;

    Field(std::string_view k, std::string_view v) : key(k), value(v) {}
    Field(std::string_view k, const std::string& v) : key(k), value(v) {}
    Field(std::string_view k, const char* v) : key(k), value(v) {}
    Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
    template <std::integral T>
    Field(std::string_view k, T v) : key(k), value(std::to_string(v)) {}
    Field(std::string_view k, double v);
};
using Fields = std::initializer_list<Field>;

// Level by what the reader should do: error: act now; warning: something is lost or degraded; info: what happened.
void error(std::string_view what, Fields fields = {});
void warning(std::string_view what, Fields fields = {});
void info(std::string_view what, Fields fields = {});
void debug(std::string_view what, Fields fields = {});

void set_level(config::LogLevel level);

// One line without prefix and newline.
[[nodiscard]] std::string format(std::string_view what, Fields fields);

}  // namespace perfvigil::daemon::log
