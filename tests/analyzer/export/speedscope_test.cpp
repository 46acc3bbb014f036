// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/speedscope.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/corpus.hpp"
#include "tests/support/export_profile.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

// "web main work = 30" of each sample of a profile.
std::vector<std::string> stacks_of(const json::object& file, std::size_t number) {
    const auto& frames = file.at("shared").at("frames").as_array();
    const auto& profile = file.at("profiles").as_array().at(number).as_object();
    const auto& weights = profile.at("weights").as_array();
    std::vector<std::string> texts;
    for (const auto& sample : profile.at("samples").as_array()) {
        std::string text;
        for (const auto& frame : sample.as_array()) {
            text += std::string(frames.at(frame.to_number<std::size_t>()).at("name").as_string()) + " ";
        }
        text += "= " + std::to_string(weights.at(texts.size()).to_number<std::uint64_t>());
        texts.push_back(text);
    }
    EXPECT_EQ(weights.size(), texts.size());
    return texts;
}

TEST(Speedscope, EachEventIsAProfile) {
    const auto text = speedscope(test::export_profile(), {0, 1}, IdleRows::kExclude);
    const auto parsed = json::parse(text);
    const auto& file = parsed.as_object();
    EXPECT_EQ(file.at("$schema").as_string(), "https://www.speedscope.app/file-format-schema.json");
    ASSERT_EQ(file.at("profiles").as_array().size(), 2U);
    using Texts = std::vector<std::string>;
    EXPECT_EQ(stacks_of(file, 0), (Texts{"web main work = 30", "web main [libc.so.6] read = 20"}));
    EXPECT_EQ(stacks_of(file, 1), (Texts{"web main work = 7000"}));
    const auto& clock = file.at("profiles").as_array()[0].as_object();
    EXPECT_EQ(clock.at("unit").as_string(), "nanoseconds");
    EXPECT_EQ(clock.at("name").as_string(), "cpu-clock");
    EXPECT_EQ(clock.at("endValue").to_number<double>(), 50);
    EXPECT_EQ(file.at("profiles").as_array()[1].at("unit").as_string(), "none");
    EXPECT_EQ(file.at("shared").at("frames").as_array()[0].at("file").as_string(), "/bin/x");
}

TEST(Speedscope, IdleSamplesOnRequest) {
    const auto parsed = json::parse(speedscope(test::export_profile(), {0}, IdleRows::kInclude));
    EXPECT_EQ(stacks_of(parsed.as_object(), 0), (std::vector<std::string>{"[no name] read = 50", "web main work = 30",
                                                                          "web main [libc.so.6] read = 20"}));
}

constexpr const char* kValidate = R"py(
import json, sys
import jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))
print("valid")
)py";

TEST(Speedscope, TheSchemaOfItsAuthorsAcceptsIt) {
    if (!test::has_corpus()) GTEST_SKIP() << test::corpus_absent();
    const auto found = test::output_of(
        "/usr/bin/python3", {"-c", "import importlib.util as u; print(u.find_spec('jsonschema') is not None)"});
    if (found != "True\n") GTEST_SKIP() << "needs python3-jsonschema (./dev deps test)";
    auto hostile = test::export_profile();
    hostile.functions[0].name = "\xff\"</script>\n\\";
    hostile.contexts[0].comm = std::string("\0", 1);
    const auto schema = test::corpus_folder() + "/export/schema/speedscope-file-format-schema.json";
    const test::TempFolder folder;
    for (const auto& profile : {test::export_profile(), hostile}) {
        const auto file = folder.write("x.json", speedscope(profile, {0, 1, 2}, IdleRows::kInclude));
        EXPECT_EQ(test::output_of("/usr/bin/python3", {"-c", kValidate, file, schema}), "valid\n");
    }
    // The check itself can fail.
    const auto wrong = folder.write("x.json", R"({"$schema": "elsewhere", "profiles": [], "shared": {"frames": []}})");
    EXPECT_THROW((void)test::output_of("/usr/bin/python3", {"-c", kValidate, wrong, schema}), std::runtime_error);
}

}  // namespace
}  // namespace perfvigil::analyzer
