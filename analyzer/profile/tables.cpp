// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/tables.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/function_name.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kNone = HashIndex::kNone;
constexpr std::size_t kFramesWhenFull = 8;

template <class T>
std::uint32_t last_of(const std::vector<T>& list) {
    return static_cast<std::uint32_t>(list.size() - 1);
}

void note_variant(ProfileFunction& function, std::string_view symbol) {
    auto& variants = function.variants;
    const auto at = std::ranges::lower_bound(variants, symbol);
    if (variants.size() < kMostVariants && (at == variants.end() || *at != symbol)) variants.emplace(at, symbol);
}

}  // namespace

std::uint32_t ProfileTables::function(std::string_view symbol, std::string_view dso_name, bool kernel,
                                      UnknownReason reason) {
    const std::string_view name = function_group(symbol, dso_name);
    const std::uint64_t hash = mix(mix_text(mix_text(hash_seed(), name), dso_name),
                                   (static_cast<std::uint64_t>(reason) << 1U) | (kernel ? 1U : 0U));
    const auto found = function_index_.find(hash, [&](std::uint32_t number) {
        const auto& known = functions_[number];
        return known.name == name && known.dso == dso_name && known.kernel == kernel && known.reason == reason &&
               !known.inlined && known.line == 0;
    });
    if (found != kNone) {
        if (name != symbol) note_variant(functions_[found], symbol);
        return found;
    }
    functions_.push_back({.name = std::string(name), .dso = std::string(dso_name), .kernel = kernel, .reason = reason});
    if (name != symbol) note_variant(functions_.back(), symbol);
    function_dsos_.push_back(dso(dso_name));
    function_index_.insert(hash, last_of(functions_));
    return last_of(functions_);
}

std::uint32_t ProfileTables::function(const ProfileFunction& wanted) {
    std::uint64_t hash = mix(mix_text(mix_text(hash_seed(), wanted.name), wanted.dso),
                             (static_cast<std::uint64_t>(wanted.reason) << 1U) | (wanted.kernel ? 1U : 0U));
    // Only what has more than the other one's four has another hash.
    if (wanted.inlined || wanted.line != 0) {
        hash = mix(mix_text(hash, wanted.file), (std::uint64_t{wanted.line} << 1U) | (wanted.inlined ? 1U : 0U));
    }
    const auto found = function_index_.find(hash, [&](std::uint32_t number) {
        const auto& known = functions_[number];
        return known.name == wanted.name && known.dso == wanted.dso && known.kernel == wanted.kernel &&
               known.reason == wanted.reason && known.inlined == wanted.inlined && known.file == wanted.file &&
               known.line == wanted.line;
    });
    if (found != kNone) {
        for (const auto& symbol : wanted.variants) note_variant(functions_[found], symbol);
        return found;
    }
    functions_.push_back(wanted);
    function_dsos_.push_back(dso(wanted.dso));
    function_index_.insert(hash, last_of(functions_));
    return last_of(functions_);
}

std::uint32_t ProfileTables::dso(std::string_view name) {
    const std::uint64_t hash = mix_text(hash_seed(), name);
    const auto found = dso_index_.find(hash, [&](std::uint32_t number) { return dsos_[number] == name; });
    if (found != kNone) return found;
    dsos_.emplace_back(name);
    dso_index_.insert(hash, last_of(dsos_));
    return last_of(dsos_);
}

void ProfileTables::note_build_id(std::uint32_t function, const BuildId& build_id) {
    if (build_id.empty()) return;
    const std::uint32_t dso = function_dsos_[function];
    if (builds_.size() <= dso) builds_.resize(dso + 1);
    Build& build = builds_[dso];
    if (build.id.empty()) build.id = build_id;
    build.several |= build.id != build_id;
}

std::uint32_t ProfileTables::stack(std::span<const std::uint32_t> functions, std::uint8_t flags) {
    if (stack_functions_.size() > kMostStackFunctions && functions.size() > kFramesWhenFull) {
        functions = functions.first(kFramesWhenFull);
        flags |= kStackCut;
    }
    std::uint64_t hash = mix(hash_seed(), flags);
    for (const auto function : functions) hash = mix(hash, function);
    const auto found = stack_index_.find(hash, [&](std::uint32_t number) {
        const FlatStack& known = stacks_[number];
        return known.flags == flags && known.depth == functions.size() &&
               std::equal(functions.begin(), functions.end(), stack_functions_.begin() + known.first);
    });
    if (found != kNone) return found;
    stacks_.push_back({.first = static_cast<std::uint32_t>(stack_functions_.size()),
                       .depth = static_cast<std::uint32_t>(functions.size()),
                       .flags = flags});
    stack_functions_.insert(stack_functions_.end(), functions.begin(), functions.end());
    stack_index_.insert(hash, last_of(stacks_));
    return last_of(stacks_);
}

std::uint32_t ProfileTables::context(std::string_view comm, std::string_view cgroup_path, const ContextPart& part) {
    const std::uint64_t path_hash = mix_text(hash_seed(), cgroup_path);
    auto path = path_index_.find(path_hash, [&](std::uint32_t number) { return paths_[number].path == cgroup_path; });
    if (path == kNone) {
        paths_.push_back({.path = std::string(cgroup_path), .name = unit_of_cgroup(cgroup_path)});
        path = last_of(paths_);
        path_index_.insert(path_hash, path);
    }
    // Cgroups below one unit (a delegated tree) are one context.
    const std::string& unit = paths_[path].name.unit;
    const std::string& container = paths_[path].name.container;
    std::uint64_t hash = mix_text(mix_text(mix_text(hash_seed(), comm), unit), container);
    if (part.pid) hash = mix(hash, static_cast<std::uint32_t>(part.pid->value));
    if (part.tid) hash = mix(hash, static_cast<std::uint32_t>(part.tid->value));
    if (part.cpu) hash = mix(hash, part.cpu->value);
    const auto found = context_index_.find(hash, [&](std::uint32_t number) {
        const auto& known = contexts_[number];
        return known.comm == comm && known.unit == unit && known.container == container && known.pid == part.pid &&
               known.tid == part.tid && known.cpu == part.cpu && known.source_line.empty();
    });
    if (found != kNone) return found;
    contexts_.push_back({.comm = std::string(comm),
                         .unit = unit,
                         .container = container,
                         .pid = part.pid,
                         .tid = part.tid,
                         .cpu = part.cpu});
    context_index_.insert(hash, last_of(contexts_));
    return last_of(contexts_);
}

std::uint32_t ProfileTables::context(const ProfileContext& context) {
    std::uint64_t hash = mix_text(mix_text(mix_text(hash_seed(), context.comm), context.unit), context.container);
    if (context.pid) hash = mix(hash, static_cast<std::uint32_t>(context.pid->value));
    if (context.tid) hash = mix(hash, static_cast<std::uint32_t>(context.tid->value));
    if (context.cpu) hash = mix(hash, context.cpu->value);
    if (!context.source_line.empty()) hash = mix_text(hash, context.source_line);
    const auto found = context_index_.find(hash, [&](std::uint32_t at) { return contexts_[at] == context; });
    if (found != kNone) return found;
    contexts_.push_back(context);
    context_index_.insert(hash, last_of(contexts_));
    return last_of(contexts_);
}

void ProfileTables::count(std::uint32_t event, std::uint32_t stack, std::uint32_t context, bool idle,
                          std::uint64_t samples, std::uint64_t weight) {
    const std::uint64_t hash =
        mix(mix(hash_seed(), (std::uint64_t{stack} << 32U) | context), (std::uint64_t{event} << 1U) | (idle ? 1U : 0U));
    const auto found = sample_index_.find(hash, [&](std::uint32_t number) {
        const auto& known = samples_[number];
        return known.stack == stack && known.context == context && known.event == event && known.idle == idle;
    });
    if (found != kNone) {
        samples_[found].samples += samples;
        samples_[found].weight += weight;
        return;
    }
    samples_.push_back(
        {.event = event, .stack = stack, .context = context, .idle = idle, .samples = samples, .weight = weight});
    sample_index_.insert(hash, last_of(samples_));
}

void ProfileTables::hand_over(Profile& profile) {
    profile.functions = std::move(functions_);
    profile.samples = std::move(samples_);
    profile.stacks.reserve(stacks_.size());
    for (const FlatStack& stack : stacks_) {
        const auto first = stack_functions_.begin() + stack.first;
        profile.stacks.push_back({.functions = {first, first + stack.depth}, .flags = stack.flags});
    }
    profile.contexts = std::move(contexts_);
    for (std::size_t i = 0; i < builds_.size(); ++i) {
        const Build& build = builds_[i];
        if (!build.id.empty() && !build.several) profile.dsos.push_back({dsos_[i], build.id.hex()});
    }
    *this = {};
}

}  // namespace perfvigil::analyzer
