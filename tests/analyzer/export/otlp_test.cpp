// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/otlp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/export_profile.hpp"
#include "tests/support/message_view.hpp"

namespace perfvigil::analyzer {
namespace {

using test::MessageView;
using testing::ElementsAre;
using testing::IsEmpty;

std::string attribute(const MessageView& key_value, const std::string& key) {
    const auto any = key_value.messages(2).at(0);
    return key + ":" + (any.texts(1).empty() ? std::to_string(any.number(3)) : any.text(1));
}

// The message by the names of profiles.proto, references resolved.
class Otlp {
public:
    explicit Otlp(const std::string& bytes)
        : root_(bytes), tables_(root_.messages(2).at(0)), strings_(tables_.texts(5)) {}

    [[nodiscard]] std::vector<MessageView> profiles() const {
        return root_.messages(1).at(0).messages(2).at(0).messages(2);
    }
    [[nodiscard]] std::vector<std::string> resource() const {
        std::vector<std::string> all;
        for (const auto& one : root_.messages(1).at(0).messages(1).at(0).messages(1)) {
            all.push_back(attribute(one, one.text(1)));
        }
        return all;
    }
    [[nodiscard]] std::string attributes(const std::vector<std::uint64_t>& numbers) const {
        std::string text;
        for (const auto number : numbers) {
            const auto one = tables_.messages(6).at(number);
            text += " " + attribute(one, strings_.at(one.number(1)));
        }
        return text;
    }
    [[nodiscard]] std::string value_type(const MessageView& type) const {
        return strings_.at(type.number(1)) + "/" + strings_.at(type.number(2));
    }
    // "work < main = 30 thread.name:web …"
    [[nodiscard]] std::vector<std::string> samples(const MessageView& profile) const {
        std::vector<std::string> all;
        for (const auto& sample : profile.messages(2)) {
            std::string text;
            for (const auto number : tables_.messages(7).at(sample.number(1)).numbers(1)) {
                text += (text.empty() ? "" : " < ") + location(number);
            }
            text += " =";
            for (const auto value : sample.numbers(4)) text += " " + std::to_string(value);
            all.push_back(text + attributes(sample.numbers(2)));
        }
        return all;
    }
    [[nodiscard]] std::string location(std::uint64_t number) const {
        const auto line = tables_.messages(2).at(number).messages(3).at(0);
        return strings_.at(tables_.messages(3).at(line.number(1)).number(1));
    }
    // "main in /bin/x profile.frame.type:native process.executable.build_id.gnu:00aaff"
    [[nodiscard]] std::string place(std::uint64_t number) const {
        const auto one = tables_.messages(2).at(number);
        const auto mapping = tables_.messages(1).at(one.number(1));
        return location(number) + " in " + strings_.at(mapping.number(4)) + attributes(one.numbers(4)) +
               attributes(mapping.numbers(5));
    }

    MessageView root_;
    MessageView tables_;
    std::vector<std::string> strings_;
};

TEST(Otlp, EachEventIsAProfile) {
    const Otlp read(otlp(test::export_profile(), {0, 1}, IdleRows::kExclude));
    const auto profiles = read.profiles();
    ASSERT_EQ(profiles.size(), 2U);
    const std::string web = " thread.name:web systemd.unit:web.service container.id:0123456789ab";
    EXPECT_THAT(read.samples(profiles[0]),
                ElementsAre("work < main = 30" + web, "read < [libc.so.6] < main = 20" + web));
    EXPECT_THAT(read.samples(profiles[1]), ElementsAre("work < main = 7000" + web));
    EXPECT_EQ(read.value_type(profiles[0].messages(1).at(0)), "cpu/nanoseconds");
    EXPECT_EQ(read.value_type(profiles[1].messages(1).at(0)), "cycles/count");
    EXPECT_EQ(profiles[0].number(3), 1000'000'000'000U);
    EXPECT_EQ(profiles[0].number(4), 10'000'000'000U);
    EXPECT_EQ(read.value_type(profiles[0].messages(5).at(0)), "cpu/nanoseconds");
    EXPECT_EQ(profiles[0].number(6), 10U);
    EXPECT_THAT(read.resource(),
                ElementsAre("host.name:host", "os.type:linux", "os.version:6.1.0", "host.arch:x86_64"));
}

TEST(Otlp, PlacesKnowTheirBinary) {
    const Otlp read(otlp(test::export_profile(), {0}, IdleRows::kExclude));
    EXPECT_EQ(read.place(1), "main in /bin/x profile.frame.type:native process.executable.build_id.gnu:00aaff");
    EXPECT_EQ(read.place(3), "[libc.so.6] in /lib/libc.so.6 profile.frame.type:native");
    EXPECT_EQ(read.place(4), "read in [kernel.kallsyms] profile.frame.type:kernel");
}

// Zero refers to nothing in every table.
TEST(Otlp, TheFirstEntryOfEachTableIsEmpty) {
    const Otlp read(otlp(test::export_profile(), {0}, IdleRows::kInclude));
    for (const std::uint32_t table : {1U, 2U, 3U, 4U, 6U, 7U}) {
        const auto entries = read.tables_.texts(table);
        ASSERT_FALSE(entries.empty()) << table;
        EXPECT_THAT(entries.front(), IsEmpty()) << table;
    }
    EXPECT_THAT(read.strings_.front(), IsEmpty());
}

TEST(Otlp, IdleSamplesAreMarkedAndNumbersAreNumbers) {
    auto profile = test::export_profile();
    profile.contexts[1] = {.comm = "", .unit = "", .container = "", .pid = Pid{7}, .tid = Tid{8}, .cpu = CpuId{3}};
    const Otlp read(otlp(profile, {0}, IdleRows::kInclude));
    EXPECT_THAT(read.samples(read.profiles().at(0)),
                testing::Contains("read = 50 process.pid:7 thread.id:8 cpu.logical_number:3 cpu.mode:idle"));
}

}  // namespace
}  // namespace perfvigil::analyzer
