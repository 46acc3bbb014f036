// SPDX-License-Identifier: GPL-2.0-or-later
// One thing wrong with a configuration. All of them are collected and told at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::config {

struct Fault {
    int line = 0;            // from 1; 0: of no line (a key that is absent)
    std::string key;         // "recording.frequency"; empty: the file as a whole
    std::string why;         // "999999 is above 10000"
    std::string suggestion;  // what to write instead; empty where nothing better is known
};

// "perfvigil.yaml:12: recording.frequncy: unknown key, did you mean recording.frequency?"
[[nodiscard]] std::string to_text(const Fault& fault, std::string_view file);

// One value refused, by a parser that knows neither file nor key.
struct Complaint {
    std::string why;
    std::string suggestion;
};

}  // namespace perfvigil::config
