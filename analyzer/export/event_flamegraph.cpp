// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/event_flamegraph.hpp"

#include <array>

#include <fmt/core.h>

#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/markup.hpp"
#include "analyzer/export/thread_tree.hpp"
#include "analyzer/observation_warnings.hpp"
#include "analyzer/origin_text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kPageHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
body { margin: 12px 16px; font: 14px system-ui, "Segoe UI", "DejaVu Sans", Verdana, sans-serif; color: #111; background: #fff; }
h1 { font-size: 20px; margin: 0 0 4px; }
p { margin: 2px 0; color: #444; }
ul { margin: 6px 0; padding-left: 20px; color: #8a3b00; }
section { margin-top: 18px; border-top: 1px solid #ddd; padding-top: 8px; }
</style>
)html";

struct Graph {
    ThreadTree threads;
    FlamegraphOptions options;
};

FrameKind kind_of(const Profile& profile, const ThreadTree& threads, const CallNode& node) {
    return threads.is_thread(node) ? FrameKind::kThread : frame_kind(profile.functions[node.function]);
}

// Of the kinds that occur.
std::vector<FlamegraphLegend> legend_of(const Profile& profile, const ThreadTree& threads) {
    std::array<bool, kFrameKinds> occurs{};
    const auto& nodes = threads.tree.nodes();
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        occurs[static_cast<std::size_t>(kind_of(profile, threads, nodes[i]))] = true;
    }
    std::vector<FlamegraphLegend> legend;
    for (std::size_t i = 0; i < kFrameKinds; ++i) {
        const auto kind = static_cast<FrameKind>(i);
        if (occurs[i]) legend.push_back({std::string(frame_kind_label(kind)), frame_colour(kind)});
    }
    return legend;
}

Graph graph_of(const Profile& profile, std::uint32_t event, const EventFlamegraphOptions& options) {
    Graph graph{.threads = thread_tree(profile, event, options.idle), .options = {}};
    graph.options.title = profile.host.hostname.empty() ? profile.id : profile.id + " on " + profile.host.hostname;
    graph.options.subtitle = event_text(profile, event, options.idle);
    graph.options.unit = profile.events[event].unit;
    graph.options.growth = options.growth;
    graph.options.legend = legend_of(profile, graph.threads);
    graph.options.width = options.width;
    graph.options.narrowest = options.narrowest;
    return graph;
}

DescribeFrame describing(const Profile& profile, const ThreadTree& threads) {
    return [&](std::uint32_t number) -> FlameFrame {
        const CallNode& node = threads.tree.nodes()[number];
        if (threads.is_thread(node)) {
            const auto& name = threads.thread_of(node);
            return {.name = name, .detail = "thread", .colour = frame_colour(FrameKind::kThread, name)};
        }
        const auto& function = profile.functions[node.function];
        std::string detail = function.dso;
        if (function.reason != UnknownReason::kNone) {
            detail += fmt::format("{}no name: {}", detail.empty() ? "" : ", ", reason_name(function.reason));
        }
        const auto name = frame_name(function);
        return {.name = name, .detail = std::move(detail), .colour = frame_colour(frame_kind(function), name)};
    };
}

std::string page_facts(const Profile& profile) {
    std::string facts = fmt::format("<h1>{}</h1>\n", markup(profile.id));
    if (const auto host = host_text(profile.host); !host.empty()) facts += fmt::format("<p>{}</p>\n", markup(host));
    if (profile.end != WallTime{}) facts += fmt::format("<p>{}</p>\n", markup(time_text(profile)));
    const auto warnings = warnings_of(profile);
    if (warnings.empty()) return facts;
    facts += "<ul>\n";
    for (const auto& warning : warnings) facts += fmt::format("<li>{}</li>\n", markup(warning));
    return facts + "</ul>\n";
}

}  // namespace

std::string event_flamegraph(const Profile& profile, std::uint32_t event, const EventFlamegraphOptions& options) {
    const Graph graph = graph_of(profile, event, options);
    return flamegraph_svg(graph.threads.tree, describing(profile, graph.threads), graph.options);
}

std::string event_flamegraph_file(const Profile& profile, std::uint32_t event, const EventFlamegraphOptions& options) {
    const Graph graph = graph_of(profile, event, options);
    return flamegraph_file(graph.threads.tree, describing(profile, graph.threads), graph.options);
}

std::string flamegraph_page(const Profile& profile, const std::vector<std::uint32_t>& events,
                            const EventFlamegraphOptions& options) {
    std::string page(kPageHead);
    page += fmt::format("<title>{}</title>\n</head>\n<body>\n{}", markup(profile.id), page_facts(profile));
    for (const auto event : events) {
        Graph graph = graph_of(profile, event, options);
        graph.options.title = profile.events[event].name;
        page += "<section>\n";
        page += flamegraph_svg(graph.threads.tree, describing(profile, graph.threads), graph.options);
        page += "</section>\n";
    }
    return page + "</body>\n</html>\n";
}

}  // namespace perfvigil::analyzer
