// SPDX-License-Identifier: GPL-2.0-or-later
// The samples of one function by instruction, counted beside the profile while slices go by: profiles keep functions
// only. Knows addresses and names, not what stands at the addresses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/slice.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/event_table.hpp"

namespace perfvigil::analyzer {

struct AddressCount {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

// One function of that name in one Dso; a name may belong to several.
struct CountedFunction {
    collector::DsoRef dso;
    std::string name;
    std::string dso_name;     // as profiles show it
    std::uint64_t start = 0;  // in the Dso's terms
    std::uint64_t size = 0;   // 0: unknown
    std::uint64_t samples = 0;
    std::map<std::uint64_t, AddressCount> addresses;  // in the Dso's terms, of the sampled instruction
};

class AddressCounts {
public:
    // Counts samples of `event` (by name; empty: the first sampling event that has any) in functions called `symbol`,
    // of a Dso called `dso` (path or last part of it; empty: any). Both outlive this.
    AddressCounts(const std::vector<collector::EventInfo>& events, Symbolizer& symbolizer, std::string symbol,
                  std::string dso, std::string event);

    void add(const Slice& slice);

    // Most samples first.
    [[nodiscard]] std::vector<CountedFunction> functions() const;
    // The event that was counted; empty where no sample came.
    [[nodiscard]] const std::string& event() const { return event_; }

private:
    [[nodiscard]] CountedFunction* function_of(const Frame& frame);
    [[nodiscard]] bool counts(collector::EventIndex event);

    const std::vector<collector::EventInfo>& events_;
    Symbolizer& symbolizer_;
    std::string symbol_;
    std::string dso_;
    std::string event_;
    struct Key {
        collector::DsoId dso{};
        std::uint64_t start = 0;
        friend bool operator<(const Key& a, const Key& b) {
            return a.dso.value != b.dso.value ? a.dso.value < b.dso.value : a.start < b.start;
        }
    };
    std::map<Key, CountedFunction> functions_;
    // Of the slice at hand.
    boost::unordered_flat_map<collector::DsoId, const collector::DsoRef*> dsos_;
    std::vector<CountedFunction*> by_frame_;
};

}  // namespace perfvigil::analyzer
