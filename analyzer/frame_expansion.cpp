// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/frame_expansion.hpp"

#include <utility>

#include "analyzer/function_name.hpp"
#include "analyzer/profile/tables.hpp"
#include "analyzer/slice/moment_tables.hpp"
#include "analyzer/symbols/kernel_dso.hpp"

namespace perfvigil::analyzer {
namespace {

class Expansion {
public:
    Expansion(const std::vector<std::vector<InlinedFrame>>& frames, const SampleSelection& selection, std::size_t top)
        : frames_(frames), selection_(selection), top_(top) {}

    void run(Profile& profile) {
        functions_.resize(profile.functions.size());
        std::vector<std::uint32_t> stacks;
        std::vector<std::uint32_t> expanded;
        for (const auto& stack : profile.stacks) {
            expanded.clear();
            for (const auto function : stack.functions) {
                const auto& functions = functions_of(profile, function);
                expanded.insert(expanded.end(), functions.begin(), functions.end());
            }
            stacks.push_back(tables_.stack(expanded, stack.flags));
        }
        std::vector<std::uint32_t> contexts;
        for (const auto& context : profile.contexts) contexts.push_back(tables_.context(context));
        for (const auto& sample : profile.samples) {
            tables_.count(sample.event, stacks[sample.stack], contexts[sample.context], sample.idle, sample.samples,
                          sample.weight);
        }
        for (auto& moment : profile.moments) rename(profile, moment);
        profile.stacks.clear();
        tables_.hand_over(profile);
    }

private:
    [[nodiscard]] const std::vector<std::uint32_t>& functions_of(const Profile& profile, std::uint32_t function) {
        auto& known = functions_[function];
        if (known.empty()) known = functions_at(profile.functions[function]);
        return known;
    }

    // Innermost first, at least one.
    [[nodiscard]] std::vector<std::uint32_t> functions_at(const ProfileFunction& function) {
        ProfileFunction compiled = function;
        compiled.line = 0;
        const std::size_t position = function.line == 0 ? frames_.size() : function.line - 1;
        if (position >= frames_.size() || frames_[position].empty()) return {tables_.function(compiled)};
        const auto& frames = frames_[position];
        const bool in_module = function.kernel && function.dso != kKernelDso;
        const bool inlined = selection_.inlined && (!in_module || selection_.module_inlined);
        std::vector<std::uint32_t> numbers;
        if (inlined) {
            for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
                // Without a name it is a part of its caller.
                if (frames[i].function.empty()) continue;
                ProfileFunction call{.name = std::string(function_group(frames[i].function, function.dso)),
                                     .dso = function.dso,
                                     .kernel = function.kernel,
                                     .reason = UnknownReason::kNone,
                                     .inlined = true};
                numbers.push_back(tables_.function(at(std::move(call), frames[i])));
            }
        }
        const InlinedFrame& own = inlined ? frames.back() : frames.front();
        numbers.push_back(tables_.function(at(std::move(compiled), own)));
        return numbers;
    }

    [[nodiscard]] ProfileFunction at(ProfileFunction function, const InlinedFrame& frame) const {
        const bool in_module = function.kernel && function.dso != kKernelDso;
        const bool wanted = selection_.lines && (!in_module || selection_.module_lines);
        if (!wanted || frame.file.empty() || frame.line == 0) return function;
        function.file = frame.file;
        function.line = frame.line;
        return function;
    }

    void rename(const Profile& profile, ProfileMoment& moment) {
        for (auto& row : moment.top) row.function = functions_of(profile, row.function).front();
        merge_rows(moment.top);
        if (top_ != 0) keep_top(moment.top, top_);
    }

    const std::vector<std::vector<InlinedFrame>>& frames_;
    const SampleSelection& selection_;
    std::size_t top_;
    ProfileTables tables_;
    std::vector<std::vector<std::uint32_t>> functions_;  // of the profile before; empty: not asked yet
};

}  // namespace

void expand_frames(Profile& profile, const std::vector<std::vector<InlinedFrame>>& frames,
                   const SampleSelection& selection, std::size_t top) {
    Expansion(frames, selection, top).run(profile);
}

}  // namespace perfvigil::analyzer
