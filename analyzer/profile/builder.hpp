// SPDX-License-Identifier: GPL-2.0-or-later
// Slices of one window in, one Profile out. Symbolizes as slices arrive, so a window of many slices holds names once.
// Runs on the analyst's thread (or in the command line).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/sampled_codes.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/event_table.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

// The systemd unit and container of a cgroup path. "/system.slice/nginx.service" → unit "nginx.service";
// "/system.slice/docker-<64 hex>.scope" → container of its first 12 digits. Instances and scopes keep their full name.
// The innermost service or scope counts, so user units are found inside user@1000.service; a slice only where there is
// nothing else. Containers: Docker, containerd (CRI), CRI-O, Podman, Kubernetes with either cgroup driver.
struct UnitName {
    std::string unit;
    std::string container;
    std::string slice{};   // the innermost: "system.slice", "kubepods-burstable.slice"
    std::string cgroup{};  // the path up to the unit or container, without what they keep below them
};
[[nodiscard]] UnitName unit_of_cgroup(std::string_view cgroup_path);

// What one slice says per function, for metrics: self weight of clock and cycles samples, idle excluded.
struct SliceHotspots {
    struct Row {
        std::string_view function;
        std::string_view dso;
        std::string_view unit;
        std::uint32_t event = 0;  // EventIndex
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
        UnknownReason reason = UnknownReason::kNone;  // why `function` has no name
    };
    std::vector<Row> rows;  // views into the builder's tables, valid until the next add or build
};

class ProfileBuilder {
public:
    // Both outlive the builder; more events may be added to `events` meanwhile.
    ProfileBuilder(const std::vector<collector::EventInfo>& events, Symbolizer& symbolizer);
    ~ProfileBuilder();

    // How the samples of the slices to come were selected and told apart: goes into Profile::filter and contexts, and
    // makes the profile say what its events were before.
    void set_selection(SampleSelection selection);

    // Before the first slice: names of files lose their folders.
    void redact_paths();

    // Before the first slice: the events of a hybrid CPU's core types stay apart (ProfileEvents).
    void split_hybrid();

    // Takes what it needs of the slice; the caller recycles it.
    SliceHotspots add(const Slice& slice);
    // A slice of which nothing was selected: its samples count for the whole alone, its time does not count.
    void add_left_out(const Slice& slice);

    // From now on moments are those of FineMoments: of the parts that add_part() and add() are given.
    void set_fine_moments(Nanoseconds part);
    // A part of the slice that add() will be given next (SliceBuilder::set_parts).
    void add_part(const Slice& part);

    // The profile of everything added since the last build; the builder starts anew.
    [[nodiscard]] Profile build(const collector::HostFacts& host, std::string id);

    // Empties it. With SampleSelection::by_line ProfileContext::source_line of the next build() is a position in it,
    // with apart() ProfileFunction::line is one, plus one.
    [[nodiscard]] std::vector<SampledCode> take_codes();

    [[nodiscard]] std::size_t slices() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace perfvigil::analyzer
