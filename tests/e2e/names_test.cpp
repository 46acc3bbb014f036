// SPDX-License-Identifier: GPL-2.0-or-later
// Names of other languages, of programs made or found here: Rust's two manglings, and interpreters, whose functions are
// not the script's.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/text.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::ReportView;

// The program of that name in PATH or where rustup puts it; empty where there is none.
std::string program(const std::string& name) {
    const char* path = std::getenv("PATH");
    const char* home = std::getenv("HOME");
    std::string folders = path == nullptr ? "/usr/bin" : path;
    if (home != nullptr) folders += ':' + std::string(home) + "/.cargo/bin";
    for (const auto folder : split(folders, ':')) {
        const auto file = std::string(folder) + '/' + name;
        if (::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

class Names : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    ReportView report_of(std::vector<std::string> command) {
        const auto file = folder_ / "names.perf.data";
        std::vector<std::string> arguments{"record", "-e", "cpu-clock", "-F", "997", "-o", file, "--"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        (void)test::output_of(test::kPerfvigil, arguments);
        return ReportView::of_perfvigil({"report", "--json", file});
    }
    static std::uint64_t self_samples(const ReportView& report, std::string_view symbol) {
        return report.function("cpu-clock", symbol, "self_samples");
    }
    // The observation that a script was interpreted; empty where it was not made.
    static std::string interpreted(const ReportView& report) {
        for (const auto& value : report.root().at("observations").as_array()) {
            const auto& row = value.as_object();
            if (row.at("id").as_string() == "interpreted_code") return boost::json::serialize(row);
        }
        return {};
    }

    test::TempFolder folder_;
};

constexpr const char* kRust = R"(
use std::hint::black_box;
trait Work { fn work(&self, n: u64) -> u64; }
struct Adder<T>(T);
impl Work for Adder<u64> {
    #[inline(never)]
    fn work(&self, n: u64) -> u64 { let mut s = self.0; for i in 0..n { s = black_box(s.wrapping_mul(31) ^ i); } s }
}
#[inline(never)]
fn generic_work<T: Into<u64> + Copy>(value: T, n: u64) -> u64 {
    let mut s = value.into(); for i in 0..n { s = black_box(s ^ i); } s
}
#[inline(never)]
fn run_closure<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 { f(n) }
fn main() {
    let end = std::time::Instant::now() + std::time::Duration::from_millis(1000);
    let mut t = 0u64;
    while std::time::Instant::now() < end {
        t ^= Adder(1u64).work(200_000) ^ generic_work(7u32, 200_000);
        t ^= run_closure(|n| { let mut s = n; for i in 0..n { s = black_box(s.rotate_left(3) ^ i); } s }, 200_000);
    }
    println!("{}", t & 1);
}
)";

TEST_F(Names, OfRust) {
    const auto rustc = program("rustc");
    if (rustc.empty()) GTEST_SKIP() << "needs rustc";
    const auto source = folder_.write("names.rs", kRust);
    for (const std::string version : {"legacy", "v0"}) {
        const auto binary = folder_ / ("rust_" + version);
        // A compiler that knows one mangling only has no names to be compared.
        const auto made = test::output_of("/bin/sh", {"-c", fmt::format("{} -O -C symbol-mangling-version={} {} -o {} "
                                                                        ">/dev/null 2>&1 && echo made; true",
                                                                        rustc, version, source, binary)});
        if (made.empty()) continue;
        const auto report = report_of({binary});
        const bool v0 = version == "v0";
        EXPECT_GT(self_samples(report, "<names::Adder<u64> as names::Work>::work"), 50U) << version;
        EXPECT_GT(self_samples(report, v0 ? "names::generic_work::<u32>" : "names::generic_work"), 50U) << version;
        EXPECT_GT(self_samples(report, v0 ? "names::run_closure::<names::main::{closure#0}>" : "names::run_closure"),
                  50U)
            << version;
        for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
            const std::string_view symbol = value.as_object().at("symbol").as_string();
            EXPECT_FALSE(symbol.starts_with("_ZN") || symbol.contains("17h")) << symbol;
        }
    }
}

TEST_F(Names, OfPythonsInterpreterAreSaidToBeIts) {
    const auto python = program("python3");
    if (python.empty()) GTEST_SKIP() << "needs python3";
    const auto found =
        interpreted(report_of({python, "-c",
                               "import time\nend=time.time()+1.5\nt=0\n"
                               "while time.time()<end:\n  for i in range(10000): t=(t*31+i)%1000003\n"}));
    EXPECT_NE(found.find("interpreter of python"), std::string::npos) << found;
    EXPECT_NE(found.find("-X perf"), std::string::npos);
}

TEST_F(Names, OfPerlsInterpreterAreSaidToBeIts) {
    const auto perl = program("perl");
    if (perl.empty()) GTEST_SKIP() << "needs perl";
    const auto found = interpreted(
        report_of({perl, "-e", "$e=time()+2; while(time()<$e){ for $i (1..10000){ $t=($t*31+$i)%1000003 } }"}));
    EXPECT_NE(found.find("interpreter of perl"), std::string::npos) << found;
}

}  // namespace
}  // namespace perfvigil
