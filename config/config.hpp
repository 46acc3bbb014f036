// SPDX-License-Identifier: GPL-2.0-or-later
// From text to Options: every key known, every value in range, every relation between values kept, or all faults at
// once. And back: a file that sets every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fault.hpp"
#include "config/options.hpp"

namespace perfvigil::config {

struct Loaded {
    Options options;  // the defaults where a key is absent; to be used only without faults
    std::vector<Fault> faults;
};

[[nodiscard]] Loaded load_text(std::string_view yaml);
// A file that cannot be read is one fault.
[[nodiscard]] Loaded load_file(const std::string& path);

// The options as a configuration file with every key and its comment.
[[nodiscard]] std::string print_yaml(const Options& options);

// The keys in which the two differ and that only a restart can change; and those that a reload changes.
struct Difference {
    std::vector<std::string_view> live;
    std::vector<std::string_view> restart;
};
[[nodiscard]] Difference difference(const Options& now, const Options& next);
// `now` with every live key taken from `next`.
[[nodiscard]] Options with_live_keys(const Options& now, const Options& next);

}  // namespace perfvigil::config
