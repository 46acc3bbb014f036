// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/pprof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/export_profile.hpp"
#include "tests/support/message_view.hpp"

namespace perfvigil::analyzer {
namespace {

using test::MessageView;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The message by the names of proto/profile.proto, references resolved.
class Pprof {
public:
    explicit Pprof(const std::string& file) : root_(test::gunzip(file)), strings_(root_.texts(6)) {
        for (const auto& mapping : root_.messages(3)) {
            mappings_[mapping.number(1)] =
                string(mapping.number(5)) + " " + string(mapping.number(6)) + (mapping.number(7) != 0 ? " named" : "");
        }
        for (const auto& function : root_.messages(5)) functions_[function.number(1)] = string(function.number(2));
        for (const auto& location : root_.messages(4)) {
            const auto lines = location.messages(4);
            EXPECT_EQ(lines.size(), 1U);
            locations_[location.number(1)] =
                functions_.at(lines.at(0).number(1)) + " in " + mappings_.at(location.number(2));
        }
    }

    [[nodiscard]] std::string string(std::uint64_t number) const { return strings_.at(number); }
    [[nodiscard]] std::string value_type(const MessageView& type) const {
        return string(type.number(1)) + "/" + string(type.number(2));
    }
    [[nodiscard]] std::vector<std::string> types() const {
        std::vector<std::string> all;
        for (const auto& type : root_.messages(1)) all.push_back(value_type(type));
        return all;
    }
    // "work < main = 3 30 comm:web"
    [[nodiscard]] std::vector<std::string> samples() const {
        std::vector<std::string> all;
        for (const auto& sample : root_.messages(2)) {
            std::string text;
            for (const auto id : sample.numbers(1)) {
                const auto& place = locations_.at(id);
                text += (text.empty() ? "" : " < ") + place.substr(0, place.find(" in "));
            }
            text += " =";
            for (const auto value : sample.numbers(2)) text += " " + std::to_string(value);
            for (const auto& label : sample.messages(3)) {
                text += " " + string(label.number(1)) + ":";
                text += label.number(2) != 0 ? string(label.number(2)) : std::to_string(label.number(3));
            }
            all.push_back(text);
        }
        return all;
    }
    [[nodiscard]] std::vector<std::string> comments() const {
        std::vector<std::string> all;
        for (const auto number : root_.numbers(13)) all.push_back(string(number));
        return all;
    }

    MessageView root_;
    std::vector<std::string> strings_;
    std::map<std::uint64_t, std::string> mappings_;
    std::map<std::uint64_t, std::string> functions_;
    std::map<std::uint64_t, std::string> locations_;
};

TEST(Pprof, SamplesWithTheirValuesAndLabels) {
    const Pprof read(pprof(test::export_profile(), 0, IdleRows::kExclude));
    EXPECT_THAT(read.types(), ElementsAre("samples/count", "cpu/nanoseconds"));
    EXPECT_THAT(read.samples(),
                ElementsAre("work < main = 3 30 comm:web unit:web.service container:0123456789ab",
                            "read < [libc.so.6] < main = 2 20 comm:web unit:web.service container:0123456789ab"));
    EXPECT_EQ(read.string(0), "");
    EXPECT_EQ(read.string(read.root_.number(14)), "cpu");
}

TEST(Pprof, BinariesWithTheirBuildIds) {
    const Pprof read(pprof(test::export_profile(), 0, IdleRows::kExclude));
    std::vector<std::string> places;
    for (const auto& [id, place] : read.locations_) places.push_back(place);
    EXPECT_THAT(places,
                UnorderedElementsAre("main in /bin/x 00aaff named", "work in /bin/x 00aaff named",
                                     "[libc.so.6] in /lib/libc.so.6  named", "read in [kernel.kallsyms]  named"));
}

TEST(Pprof, TimesPeriodAndComments) {
    const Pprof read(pprof(test::export_profile(), 0, IdleRows::kExclude));
    EXPECT_EQ(read.root_.number(9), 1000'000'000'000U);
    EXPECT_EQ(read.root_.number(10), 10'000'000'000U);
    EXPECT_EQ(read.value_type(read.root_.messages(11).at(0)), "cpu/nanoseconds");
    EXPECT_EQ(read.root_.number(12), 10U);
    EXPECT_THAT(read.comments(), ElementsAre("cpu-clock: 50 ns, 5 samples", "host host, Linux 6.1.0 x86_64",
                                             "recorded by perfvigil 0.1.0", "1 sample was lost"));
}

TEST(Pprof, IdleSamplesAreMarked) {
    const Pprof read(pprof(test::export_profile(), 0, IdleRows::kInclude));
    EXPECT_EQ(read.samples().size(), 3U);
    EXPECT_THAT(read.samples(), Contains("read = 5 50 idle:yes"));
}

TEST(Pprof, EventsAreNeverAdded) {
    const Pprof cycles(pprof(test::export_profile(), 1, IdleRows::kExclude));
    EXPECT_THAT(cycles.types(), ElementsAre("samples/count", "cycles/count"));
    EXPECT_THAT(cycles.samples(), ElementsAre("work < main = 7 7000 comm:web unit:web.service container:0123456789ab"));
    EXPECT_EQ(cycles.root_.number(12), 0U);  // the kernel chose it
    const Pprof faults(pprof(test::export_profile(), 2, IdleRows::kExclude));
    EXPECT_THAT(faults.types(), ElementsAre("samples/count", "page-faults/count"));
    EXPECT_THAT(faults.samples(), IsEmpty());
    EXPECT_EQ(faults.root_.number(12), 4U);
}

TEST(Pprof, NumbersTellProcessesApartWhereTheProfileDoes) {
    auto profile = test::export_profile();
    profile.contexts[0] = {.comm = "web", .unit = "", .container = "", .pid = Pid{7}, .tid = Tid{8}, .cpu = CpuId{3}};
    const Pprof read(pprof(profile, 1, IdleRows::kExclude));
    EXPECT_THAT(read.samples(), ElementsAre("work < main = 7 7000 comm:web pid:7 tid:8 cpu:3"));
}

TEST(Pprof, NoTwoValuesOfOneName) {
    EXPECT_EQ(weight_type({.name = "samples"}).type, "events");
    EXPECT_EQ(weight_type({.name = ""}).type, "events");
}

// 2^64 − 1 does not fit into its signed numbers.
TEST(Pprof, ValuesStayPositive) {
    auto profile = test::export_profile();
    profile.samples[3].weight = ~0ULL;
    const Pprof read(pprof(profile, 1, IdleRows::kExclude));
    EXPECT_THAT(read.samples().at(0), testing::HasSubstr("= 7 9223372036854775807"));
}

}  // namespace
}  // namespace perfvigil::analyzer
