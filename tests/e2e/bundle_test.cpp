// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles of real recordings, read where nothing of the host is left: in a root folder that holds perfvigil, its
// libraries and the bundle, after the recorded program was deleted. No /proc, no symbols, no parser of ELF files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/blocked_child.hpp"
#include "tests/support/cgroup_unit.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace fs = std::filesystem;
using test::output_of;
using Arguments = std::vector<std::string>;

constexpr const char* kPerf = "/usr/bin/perf";
constexpr const char* kChroot = "/usr/sbin/chroot";

// What is asked of a capture; the file's name goes behind.
const std::vector<Arguments>& questions() {
    static const std::vector<Arguments> all{
        {"report"},
        {"report", "--json"},
        {"report", "--html"},
        {"report", "--inline", "--srcline"},
        {"report", "--inline=modules", "--srcline=modules"},
        {"report", "--inline", "--json", "--top", "0"},
        {"report", "--by", "comm,srcline", "--top", "0"},
        {"report", "--by", "dso,symbol", "--idle"},
        {"report", "--comm", "recorded", "--time", "10%..70%"},
        {"report", "--focus", "mill::work"},
        {"annotate", "mill::work"},
        {"annotate", "descend", "--json"},
        {"export", "--to", "folded"},
        {"export", "--to", "folded", "--inline"},
        {"export", "--to", "json", "--inline", "--srcline"},
        {"export", "--to", "pprof", "--inline", "--srcline", "--by", "pid,tid"},
    };
    return all;
}

class Bundle : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root for chroot";
        if (::access(kChroot, X_OK) != 0) GTEST_SKIP() << "chroot is not installed";
    }

    // A copy of the client that nobody else has.
    std::string program() {
        const auto path = folder_ / "recorded";
        fs::copy_file(test::client_path("inlining"), path, fs::copy_options::overwrite_existing);
        return path;
    }
    static std::vector<std::string> answers_here(const std::string& file,
                                                 const std::vector<Arguments>& asked = questions()) {
        std::vector<std::string> all;
        for (auto question : asked) {
            question.push_back(file);
            all.push_back(output_of(test::kPerfvigil, question));
        }
        return all;
    }
    std::string bundled(const std::string& capture, const std::string& name) {
        const auto file = root_ / name;
        (void)output_of(test::kPerfvigil, {"bundle", capture, "-o", file});
        return file;
    }
    // In the root folder, which has the same file name.
    std::string answer_there(Arguments question, const std::string& name) {
        if (!fs::exists(root_ / "perfvigil")) furnish();
        Arguments arguments{root_.path().string(), "/perfvigil"};
        arguments.insert(arguments.end(), question.begin(), question.end());
        arguments.push_back("/" + name);
        return output_of(kChroot, arguments);
    }
    void expect_the_same(const std::vector<std::string>& here, const std::string& name,
                         const std::vector<Arguments>& asked = questions()) {
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto there = answer_there(asked[i], name);
            EXPECT_FALSE(here[i].empty());
            EXPECT_EQ(there, here[i]) << "question " << i << ": " << asked[i].front() << " " << asked[i].back();
        }
    }

    test::TempFolder folder_;
    test::TempFolder root_;

private:
    // The program and the libraries that the loader names.
    void furnish() {
        fs::copy_file(test::kPerfvigil, root_ / "perfvigil");
        const auto libraries = output_of("/usr/bin/ldd", {test::kPerfvigil});
        for (const auto line : split(libraries, '\n')) {
            const auto slash = line.find('/');
            if (slash == std::string_view::npos) continue;
            const auto path = std::string(line.substr(slash, line.find(' ', slash) - slash));
            fs::create_directories(fs::path(root_ / path.substr(1)).parent_path());
            fs::copy_file(path, root_ / path.substr(1), fs::copy_options::skip_existing);
        }
    }
};

TEST_F(Bundle, SaysElsewhereWhatItsCaptureSaidHere) {
    const auto recorded = program();
    const auto capture = folder_ / "x.data";
    {
        test::Client load(recorded, {"60"});
        test::Client kernel("/usr/bin/dd", {"if=/dev/zero", "of=/dev/null", "bs=4k"});
        (void)output_of(test::kPerfvigil, {"record", "-a", "-F", "499", "-e", "cpu-clock", "-d", "3s", "-o", capture});
    }
    const auto here = answers_here(capture);
    EXPECT_NE(here[0].find("mill::work"), std::string::npos);
    EXPECT_NE(here[3].find("mill::grind"), std::string::npos);
    const auto bundle = bundled(capture, "x.data");
    fs::remove(recorded);
    expect_the_same(here, "x.data");

    // The capture itself is what it was, for others too.
    const auto original = read_file(capture, 1U << 30).value();
    const auto whole = read_file(bundle, 1U << 30).value();
    EXPECT_EQ(whole.substr(0, original.size()), original);
    EXPECT_LT(whole.size() - original.size(), 1U << 20);
    if (::access(kPerf, X_OK) == 0) {
        const Arguments script{"script", "-F", "comm,tid,time,ip", "-i"};
        auto of_capture = script;
        auto of_bundle = script;
        of_capture.push_back(capture);
        of_bundle.push_back(bundle);
        EXPECT_EQ(output_of(kPerf, of_bundle), output_of(kPerf, of_capture));
    }

    // Bundled again, without a host, it is still the same; and without its evidence the names are gone.
    (void)output_of(kChroot, {root_.path().string(), "/perfvigil", "bundle", "/x.data", "-o", "/again"});
    fs::rename(root_ / "again", root_ / "x.data");
    expect_the_same(here, "x.data");
    fs::resize_file(root_ / "x.data", original.size());
    EXPECT_EQ(answer_there({"report"}, "x.data").find("mill::work"), std::string::npos);
}

// dd belongs to a package here, and no package manager knows it there.
TEST_F(Bundle, KeepsThePackagesOfWhatUnitsRan) {
    const auto mount = test::cgroup2_mount();
    if (mount.empty()) GTEST_SKIP() << "no cgroup2 is mounted";
    const test::CgroupUnit unit(mount);
    if (!unit.made()) GTEST_SKIP() << mount << " cannot be written";
    const auto capture = folder_ / "x.data";
    {
        test::Client load("/usr/bin/dd", {"if=/dev/zero", "of=/dev/null", "bs=64k"});
        ASSERT_TRUE(unit.add(load.pid()));
        (void)output_of(test::kPerfvigil, {"record", "-a", "-F", "299", "-e", "cpu-clock", "-d", "2s", "-o", capture});
    }
    const std::vector<Arguments> asked{{"report"}, {"report", "--json"}, {"report", "--html"}};
    const auto here = answers_here(capture, asked);
    if (::access("/var/lib/dpkg/status", R_OK) == 0) {
        EXPECT_NE(here[1].find("\"package\":\"coreutils\""), std::string::npos) << here[1];
    }
    (void)bundled(capture, "x.data");
    expect_the_same(here, "x.data", asked);
}

TEST_F(Bundle, OfPerfsOwnCapturesToo) {
    if (::access(kPerf, X_OK) != 0) GTEST_SKIP() << kPerf << " is not installed";
    const auto recorded = program();
    const auto capture = folder_ / "perf.data";
    (void)output_of(kPerf, {"record", "-q", "-g", "-F", "999", "-e", "cpu-clock", "-o", capture, "--", recorded, "2"});
    const auto here = answers_here(capture);
    (void)bundled(capture, "perf.data");
    // The same through gzip and a pipe.
    (void)output_of("/bin/sh",
                    {"-c", "gzip -c " + capture + " | " + test::kPerfvigil + " bundle - -o " + (root_ / "piped")});
    fs::remove(recorded);
    expect_the_same(here, "perf.data");
    EXPECT_EQ(read_file(root_ / "piped", 1U << 30).value().substr(0, 4096),
              read_file(root_ / "perf.data", 1U << 30).value().substr(0, 4096));
    fs::rename(root_ / "piped", root_ / "perf.data");
    EXPECT_EQ(answer_there(questions()[1], "perf.data"), here[1]);
}

const std::vector<Arguments>& short_questions() {
    static const std::vector<Arguments> all{
        {"report", "--json"}, {"report", "--inline"}, {"export", "--to", "folded"}, {"export", "--to", "pprof"}};
    return all;
}

TEST_F(Bundle, KeepsWhatCopiesOfStacksWereUnwoundTo) {
    const auto recorded = folder_ / "unwound";
    fs::copy_file(test::client_path("unwind_nofp"), recorded);
    const auto capture = folder_ / "x.data";
    (void)output_of(test::kPerfvigil, {"record", "-o", capture, "-F", "299", "-e", "cpu-clock", "--call-graph", "dwarf",
                                       "--", recorded, "1.5"});
    const auto here = answers_here(capture, short_questions());
    EXPECT_NE(here[2].find(";main;"), std::string::npos) << here[2];
    (void)bundled(capture, "x.data");
    fs::remove(recorded);
    expect_the_same(here, "x.data", short_questions());
}

TEST_F(Bundle, KeepsWhereJitdumpsPutTheirCode) {
    const auto dumps = folder_ / "dumps";
    fs::create_directory(dumps);
    const auto capture = folder_ / "x.data";
    (void)output_of(test::kPerfvigil, {"record", "-F", "499", "-e", "cpu-clock", "-o", capture, "--",
                                       test::client_path("jitdump"), "1.5", dumps});
    const auto here = answers_here(capture, short_questions());
    EXPECT_NE(here[2].find("jit_second"), std::string::npos) << here[2];
    (void)bundled(capture, "x.data");
    fs::remove_all(dumps);
    expect_the_same(here, "x.data", short_questions());
}

TEST_F(Bundle, AStoredWindowIsAFileOfTheSameReport) {
    test::DaemonProcess daemon(folder_);
    daemon.start({});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    const auto id = daemon.stored_windows().back();
    const auto socket = "--socket=" + daemon.socket();
    (void)output_of(test::kPerfvigil, {"bundle", id, "-o", root_ / "window", socket});
    for (const Arguments& question : std::initializer_list<Arguments>{
             {"report"}, {"report", "--json"}, {"export", "--to", "folded"}, {"export", "--to", "pprof"}}) {
        auto here = question;
        here.insert(here.end(), {id, socket});
        EXPECT_EQ(answer_there(question, "window"), output_of(test::kPerfvigil, here));
    }
}

TEST_F(Bundle, ADamagedOneIsReadAsTheCaptureThatItIs) {
    const auto capture = folder_ / "x.data";
    (void)output_of(test::kPerfvigil, {"record", "-F", "999", "-e", "cpu-clock", "-o", capture, "--", program(), "1"});
    const auto bundle = bundled(capture, "x.data");
    auto bytes = read_file(bundle, 1U << 30).value();
    bytes[bytes.size() - 60] ^= 1;
    const auto damaged = folder_.write("damaged.data", bytes);
    const auto report = test::ReportView::of_perfvigil({"report", "--json", damaged});
    const auto& warnings = report.root().at("warnings").as_array();
    ASSERT_FALSE(warnings.empty());
    EXPECT_NE(warnings[0].as_string().find("hash"), boost::json::string::npos);
    EXPECT_GT(report.function("cpu-clock", "mill::work", "self_samples"), 0U) << "this host's files are still here";
}

TEST_F(Bundle, WhatIsNoCaptureIsRefusedAndLeavesNothing) {
    const auto text = folder_.write("text", "a;b 1\n");
    const auto output = folder_ / "out";
    for (const auto& source : {text, folder_ / "absent/file", folder_.path().string()}) {
        test::Client asked(test::kPerfvigil, {"bundle", source, "-o", output});
        (void)asked.output();
        EXPECT_EQ(collector::exit_code_of(asked.exit_status()), 2) << source;
    }
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
        EXPECT_EQ(entry.path().filename(), "text") << "left behind";
    }
}

}  // namespace
}  // namespace perfvigil
