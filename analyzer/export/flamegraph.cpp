// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/flamegraph.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include "analyzer/export/flamegraph_script.hpp"
#include "analyzer/export/markup.hpp"
#include "analyzer/export/weight_text.hpp"
#include "analyzer/text_table.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kFlameRow = 17;  // from one row of frames to the next
constexpr double kFrameHeight = 16;
constexpr double kFlameMargin = 10;  // left and right of the frames
constexpr double kHead = 74;         // title, subtitle and legend
constexpr double kFoot = 26;         // the line that tells of the frame under the pointer
constexpr std::size_t kMostName = 4096;
constexpr std::string_view kTooSmall = "(too narrow to be drawn apart)";

// The first `columns` of an escaped text, "…" as the last of them where more follows.
std::string fitting(std::string_view text, std::size_t columns) {
    if (display_width(text) <= columns) return std::string(text);
    std::size_t at = 0;
    for (std::size_t seen = 0; at < text.size(); ++at) {
        const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;
        if (starts && ++seen == columns) break;
    }
    return std::string(text.substr(0, at)) + "…";
}

class Picture {
public:
    Picture(const CallTree& tree, const DescribeFrame& describe, const FlamegraphOptions& options)
        : tree_(tree), describe_(describe), options_(options), inner_(std::max(1.0, options.width - 2 * kFlameMargin)) {
        choose_lightest();
        place();
    }

    std::string write() {
        rows_ = 1;
        for (const Placed& frame : frames_) rows_ = std::max(rows_, frame.depth + 1);
        const double area = static_cast<double>(rows_) * kFlameRow;
        const double height = kHead + area + kFoot;
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pv-flamegraph\" data-growth=\"{}\" data-margin=\"{}\" "
            "data-character=\"{}\" width=\"{}\" height=\"{}\">\n<style><![CDATA[{}]]></style>\n",
            options_.growth == FlamegraphGrowth::kUp ? "up" : "down", kFlameMargin, kFlameCharacter, options_.width,
            height, kFlamegraphStyle);
        out_ += fmt::format("<rect width=\"100%\" height=\"{}\" fill=\"#fff\"/>\n", height);
        head();
        out_ += fmt::format("<svg class=\"pv-frames\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\n", kFlameMargin,
                            kHead, inner_, area);
        for (const Placed& frame : frames_) draw(frame);
        out_ += "</svg>\n";
        out_ += fmt::format("<text class=\"pv-info\" x=\"{}\" y=\"{}\"></text>\n", kFlameMargin, height - 9);
        out_ += fmt::format("<script><![CDATA[{}]]></script>\n</svg>\n", kFlamegraphScript);
        return std::move(out_);
    }

private:
    struct Placed {
        std::uint32_t node = 0;  // the root's: kTooSmall's where `merged` is not 0
        std::size_t depth = 0;
        std::uint64_t before = 0;  // weight to the left of it
        std::uint64_t weight = 0;
        std::uint64_t samples = 0;
        std::size_t merged = 0;  // nodes that are drawn as one
    };

    // The weight from which on a node is drawn by itself.
    void choose_lightest() {
        const auto whole = static_cast<double>(tree_.root().weight);
        const double part = std::clamp(options_.narrowest / inner_, 0.0, 0.5);
        lightest_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(whole * part)));
        std::vector<std::uint64_t> heavy;
        for (const CallNode& node : tree_.nodes()) {
            if (node.weight >= lightest_) heavy.push_back(node.weight);
        }
        if (heavy.size() <= options_.most_frames) return;
        const auto last = heavy.begin() + static_cast<std::ptrdiff_t>(options_.most_frames);
        std::ranges::nth_element(heavy, last, std::greater{});
        lightest_ = *last + 1;
    }

    // Parents before children; each one's children beside each other, heaviest first, its own code behind them.
    void place() {
        frames_.push_back({.weight = tree_.root().weight, .samples = tree_.root().samples});
        for (std::size_t at = 0; at < frames_.size(); ++at) {
            const Placed frame = frames_[at];
            if (frame.merged != 0) continue;
            const CallNode& node = tree_.nodes()[frame.node];
            if (frame.depth + 1 >= options_.deepest) {
                too_deep_ |= !node.children.empty();
                continue;
            }
            std::uint64_t before = frame.before;
            Placed small{.depth = frame.depth + 1};
            for (const auto child : node.children) {
                const CallNode& inner = tree_.nodes()[child];
                if (inner.weight >= lightest_) {
                    frames_.push_back({.node = child,
                                       .depth = frame.depth + 1,
                                       .before = before,
                                       .weight = inner.weight,
                                       .samples = inner.samples});
                    before += inner.weight;
                    continue;
                }
                ++small.merged;
                small.weight += inner.weight;
                small.samples += inner.samples;
            }
            small.before = before;
            if (small.merged != 0 && small.weight >= lightest_) frames_.push_back(small);
        }
    }

    [[nodiscard]] double percent(std::uint64_t weight) const {
        const auto whole = static_cast<double>(tree_.root().weight);
        return whole > 0 ? 100 * static_cast<double>(weight) / whole : 0;
    }

    void text(std::string_view what, double x, double y, std::string_view content) {
        out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", what, x, y, markup(content));
    }

    void head() {
        text("pv-title", kFlameMargin, 22, options_.title);
        text("pv-subtitle", kFlameMargin, 42,
             too_deep_ ? options_.subtitle + fmt::format("; only the outermost {} rows are drawn", options_.deepest)
                       : options_.subtitle);
        out_ += "<g class=\"pv-legend\">\n";
        double x = kFlameMargin;
        for (const auto& [label, colour] : options_.legend) {
            out_ += fmt::format("<rect x=\"{}\" y=\"52\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, colour.hex());
            text("pv-label", x + 17, 62, label);
            x += 17 + 7.2 * static_cast<double>(display_width(label)) + 16;
        }
        out_ += "</g>\n";
    }

    [[nodiscard]] FlameFrame describe(const Placed& frame) const {
        if (frame.merged != 0) {
            return {.name = std::string(kTooSmall),
                    .detail = fmt::format("{} functions", frame.merged),
                    .colour = {0xe6, 0xe6, 0xe6}};
        }
        if (frame.node == 0) return {.name = options_.root_name, .colour = {0xe0, 0xe0, 0xe0}};
        return describe_(frame.node);
    }

    void draw(const Placed& frame) {
        FlameFrame look = describe(frame);
        if (look.name.size() > kMostName) look.name.resize(kMostName);
        const CallNode& node = tree_.nodes()[frame.node];
        const std::uint64_t whole = tree_.root().weight;
        // The name is the tooltip's first line, and what is searched: no line feed of its own.
        const auto name = escape(look.name);
        std::string tooltip = markup_of_escaped(name) + "\n";
        if (!look.detail.empty()) tooltip += markup(look.detail) + "\n";
        tooltip += fmt::format("total {}, {}, {} samples", share_text(frame.weight, whole),
                               weight_text(options_.unit, frame.weight), frame.samples);
        if (frame.merged == 0) {
            tooltip += fmt::format("\nself {}, {}, {} samples", share_text(node.self_weight, whole),
                                   weight_text(options_.unit, node.self_weight), node.self_samples);
        }
        const std::size_t row = options_.growth == FlamegraphGrowth::kUp ? rows_ - 1 - frame.depth : frame.depth;
        const double y = static_cast<double>(row) * kFlameRow;
        const double x = percent(frame.before);
        const double width = frame.node == 0 && frame.merged == 0 ? 100 : percent(frame.weight);
        out_ += fmt::format(
            "<g data-depth=\"{}\"><title>{}</title><rect x=\"{:.8g}%\" y=\"{}\" width=\"{:.8g}%\" height=\"{}\" "
            "fill=\"{}\"/>",
            frame.depth, tooltip, x, y, width, kFrameHeight, look.colour.hex());
        const double room = std::min((width / 100 * inner_ - 6) / kFlameCharacter, static_cast<double>(kMostName));
        if (room >= 3) {
            out_ += fmt::format("<text x=\"{:.8g}%\" dx=\"3\" y=\"{}\">{}</text>", x, y + 12,
                                markup_of_escaped(fitting(name, static_cast<std::size_t>(room))));
        }
        out_ += "</g>\n";
    }

    const CallTree& tree_;
    const DescribeFrame& describe_;
    const FlamegraphOptions& options_;
    double inner_;
    std::uint64_t lightest_ = 1;
    bool too_deep_ = false;
    std::size_t rows_ = 1;
    std::vector<Placed> frames_;
    std::string out_;
};

}  // namespace

std::string flamegraph_svg(const CallTree& tree, const DescribeFrame& describe, const FlamegraphOptions& options) {
    return Picture(tree, describe, options).write();
}

std::string flamegraph_file(const CallTree& tree, const DescribeFrame& describe, const FlamegraphOptions& options) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + flamegraph_svg(tree, describe, options);
}

}  // namespace perfvigil::analyzer
