// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/programs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analyzer/profile/builder.hpp"
#include "tests/support/elf_image.hpp"

namespace perfvigil::analyzer {
namespace {

class Facts final : public Symbolizer {
public:
    Symbol resolve(const collector::DsoRef& dso, std::uint64_t) override {
        return {.name = "f", .dso = dso->path, .start = 0, .size = 0};
    }
    FileFacts describe(const collector::DsoRef& dso) override {
        ++asked;
        return {.build_id = dso->build_id, .package = package, .package_version = "1.0"};
    }
    std::string package = "web";
    int asked = 0;
};

collector::DsoRef dso(std::uint32_t id, const std::string& path, const char* build_id) {
    auto made = std::make_shared<collector::Dso>();
    made->id = collector::DsoId{id};
    made->path = path;
    made->build_id = test::build_id_of(build_id);
    return made;
}

TEST(UnitPrograms, AreOneRowForEachBuild) {
    Facts facts;
    UnitPrograms programs;
    const auto web = dso(1, "/usr/sbin/web", "aabb");
    const auto upgraded = dso(2, "/usr/sbin/web", "ccdd");
    programs.add("/system.slice/web.service", web, 10, facts);
    programs.add("/system.slice/web.service", web, 5, facts);
    programs.add("/system.slice/web.service/workers", web, 4, facts);  // what the unit keeps below itself
    programs.add("/system.slice/web.service", upgraded, 30, facts);
    programs.add("/", web, 100, facts);                              // of no unit
    programs.add("/system.slice/web.service", nullptr, 100, facts);  // of unknown programs
    const auto rows = programs.take(facts);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].build_id, "ccdd");
    EXPECT_EQ(rows[0].samples, 30U);
    EXPECT_EQ(rows[1], (ProfileProgram{.unit = "web.service",
                                       .container = "",
                                       .slice = "system.slice",
                                       .cgroup = "/system.slice/web.service",
                                       .path = "/usr/sbin/web",
                                       .build_id = "aabb",
                                       .package = "web",
                                       .package_version = "1.0",
                                       .samples = 19}));
    EXPECT_EQ(facts.asked, 3);
    EXPECT_TRUE(programs.take(facts).empty());
}

TEST(UnitPrograms, AreDescribedOnceMoreWhereSomethingWasMissing) {
    Facts facts;
    facts.package.clear();
    UnitPrograms programs;
    programs.add("/system.slice/web.service", dso(1, "/usr/sbin/web", "aabb"), 1, facts);
    facts.package = "web";
    const auto rows = programs.take(facts);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].package, "web");
}

TEST(UnitPrograms, AddUpWhenProfilesAreMerged) {
    std::vector<ProfileProgram> rows;
    const ProfileProgram one{.unit = "a", .container = "", .slice = "", .cgroup = "/a", .path = "/x", .samples = 3};
    ProfileProgram other = one;
    other.build_id = "aa";
    add_program(rows, one);
    add_program(rows, other);
    add_program(rows, one);
    limit_programs(rows);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].samples, 6U);
    EXPECT_EQ(rows[0].build_id, "");
    for (std::uint64_t i = 0; i < 2 * kMaxProfilePrograms; ++i) {
        other.samples = i;
        other.path = std::to_string(i);
        rows.push_back(other);
    }
    limit_programs(rows);
    EXPECT_EQ(rows.size(), kMaxProfilePrograms);
    EXPECT_EQ(rows[0].samples, 2 * kMaxProfilePrograms - 1);
}

TEST(UnitName, HasASliceAndACgroup) {
    const std::string id(64, 'a');
    struct Case {
        std::string path, slice, cgroup;
    };
    const Case cases[] = {
        {"/system.slice/foo.service/payload/deeper", "system.slice", "/system.slice/foo.service"},
        {"/system.slice/foo.service", "system.slice", "/system.slice/foo.service"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope", "app.slice",
         "/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope"},
        {"/docker/" + id + "/init", "", "/docker/" + id},
        {"/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope/container", "kubepods-pod1.slice",
         "/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope"},
        {"/nothing/known", "", ""},
        {"", "", ""},
    };
    for (const auto& [path, slice, cgroup] : cases) {
        const auto name = unit_of_cgroup(path);
        EXPECT_EQ(name.slice, slice) << path;
        EXPECT_EQ(name.cgroup, cgroup) << path;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
