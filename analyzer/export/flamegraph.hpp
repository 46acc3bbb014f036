// SPDX-License-Identifier: GPL-2.0-or-later
// A call tree as a flame graph: one SVG element that is a complete picture without its script, and with it zooms and
// searches, whether opened as a file or embedded in a page. What a frame is called and how it is coloured comes from
// the caller, so the same picture shows one profile or the change between two.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/call_tree.hpp"
#include "analyzer/export/frame_style.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Texts are foreign: the picture escapes them.
struct FlameFrame {
    std::string name;
    std::string detail{};  // further lines of the tooltip, below the name: the binary, the numbers of the other side …
    Colour colour{};
};
// Called for each drawn node of the tree but the root, which stands for everything.
using DescribeFrame = std::function<FlameFrame(std::uint32_t node)>;

struct FlamegraphLegend {
    std::string label;
    Colour colour{};
};

enum class FlamegraphGrowth : std::uint8_t {
    kUp,    // flames: callers below what they call
    kDown,  // icicles: callers above
};

struct FlamegraphOptions {
    std::string title{};
    std::string subtitle{};  // what is shown, of how much
    WeightUnit unit = WeightUnit::kEvents;
    FlamegraphGrowth growth = FlamegraphGrowth::kUp;
    std::string root_name = "all";
    std::vector<FlamegraphLegend> legend{};
    double width = 1200;     // pixels; in a browser the picture then takes what room there is
    double narrowest = 0.1;  // pixels; neighbours under it are drawn as one
    // The heaviest are drawn where there are more: a picture that a browser can still move.
    std::size_t most_frames = 20'000;
    std::size_t deepest = 500;  // rows; what lies beyond is not drawn, and the picture says so
};

// The <svg> element, ready to be put into a page.
[[nodiscard]] std::string flamegraph_svg(const CallTree& tree, const DescribeFrame& describe,
                                         const FlamegraphOptions& options);
// The same as a file of its own.
[[nodiscard]] std::string flamegraph_file(const CallTree& tree, const DescribeFrame& describe,
                                          const FlamegraphOptions& options);

}  // namespace perfvigil::analyzer
