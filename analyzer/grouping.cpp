// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/grouping.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/function_label.hpp"
#include "analyzer/slice/hash_index.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::array kKeyNames =
    std::to_array<std::pair<GroupKey, std::string_view>>({{GroupKey::kComm, "comm"},
                                                          {GroupKey::kPid, "pid"},
                                                          {GroupKey::kTid, "tid"},
                                                          {GroupKey::kCpu, "cpu"},
                                                          {GroupKey::kDso, "dso"},
                                                          {GroupKey::kSymbol, "symbol"},
                                                          {GroupKey::kUnit, "unit"},
                                                          {GroupKey::kSrcline, "srcline"}});

// The value of one key as a number that is the same for the same value: an id, or a text's number.
class Values {
public:
    explicit Values(const Profile& profile) : profile_(profile) {}

    std::uint64_t of(const ProfileSample& sample, GroupKey key) {
        const auto& context = profile_.contexts[sample.context];
        switch (key) {
            case GroupKey::kComm: return text(context.comm);
            case GroupKey::kUnit: return text(context.unit);
            case GroupKey::kSrcline: return text(context.source_line);
            case GroupKey::kPid: return number(context.pid);
            case GroupKey::kTid: return number(context.tid);
            case GroupKey::kCpu: return number(context.cpu);
            case GroupKey::kDso:
            case GroupKey::kSymbol: break;
        }
        const auto& stack = profile_.stacks[sample.stack].functions;
        if (stack.empty()) return text("[unknown]");
        const auto& function = profile_.functions[stack.front()];
        if (key == GroupKey::kDso) return text(function.dso);
        if (function.reason != UnknownReason::kNone) {
            return text("[unknown: " + std::string(reason_name(function.reason)) + "]");
        }
        return text(function_label(function));
    }

    [[nodiscard]] std::string name(GroupKey key, std::uint64_t value) const {
        const bool is_number = key == GroupKey::kPid || key == GroupKey::kTid || key == GroupKey::kCpu;
        if (!is_number) return texts_[value];
        return value == 0 ? std::string() : std::to_string(static_cast<std::int64_t>(value) - 1);
    }

private:
    template <class Id>
    static std::uint64_t number(const std::optional<Id>& id) {
        // Nothing is 0; an id is itself and one more (a pid of -1 is none either).
        return id ? static_cast<std::uint64_t>(std::int64_t{id->value} + 1) : 0;
    }
    std::uint64_t text(std::string_view name) {
        const auto [at, added] = numbers_.try_emplace(std::string(name), texts_.size());
        if (added) texts_.emplace_back(name);
        return at->second;
    }

    const Profile& profile_;
    boost::unordered_flat_map<std::string, std::uint64_t> numbers_;
    std::vector<std::string> texts_;
};

bool kept(const ProfileContext& context, GroupKey key) {
    switch (key) {
        case GroupKey::kPid: return context.pid.has_value();
        case GroupKey::kTid: return context.tid.has_value();
        case GroupKey::kCpu: return context.cpu.has_value();
        case GroupKey::kSrcline: return !context.source_line.empty();
        default: return true;
    }
}

struct GroupNode {
    std::string_view name;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
    std::vector<std::size_t> below{};
    std::map<std::string_view, std::size_t> by_name{};
};

}  // namespace

std::string_view group_key_name(GroupKey key) {
    return std::ranges::find(kKeyNames, key, &std::pair<GroupKey, std::string_view>::first)->second;
}

Result<std::vector<GroupKey>> parse_group_keys(std::string_view list) {
    std::vector<GroupKey> keys;
    for (const auto piece : split(list, ',')) {
        const auto name = trim(piece);
        const auto found = std::ranges::find(kKeyNames, name, &std::pair<GroupKey, std::string_view>::second);
        if (found == kKeyNames.end()) {
            std::string text = "no key '" + std::string(name) + "'; there are";
            for (const auto& [key, known] : kKeyNames)
                text += (key == GroupKey::kComm ? " " : ", ") + std::string(known);
            return fail(ErrorCode::kInvalid, text);
        }
        if (std::ranges::find(keys, found->first) != keys.end()) {
            return fail(ErrorCode::kInvalid, "the key '" + std::string(name) + "' is there twice");
        }
        keys.push_back(found->first);
    }
    if (keys.empty()) return fail(ErrorCode::kInvalid, "a key is missing");
    return keys;
}

std::vector<GroupKey> keys_not_kept(const Profile& profile, const std::vector<GroupKey>& keys) {
    std::vector<GroupKey> missing;
    for (const auto key : keys) {
        const bool any = profile.contexts.empty() ||
                         std::ranges::any_of(profile.contexts, [&](const auto& context) { return kept(context, key); });
        if (!any) missing.push_back(key);
    }
    return missing;
}

std::vector<Group> group_by(const Profile& profile, std::uint32_t event, const std::vector<GroupKey>& keys,
                            IdleRows idle) {
    struct Row {
        std::vector<std::uint64_t> values;
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
    };
    Values values(profile);
    std::vector<Row> rows;
    HashIndex index;
    std::vector<std::uint64_t> wanted(keys.size());
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        std::uint64_t hash = hash_seed();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            wanted[i] = values.of(sample, keys[i]);
            hash = mix(hash, wanted[i]);
        }
        auto at = index.find(hash, [&](std::uint32_t row) { return rows[row].values == wanted; });
        if (at == HashIndex::kNone) {
            at = static_cast<std::uint32_t>(rows.size());
            rows.push_back({.values = wanted});
            index.insert(hash, at);
        }
        rows[at].samples += sample.samples;
        rows[at].weight += sample.weight;
    }
    std::vector<Group> groups;
    for (const auto& row : rows) {
        Group group{.names = {}, .samples = row.samples, .weight = row.weight};
        for (std::size_t i = 0; i < keys.size(); ++i) group.names.push_back(values.name(keys[i], row.values[i]));
        groups.push_back(std::move(group));
    }
    std::ranges::sort(groups, [](const Group& a, const Group& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.names < b.names;
    });
    return groups;
}

std::vector<GroupRow> nested(const std::vector<Group>& groups) {
    std::vector<GroupNode> nodes(1);
    for (const auto& group : groups) {
        std::size_t at = 0;
        for (const auto& name : group.names) {
            const auto [below, added] = nodes[at].by_name.try_emplace(name, nodes.size());
            const auto next = below->second;
            if (added) {
                nodes[at].below.push_back(next);
                nodes.push_back({.name = name});
            }
            at = next;
            nodes[at].samples += group.samples;
            nodes[at].weight += group.weight;
        }
    }
    for (auto& node : nodes) {
        std::ranges::sort(node.below, [&](std::size_t a, std::size_t b) {
            return nodes[a].weight != nodes[b].weight ? nodes[a].weight > nodes[b].weight
                                                      : nodes[a].name < nodes[b].name;
        });
    }
    std::vector<GroupRow> rows;
    std::vector<std::pair<std::size_t, std::uint32_t>> waiting;  // node, depth
    const auto wait_for = [&](std::size_t node, std::uint32_t depth) {
        for (auto at = nodes[node].below.rbegin(); at != nodes[node].below.rend(); ++at)
            waiting.emplace_back(*at, depth);
    };
    wait_for(0, 0);
    while (!waiting.empty()) {
        const auto [node, depth] = waiting.back();
        waiting.pop_back();
        rows.push_back({.name = std::string(nodes[node].name),
                        .depth = depth,
                        .samples = nodes[node].samples,
                        .weight = nodes[node].weight});
        wait_for(node, depth + 1);
    }
    return rows;
}

}  // namespace perfvigil::analyzer
