// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/speedscope.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/export/frame_style.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

class Speedscope {
public:
    Speedscope(const Profile& profile, IdleRows idle) : profile_(profile), idle_(idle) {
        for (const auto& function : profile.functions) {
            frames_.push_back(json::object{{"name", escape(frame_name(function))}, {"file", escape(function.dso)}});
        }
        boost::unordered_flat_map<std::string, std::uint64_t> threads;
        for (const auto& context : profile.contexts) {
            const auto [at, added] = threads.emplace(thread_name(context.comm), frames_.size());
            if (added) frames_.push_back(json::object{{"name", escape(at->first)}});
            thread_frames_.push_back(at->second);
        }
    }

    void add(std::uint32_t number) {
        std::vector<const ProfileSample*> rows;
        for (const auto& sample : profile_.samples) {
            if (sample.event == number && (!sample.idle || idle_ == IdleRows::kInclude)) rows.push_back(&sample);
        }
        std::ranges::stable_sort(rows, std::greater{}, [](const ProfileSample* sample) { return sample->weight; });
        json::array stacks;
        json::array weights;
        double end = 0;
        for (const ProfileSample* sample : rows) {
            const auto& functions = profile_.stacks[sample->stack].functions;
            json::array stack;
            stack.reserve(functions.size() + 1);
            stack.emplace_back(thread_frames_[sample->context]);
            for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
                stack.emplace_back(std::uint64_t{*function});
            }
            stacks.push_back(std::move(stack));
            weights.emplace_back(sample->weight);
            end += static_cast<double>(sample->weight);
        }
        const ProfileEvent& event = profile_.events[number];
        profiles_.push_back(json::object{{"type", "sampled"},
                                         {"name", escape(event.name)},
                                         {"unit", event.unit == WeightUnit::kNanoseconds ? "nanoseconds" : "none"},
                                         {"startValue", 0},
                                         {"endValue", end},
                                         {"samples", std::move(stacks)},
                                         {"weights", std::move(weights)}});
    }

    std::string write() {
        const json::object file{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                                {"exporter", "perfvigil " PERFVIGIL_VERSION},
                                {"name", escape(profile_.id)},
                                {"activeProfileIndex", 0},
                                {"shared", json::object{{"frames", std::move(frames_)}}},
                                {"profiles", std::move(profiles_)}};
        return json::serialize(file) + "\n";
    }

private:
    const Profile& profile_;
    IdleRows idle_;
    json::array frames_;
    json::array profiles_;
    std::vector<std::uint64_t> thread_frames_;
};

}  // namespace

std::string speedscope(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle) {
    Speedscope file(profile, idle);
    for (const auto event : events) file.add(event);
    return file.write();
}

}  // namespace perfvigil::analyzer
