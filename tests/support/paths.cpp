// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/paths.hpp"

namespace perfvigil::test {

constinit const char* const kPerfvigil = PERFVIGIL_BUILD "/perfvigil";
constinit const char* const kPerfvigild = PERFVIGIL_BUILD "/perfvigild";
constinit const char* const kPerfvigilSymbols = PERFVIGIL_BUILD "/perfvigil-symbols";
constinit const char* const kClientsDir = PERFVIGIL_BUILD "/clients";
constinit const char* const kSourceDir = PERFVIGIL_SOURCE;
constinit const char* const kGoldenDir = PERFVIGIL_SOURCE "/tests/golden";
constinit const char* const kCorpusDir = PERFVIGIL_SOURCE "/../shared/corpus";

}  // namespace perfvigil::test
