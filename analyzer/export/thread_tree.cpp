// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/thread_tree.hpp"

#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/export/frame_style.hpp"

namespace perfvigil::analyzer {

ThreadTree thread_tree(const Profile& profile, std::uint32_t event, IdleRows idle) {
    ThreadTree result;
    result.first_thread = static_cast<std::uint32_t>(profile.functions.size());
    // Contexts of one name (several units, processes, CPUs) are one thread here.
    boost::unordered_flat_map<std::string, std::uint32_t> numbers;
    std::vector<std::uint32_t> thread_of_context;
    for (const auto& context : profile.contexts) {
        const auto [at, added] = numbers.emplace(thread_name(context.comm), static_cast<std::uint32_t>(numbers.size()));
        if (added) result.threads.push_back(at->first);
        thread_of_context.push_back(result.first_thread + at->second);
    }
    CallTreeBuilder builder;
    std::vector<std::uint32_t> path;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        const auto& functions = profile.stacks[sample.stack].functions;
        path.assign(1, thread_of_context[sample.context]);
        path.insert(path.end(), functions.rbegin(), functions.rend());
        builder.add(path, sample.samples, sample.weight);
    }
    result.tree = builder.build();
    return result;
}

}  // namespace perfvigil::analyzer
