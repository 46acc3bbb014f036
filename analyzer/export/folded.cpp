// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/folded.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/call_tree.hpp"
#include "analyzer/export/frame_style.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Each distinct name once.
class Labels {
public:
    std::uint32_t number(std::string_view foreign, std::string_view mark) {
        std::string label = escape(foreign);
        for (auto at = label.find(';'); at != std::string::npos; at = label.find(';', at))
            label.replace(at, 1, "\\x3b");
        label += mark;
        const auto [at, added] = numbers_.emplace(std::move(label), static_cast<std::uint32_t>(numbers_.size()));
        if (added) labels_.push_back(at->first);
        return at->second;
    }
    [[nodiscard]] const std::string& operator[](std::uint32_t number) const { return labels_[number]; }

private:
    boost::unordered_flat_map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> labels_;
};

// The tree's nodes hold numbers of labels: stacks that read the same are one, whatever made them two.
CallTree label_tree(const Profile& profile, std::uint32_t event, const FoldedOptions& options, Labels& labels) {
    std::vector<std::uint32_t> of_function;
    for (const auto& function : profile.functions) {
        of_function.push_back(
            labels.number(frame_name(function), options.mark_kernel && function.kernel ? "_[k]" : ""));
    }
    std::vector<std::uint32_t> of_context;
    for (const auto& context : profile.contexts) of_context.push_back(labels.number(thread_name(context.comm), ""));
    CallTreeBuilder builder;
    std::vector<std::uint32_t> path;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && options.idle == IdleRows::kExclude)) continue;
        const auto& functions = profile.stacks[sample.stack].functions;
        path.assign(1, of_context[sample.context]);
        for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
            path.push_back(of_function[*function]);
        }
        builder.add(path, sample.samples, sample.weight);
    }
    return builder.build();
}

class Lines {
public:
    Lines(const CallTree& tree, const Labels& labels, FoldedOptions::Value value)
        : tree_(tree), labels_(labels), value_(value) {}

    std::string write() {
        struct Step {
            std::uint32_t node;
            std::size_t prefix;  // length of the parent's line
        };
        std::vector<Step> todo;
        const auto add_children = [&](const CallNode& node) {
            for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
                todo.push_back({*child, line_.size()});
            }
        };
        add_children(tree_.root());
        while (!todo.empty()) {
            const Step step = todo.back();
            todo.pop_back();
            const CallNode& node = tree_.nodes()[step.node];
            line_.resize(step.prefix);
            if (step.prefix != 0) line_ += ';';
            line_ += labels_[node.function];
            emit(node);
            add_children(node);
        }
        return std::move(out_);
    }

private:
    void emit(const CallNode& node) {
        const std::uint64_t value = value_ == FoldedOptions::Value::kWeight ? node.self_weight : node.self_samples;
        if (value == 0) return;
        std::array<char, 24> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        out_ += line_;
        out_ += ' ';
        out_.append(digits.data(), end);
        out_ += '\n';
    }

    const CallTree& tree_;
    const Labels& labels_;
    FoldedOptions::Value value_;
    std::string line_;
    std::string out_;
};

}  // namespace

std::string folded(const Profile& profile, std::uint32_t event, const FoldedOptions& options) {
    Labels labels;
    const CallTree tree = label_tree(profile, event, options, labels);
    return Lines(tree, labels, options.value).write();
}

}  // namespace perfvigil::analyzer
