// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/name_selection.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/name_pattern.hpp"
#include "analyzer/profile/compaction.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kNamesShown = 5;
constexpr std::string_view kService = ".service";

std::string front_of_event(const std::string& name) { return name.substr(0, name.find(':')); }

bool event_matches(const std::string& pattern, const std::string& name) {
    return matches(pattern, name) || matches(pattern, front_of_event(name));
}
bool dso_matches(const std::string& pattern, const std::string& dso) {
    return matches(pattern, dso) || matches(pattern, std::string(base_name(dso)));
}
bool unit_matches(const std::string& pattern, const std::string& unit) {
    return matches(pattern, unit) ||
           (unit.ends_with(kService) && matches(pattern, unit.substr(0, unit.size() - kService.size())));
}

// By its name, or by that of a symbol which is counted under it.
bool function_matches(const std::string& pattern, const ProfileFunction& function) {
    return matches(pattern, function.name) ||
           std::ranges::any_of(function.variants, [&](const std::string& symbol) { return matches(pattern, symbol); });
}

// One kind of names, judged once per name and not once per sample.
class Kind {
public:
    Kind(std::string_view option, const std::vector<std::string>& patterns) : option_(option), patterns_(patterns) {}

    template <class Things, class NameOf, class Matches>
    void judge(const Things& things, NameOf&& name_of, Matches&& name_matches) {
        passes_.assign(things.size(), patterns_.empty());
        hits_.assign(patterns_.size(), false);
        for (std::size_t p = 0; p < patterns_.size(); ++p) {
            for (std::size_t i = 0; i < things.size(); ++i) {
                if (!name_matches(patterns_[p], name_of(things[i]))) continue;
                passes_[i] = hits_[p] = true;
            }
        }
    }
    [[nodiscard]] bool idle() const { return patterns_.empty(); }
    [[nodiscard]] bool passes(std::uint32_t number) const { return passes_[number]; }
    [[nodiscard]] std::string text() const { return option_text(option_, patterns_); }

    // For each pattern that no name matched, a sentence with the names there are. `known` is called when needed.
    template <class KnownNames>
    void complain(std::vector<std::string>& warnings, KnownNames&& known) const {
        for (std::size_t p = 0; p < patterns_.size(); ++p) {
            if (hits_[p]) continue;
            const std::vector<KnownName> names = known();
            std::string text = option_text(option_, {patterns_[p]}) + " matches nothing";
            const auto near = near_names(patterns_[p], names, kNamesShown);
            for (std::size_t i = 0; i < near.size(); ++i)
                text += (i == 0 ? "; there is " : ", ") + std::string(near[i]);
            if (near.size() < names.size()) {
                text += " (and " + std::to_string(names.size() - near.size()) + " more)";
            }
            warnings.push_back(near.empty() ? text + ": this profile holds no such names." : text + ".");
        }
    }

private:
    std::string_view option_;
    const std::vector<std::string>& patterns_;
    std::vector<bool> passes_;
    std::vector<bool> hits_;
};

class Selector {
public:
    Selector(Profile& profile, const NameSelection& selection)
        : profile_(profile),
          events_("--event", selection.events),
          comms_("--comm", selection.comms),
          dsos_("--dso", selection.dsos),
          symbols_("--symbol", selection.symbols),
          parents_("--parent", selection.parents),
          units_("--unit", selection.units) {
        const auto name = [](const auto& thing) -> const std::string& { return thing.name; };
        events_.judge(profile.events, name, event_matches);
        comms_.judge(profile.contexts, [](const auto& c) -> const std::string& { return c.comm; }, matches);
        units_.judge(profile.contexts, [](const auto& c) -> const std::string& { return c.unit; }, unit_matches);
        dsos_.judge(profile.functions, [](const auto& f) -> const std::string& { return f.dso; }, dso_matches);
        const auto itself = [](const ProfileFunction& function) -> const ProfileFunction& { return function; };
        symbols_.judge(profile.functions, itself, function_matches);
        parents_.judge(profile.functions, itself, function_matches);
    }

    void run() {
        warn_of_patterns();
        const bool all_events_whole = within_events_is_everything();
        std::vector<bool> stack_passes;
        for (const auto& stack : profile_.stacks) stack_passes.push_back(passes(stack));
        std::erase_if(profile_.samples, [&](const ProfileSample& sample) {
            return !events_.passes(sample.event) || !comms_.passes(sample.context) || !units_.passes(sample.context) ||
                   !stack_passes[sample.stack];
        });
        if (profile_.filter.empty()) remember_whole();
        if (!all_events_whole) recount();
        describe();
        if (profile_.samples.empty()) warn_of_emptiness();
        keep_events(profile_, [&](std::uint32_t event) { return events_.passes(event); });
        drop_unused(profile_);
        if (!profile_.broken.empty()) profile_.broken = broken_stacks_of(profile_);
    }

private:
    [[nodiscard]] bool within_events_is_everything() const {
        return comms_.idle() && dsos_.idle() && symbols_.idle() && parents_.idle() && units_.idle();
    }

    [[nodiscard]] bool passes(const ProfileStack& stack) const {
        const std::span functions(stack.functions);
        // What has no frame at all has no name to be selected by.
        if (functions.empty()) return dsos_.idle() && symbols_.idle() && parents_.idle();
        if (!dsos_.passes(functions.front()) || !symbols_.passes(functions.front())) return false;
        return parents_.idle() ||
               std::ranges::any_of(functions.subspan(1), [&](auto function) { return parents_.passes(function); });
    }

    void remember_whole() {
        for (auto& event : profile_.events) {
            event.whole_samples = event.samples;
            event.whole_weight = event.weight;
        }
    }

    void recount() {
        for (auto& event : profile_.events) event.samples = event.weight = event.idle_samples = event.idle_weight = 0;
        for (const auto& sample : profile_.samples) {
            auto& event = profile_.events[sample.event];
            event.samples += sample.samples;
            event.weight += sample.weight;
            event.idle_samples += sample.idle ? sample.samples : 0;
            event.idle_weight += sample.idle ? sample.weight : 0;
        }
        profile_.moments.clear();
        if (!profile_.cpus.empty()) {
            profile_.notes.emplace_back(
                "Filtered by name: CPUs, ledgers and lost samples are of everything that ran, not of what the names "
                "left.");
        }
    }

    void describe() {
        for (const auto* kind : {&events_, &comms_, &dsos_, &symbols_, &parents_, &units_}) {
            if (kind->idle()) continue;
            profile_.filter += (profile_.filter.empty() ? "" : " ") + kind->text();
        }
    }

    void warn_of_emptiness() {
        std::string text = "No sample passes " + profile_.filter + ".";
        if (!symbols_.idle()) {
            text += " --symbol selects by the function that was sampled; --parent by any of its callers.";
        }
        profile_.warnings.push_back(std::move(text));
    }

    // Every name of a kind with the samples it has; those without any come last.
    template <class NamesOfSample>
    [[nodiscard]] std::vector<KnownName> known(NamesOfSample&& names_of) const {
        boost::unordered_flat_map<std::string_view, std::uint64_t> sums;
        for (const auto& sample : profile_.samples) {
            names_of(sample, [&](std::string_view name) {
                if (!name.empty()) sums[name] += sample.samples;
            });
        }
        std::vector<KnownName> names;
        names.reserve(sums.size());
        for (const auto& [name, samples] : sums) names.push_back({name, samples});
        return names;
    }

    void warn_of_patterns() {
        auto& warnings = profile_.warnings;
        const auto functions = [&](const ProfileSample& sample) {
            return std::span<const std::uint32_t>(profile_.stacks[sample.stack].functions);
        };
        events_.complain(warnings, [&] {
            std::vector<KnownName> names;
            for (const auto& event : profile_.events) names.push_back({event.name, event.samples});
            return names;
        });
        comms_.complain(warnings, [&] {
            return known([&](const auto& sample, auto&& add) { add(profile_.contexts[sample.context].comm); });
        });
        units_.complain(warnings, [&] {
            return known([&](const auto& sample, auto&& add) { add(profile_.contexts[sample.context].unit); });
        });
        dsos_.complain(warnings, [&] {
            return known([&](const auto& sample, auto&& add) {
                if (const auto stack = functions(sample); !stack.empty()) {
                    add(base_name(profile_.functions[stack.front()].dso));
                }
            });
        });
        symbols_.complain(warnings, [&] {
            return known([&](const auto& sample, auto&& add) {
                if (const auto stack = functions(sample); !stack.empty()) add(profile_.functions[stack.front()].name);
            });
        });
        parents_.complain(warnings, [&] {
            return known([&](const auto& sample, auto&& add) {
                const auto stack = functions(sample);
                for (std::size_t i = 1; i < stack.size(); ++i) add(profile_.functions[stack[i]].name);
            });
        });
    }

    Profile& profile_;
    Kind events_;
    Kind comms_;
    Kind dsos_;
    Kind symbols_;
    Kind parents_;
    Kind units_;
};

}  // namespace

Profile select(Profile profile, const NameSelection& selection) {
    if (!selection.empty()) Selector(profile, selection).run();
    return profile;
}

}  // namespace perfvigil::analyzer
