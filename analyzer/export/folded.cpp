// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/folded.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/export/frame_style.hpp"
#include "analyzer/slice/hash_index.hpp"
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

// Stacks that read the same are one line, whatever made them two.
class Lines {
public:
    Lines(const Profile& profile, const FoldedOptions& options) : profile_(profile), value_(options.value) {
        for (const auto& function : profile.functions) {
            of_function_.push_back(
                labels_.number(frame_name(function), options.mark_kernel && function.kernel ? "_[k]" : ""));
        }
        for (const auto& context : profile.contexts) {
            of_context_.push_back(labels_.number(thread_name(context.comm), ""));
        }
    }

    void count(const ProfileSample& sample) {
        const std::uint64_t value = value_ == FoldedOptions::Value::kWeight ? sample.weight : sample.samples;
        std::uint64_t hash = mix(hash_seed(), of_context_[sample.context]);
        for (const auto function : profile_.stacks[sample.stack].functions) hash = mix(hash, of_function_[function]);
        const auto at = index_.find(hash, [&](std::uint32_t row) { return read_the_same(*rows_[row].first, sample); });
        if (at != HashIndex::kNone) {
            rows_[at].value += value;
            return;
        }
        index_.insert(hash, static_cast<std::uint32_t>(rows_.size()));
        rows_.push_back({.first = &sample, .value = value});
    }

    // Heaviest first, equal ones in the profile's order.
    std::string write() {
        std::ranges::stable_sort(rows_, std::greater{}, &Row::value);
        std::string out;
        for (const Row& row : rows_) {
            if (row.value != 0) append(row, out);
        }
        return out;
    }

private:
    struct Row {
        const ProfileSample* first = nullptr;
        std::uint64_t value = 0;
    };

    [[nodiscard]] bool read_the_same(const ProfileSample& a, const ProfileSample& b) const {
        if (of_context_[a.context] != of_context_[b.context]) return false;
        if (a.stack == b.stack) return true;
        const auto label = [&](std::uint32_t function) { return of_function_[function]; };
        return std::ranges::equal(profile_.stacks[a.stack].functions, profile_.stacks[b.stack].functions, {}, label,
                                  label);
    }

    void append(const Row& row, std::string& out) const {
        out += labels_[of_context_[row.first->context]];
        const auto& functions = profile_.stacks[row.first->stack].functions;
        for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
            out += ';';
            out += labels_[of_function_[*function]];
        }
        std::array<char, 24> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), row.value).ptr;
        out += ' ';
        out.append(digits.data(), end);
        out += '\n';
    }

    const Profile& profile_;
    FoldedOptions::Value value_;
    Labels labels_;
    std::vector<std::uint32_t> of_function_;
    std::vector<std::uint32_t> of_context_;
    std::vector<Row> rows_;
    HashIndex index_;
};

}  // namespace

std::string folded(const Profile& profile, std::uint32_t event, const FoldedOptions& options) {
    Lines lines(profile, options);
    for (const auto& sample : profile.samples) {
        if (sample.event == event && (!sample.idle || options.idle == IdleRows::kInclude)) lines.count(sample);
    }
    return lines.write();
}

}  // namespace perfvigil::analyzer
