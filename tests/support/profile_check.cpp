// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/profile_check.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "analyzer/profile/codec.hpp"
#include "analyzer/report.hpp"

namespace perfvigil::test {
namespace {

void must(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "profile: %s\n", what);
    std::abort();
}

}  // namespace

void check_profile(const analyzer::Profile& profile) {
    using namespace analyzer;
    std::vector<EventTotals> sums(profile.events.size());
    for (const auto& sample : profile.samples) {
        must(sample.event < profile.events.size(), "a sample of no event");
        must(sample.stack < profile.stacks.size(), "a sample of no stack");
        must(sample.context < profile.contexts.size(), "a sample of no context");
        sums[sample.event].samples += sample.samples;
        sums[sample.event].weight += sample.weight;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        must(sums[i].samples == profile.events[i].samples, "samples do not add up");
        must(sums[i].weight == profile.events[i].weight, "weights do not add up");
        must(profile.events[i].idle_samples <= profile.events[i].samples, "more idle samples than samples");
    }
    for (const auto& stack : profile.stacks) {
        for (const auto function : stack.functions) must(function < profile.functions.size(), "a frame of no function");
    }
    for (const auto& moment : profile.moments) {
        must(moment.length.count() >= 0, "a moment of negative length");
        must(moment.totals.size() == profile.events.size(), "totals of other events");
        for (const auto& top : moment.top) must(top.function < profile.functions.size(), "a top function of nothing");
    }
    const auto again = decode_profile(encode_profile(profile));
    must(again.has_value() && *again == profile, "another one after a round trip");
    (void)report_text(profile, {});
}

}  // namespace perfvigil::test
