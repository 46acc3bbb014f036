// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of perf report.
#include "analyzer/input/perf_report.hpp"
#include "tests/support/fuzz_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace perfvigil;
    return test::fuzz_text(data, size, [](analyzer::TextLines& lines) { return analyzer::read_perf_report(lines); });
}
