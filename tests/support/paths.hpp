// SPDX-License-Identifier: GPL-2.0-or-later
// Where the built programs and the checkout lie. Compiled into one file, so that checkouts share what else they
// compile.
#pragma once

namespace perfvigil::test {

extern const char* const kPerfvigil;
extern const char* const kPerfvigild;
extern const char* const kPerfvigilSymbols;
extern const char* const kClientsDir;
extern const char* const kSourceDir;
extern const char* const kGoldenDir;
extern const char* const kCorpusDir;  // by default: corpus.hpp

}  // namespace perfvigil::test
