// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of a Profile while it grows: each function, function stack, context and sample once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/profile/builder.hpp"
#include "analyzer/slice/hash_index.hpp"
#include "base/build_id.hpp"

namespace perfvigil::analyzer {

// What is to be told apart within one name and unit.
struct ContextPart {
    std::optional<Pid> pid{};
    std::optional<Tid> tid{};
    std::optional<CpuId> cpu{};
};

class ProfileTables {
public:
    // Under its group's name (function_group); code made at run time keeps its own.
    [[nodiscard]] std::uint32_t function(std::string_view name, std::string_view dso, bool kernel,
                                         UnknownReason reason);
    // With what makes it another one: inlined, and its line. Its variants are added to those that are known.
    [[nodiscard]] std::uint32_t function(const ProfileFunction& function);
    [[nodiscard]] const ProfileFunction& function_at(std::uint32_t number) const { return functions_[number]; }
    // The display name of a function's Dso, as a number.
    [[nodiscard]] std::uint32_t dso_of(std::uint32_t function) const { return function_dsos_[function]; }
    [[nodiscard]] std::size_t functions() const { return functions_.size(); }
    [[nodiscard]] std::size_t dsos() const { return dsos_.size(); }
    [[nodiscard]] const std::string& dso_at(std::uint32_t number) const { return dsos_[number]; }
    // The Dso of that function was built as `build_id`. A second, different one makes it unknown again.
    void note_build_id(std::uint32_t function, const BuildId& build_id);

    // `functions` innermost first, at least one. Beyond kMostStackFunctions a new stack keeps its innermost 8.
    [[nodiscard]] std::uint32_t stack(std::span<const std::uint32_t> functions, std::uint8_t flags);
    [[nodiscard]] std::uint32_t context(std::string_view comm, std::string_view cgroup_path,
                                        const ContextPart& part = {});
    [[nodiscard]] std::uint32_t context(const ProfileContext& context);
    [[nodiscard]] const ProfileContext& context_at(std::uint32_t number) const { return contexts_[number]; }
    void count(std::uint32_t event, std::uint32_t stack, std::uint32_t context, bool idle, std::uint64_t samples,
               std::uint64_t weight);

    [[nodiscard]] std::size_t stacks() const { return stacks_.size(); }
    [[nodiscard]] std::size_t contexts() const { return contexts_.size(); }
    [[nodiscard]] std::size_t samples() const { return samples_.size(); }

    // Moves everything into the profile; the tables are empty again.
    void hand_over(Profile& profile);

private:
    // 64 MiB of function numbers: far above any real window, and a bound for a hostile one.
    static constexpr std::size_t kMostStackFunctions = 16U << 20;
    struct FlatStack {
        std::uint32_t first = 0;
        std::uint32_t depth = 0;
        std::uint8_t flags = 0;
    };
    [[nodiscard]] std::uint32_t dso(std::string_view name);

    std::vector<ProfileFunction> functions_;
    std::vector<std::uint32_t> function_dsos_;
    std::vector<std::string> dsos_;
    struct Build {
        BuildId id;
        bool several = false;
    };
    std::vector<Build> builds_;  // of the first dsos_
    std::vector<std::uint32_t> stack_functions_;
    std::vector<FlatStack> stacks_;
    std::vector<ProfileContext> contexts_;
    struct Path {  // of a cgroup
        std::string path;
        UnitName name;
    };
    std::vector<Path> paths_;
    std::vector<ProfileSample> samples_;
    HashIndex function_index_;
    HashIndex dso_index_;
    HashIndex stack_index_;
    HashIndex context_index_;
    HashIndex path_index_;
    HashIndex sample_index_;
};

}  // namespace perfvigil::analyzer
