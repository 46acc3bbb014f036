// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/merge.hpp"

#include "analyzer/profile/programs.hpp"
#include "analyzer/profile/throttled_units.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/slice/hash_index.hpp"
#include "analyzer/slice/moment_tables.hpp"
#include "analyzer/sums.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Windows end where the next one begins, up to the moment it takes to read the counters.
constexpr Nanoseconds kOverlap = std::chrono::milliseconds(100);

template <class T>
void append_new(std::vector<T>& list, const std::vector<T>& more) {
    for (const auto& value : more) {
        if (std::ranges::find(list, value) == list.end()) list.push_back(value);
    }
}

// Each value once; its number.
template <class T>
class Numbered {
public:
    template <class Hash, class Same = std::equal_to<T>>
    std::uint32_t number(const T& value, Hash&& hash_of, Same&& same = {}) {
        const std::uint64_t hash = hash_of(value);
        const auto found = index_.find(hash, [&](std::uint32_t position) { return same(values[position], value); });
        if (found != HashIndex::kNone) return found;
        const auto position = static_cast<std::uint32_t>(values.size());
        values.push_back(value);
        index_.insert(hash, position);
        return position;
    }
    std::vector<T> values;

private:
    HashIndex index_;
};

std::uint64_t hash_of_number(std::uint64_t seed, std::optional<std::uint64_t> number) {
    return mix(seed, number ? *number + 1 : 0);
}

class Merger {
public:
    explicit Merger(const Profile& first) {
        sum_.host = first.host;
        sum_.filter = first.filter;
        sum_.start = first.start;
        sum_.id = first.id;
    }

    Result<void> add(const Profile& profile) {
        if (profile.host.hostname != sum_.host.hostname) {
            return refuse(profile, fmt::format("is of host {}, the one before of {}", escape(profile.host.hostname),
                                               escape(sum_.host.hostname)));
        }
        if (profile.filter != sum_.filter) return refuse(profile, "was selected differently than the one before");
        if (sum_.end != WallTime{} && profile.start + kOverlap < sum_.end) {
            return refuse(profile, "holds time that the one before holds too");
        }
        sum_.end = profile.end;
        sum_.duration += profile.duration;
        // The last one's host: what is online then, and what it ran by then.
        sum_.host = profile.host;
        if (auto added = add_events(profile); !added) return added;
        add_samples(profile);
        add_builds(profile);
        add_cpus(sum_.cpus, profile.cpus);
        add_moments(profile);
        add_words(profile);
        last_ = profile.id;
        return {};
    }

    Profile finish() {
        if (last_ != sum_.id) sum_.id += ".." + last_;
        sum_.functions = std::move(functions_.values);
        for (const auto& dso : builds_) {
            if (!dso.build_id.empty()) sum_.dsos.push_back(dso);
        }
        limit_programs(sum_.programs);
        sum_.throttled_units = throttled_units_.take();
        sum_.stacks = std::move(stacks_.values);
        sum_.contexts = std::move(contexts_.values);
        sum_.samples = std::move(samples_.rows());
        // Earlier parts know fewer events.
        for (auto& moment : sum_.moments) moment.totals.resize(sum_.events.size());
        return std::move(sum_);
    }

private:
    static std::unexpected<Error> refuse(const Profile& profile, std::string_view why) {
        return fail(ErrorCode::kInvalid, fmt::format("{} {}: they cannot be one profile", escape(profile.id), why));
    }

    // The n-th event of a name is the n-th one of that name elsewhere (cpu-clock twice).
    Result<void> add_events(const Profile& profile) {
        event_numbers_.clear();
        for (std::size_t i = 0; i < profile.events.size(); ++i) {
            const ProfileEvent& more = profile.events[i];
            std::uint32_t number = 0;
            while (number < sum_.events.size() && (sum_.events[number].name != more.name || taken(number))) ++number;
            event_numbers_.push_back(number);
            if (number == sum_.events.size()) {
                sum_.events.push_back(more);
                continue;
            }
            ProfileEvent& event = sum_.events[number];
            if (event.unit != more.unit) {
                return refuse(profile, fmt::format("weighs {} by another unit than the one before", escape(more.name)));
            }
            event.samples += more.samples;
            event.weight += more.weight;
            event.idle_samples += more.idle_samples;
            event.idle_weight += more.idle_weight;
            event.lost += more.lost;
            event.lost_is_shared |= more.lost_is_shared;
            event.whole_samples += more.whole_samples;
            event.whole_weight += more.whole_weight;
            // As within a window: the newest.
            event.frequency_mode = more.frequency_mode;
            event.rate = more.rate;
            event.nominal_period = more.nominal_period;
        }
        return {};
    }
    [[nodiscard]] bool taken(std::uint32_t number) const {
        return std::ranges::find(event_numbers_, number) != event_numbers_.end();
    }

    void add_samples(const Profile& profile) {
        number_functions(profile);
        std::vector<std::uint32_t> stacks, contexts;
        for (auto stack : profile.stacks) {
            for (auto& function : stack.functions) function = function_numbers_[function];
            stacks.push_back(stacks_.number(stack, [](const ProfileStack& value) {
                std::uint64_t hash = mix(hash_seed(), value.flags);
                for (const auto function : value.functions) hash = mix(hash, function);
                return hash;
            }));
        }
        for (const auto& context : profile.contexts) contexts.push_back(number_context(context));
        for (const auto& sample : profile.samples) {
            const ProfileSample moved{.event = event_numbers_[sample.event],
                                      .stack = stacks[sample.stack],
                                      .context = contexts[sample.context],
                                      .idle = sample.idle,
                                      .samples = 0,
                                      .weight = 0};
            const std::uint64_t hash = mix(mix(hash_seed(), (std::uint64_t{moved.stack} << 32U) | moved.context),
                                           (std::uint64_t{moved.event} << 1U) | (moved.idle ? 1U : 0U));
            ProfileSample& row = samples_.at(hash, [&](const ProfileSample& known) {
                return known.event == moved.event && known.stack == moved.stack && known.context == moved.context &&
                       known.idle == moved.idle;
            });
            const auto [samples, weight] = std::pair(row.samples + sample.samples, row.weight + sample.weight);
            row = moved;
            row.samples = samples;
            row.weight = weight;
        }
    }

    void number_functions(const Profile& profile) {
        function_numbers_.clear();
        for (const auto& function : profile.functions) {
            const auto number = functions_.number(
                function,
                [](const ProfileFunction& value) {
                    return mix(mix_text(mix_text(hash_seed(), value.name), value.dso),
                               (static_cast<std::uint64_t>(value.reason) << 1U) | (value.kernel ? 1U : 0U));
                },
                [](const ProfileFunction& a, const ProfileFunction& b) {
                    return a.name == b.name && a.dso == b.dso && a.kernel == b.kernel && a.reason == b.reason;
                });
            auto& variants = functions_.values[number].variants;
            append_new(variants, function.variants);
            std::ranges::sort(variants);
            if (variants.size() > kMostVariants) variants.resize(kMostVariants);
            function_numbers_.push_back(number);
        }
    }

    std::uint32_t number_context(const ProfileContext& context) {
        return contexts_.number(context, [](const ProfileContext& value) {
            std::uint64_t hash = mix_text(mix_text(mix_text(hash_seed(), value.comm), value.unit), value.container);
            using Number = std::optional<std::uint64_t>;
            hash = hash_of_number(hash, value.pid ? Number(static_cast<std::uint32_t>(value.pid->value)) : Number());
            hash = hash_of_number(hash, value.tid ? Number(static_cast<std::uint32_t>(value.tid->value)) : Number());
            return hash_of_number(hash, value.cpu ? Number(value.cpu->value) : Number());
        });
    }

    // A binary keeps its build-id while each part that has code of it names the same one.
    void add_builds(const Profile& profile) {
        boost::unordered_flat_map<std::string_view, std::string_view> ids;
        for (const auto& function : profile.functions) ids.try_emplace(function.dso);
        for (const auto& dso : profile.dsos) ids[dso.name] = dso.build_id;
        for (const auto& [name, id] : ids) {
            const auto [at, added] = build_numbers_.try_emplace(std::string(name), builds_.size());
            if (added) {
                builds_.push_back({.name = std::string(name), .build_id = std::string(id)});
            } else if (builds_[at->second].build_id != id) {
                builds_[at->second].build_id.clear();
            }
        }
    }

    void add_moments(const Profile& profile) {
        for (ProfileMoment moment : profile.moments) {
            std::vector<EventTotals> totals;
            for (std::size_t i = 0; i < moment.totals.size() && i < event_numbers_.size(); ++i) {
                if (totals.size() <= event_numbers_[i]) totals.resize(event_numbers_[i] + 1);
                totals[event_numbers_[i]] = moment.totals[i];
            }
            moment.totals = std::move(totals);
            for (auto& row : moment.top) {
                row.event = event_numbers_[row.event];
                row.function = function_numbers_[row.function];
            }
            std::ranges::stable_sort(moment.top, {}, &ProfileMoment::TopFunction::event);
            sum_.moments.push_back(std::move(moment));
        }
    }

    void add_words(const Profile& profile) {
        for (const auto& row : profile.broken) {
            const auto known = std::ranges::find(sum_.broken, row.dso, &BrokenStacks::dso);
            if (known == sum_.broken.end()) {
                sum_.broken.push_back(row);
                continue;
            }
            known->samples += row.samples;
            known->broken += row.broken;
        }
        for (const auto& row : profile.throttled_units) throttled_units_.add(row);
        for (const auto& row : profile.programs) add_program(sum_.programs, row);
        append_new(sum_.degraded, profile.degraded);
        append_new(sum_.warnings, profile.warnings);
        append_new(sum_.notes, profile.notes);
        sum_.partial |= profile.partial;
        sum_.maps_suspect |= profile.maps_suspect;
        sum_.rounded |= profile.rounded;
    }

    Profile sum_;
    std::string last_;
    Numbered<ProfileFunction> functions_;
    Numbered<ProfileStack> stacks_;
    Numbered<ProfileContext> contexts_;
    Sums<ProfileSample> samples_;
    ThrottledUnits throttled_units_;
    std::vector<ProfileDso> builds_;
    boost::unordered_flat_map<std::string, std::size_t> build_numbers_;
    std::vector<std::uint32_t> event_numbers_;     // of the part being added
    std::vector<std::uint32_t> function_numbers_;  // the same
};

}  // namespace

Result<Profile> merge_profiles(std::vector<Profile> profiles) {
    if (profiles.empty()) return fail(ErrorCode::kInvalid, "no profile to merge");
    if (profiles.size() == 1) return std::move(profiles.front());
    std::ranges::stable_sort(profiles, {}, &Profile::start);
    Merger merger(profiles.front());
    for (const auto& profile : profiles) {
        if (auto added = merger.add(profile); !added) return fail(std::move(added.error()));
    }
    return merger.finish();
}

}  // namespace perfvigil::analyzer
