// SPDX-License-Identifier: GPL-2.0-or-later
// The packages of an rpm database (rpmdb.sqlite: one header of rpm's own binary form for each package), written as text
// in the form in which apk keeps its own, which the caller reads already: "P:name", "V:[epoch:]version-release", then
// for each file "F:folder", "R:name".
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// One package; empty: the header is damaged, or of a package without files.
[[nodiscard]] std::string rpm_package_text(Bytes header);

// All of the database behind `file`, into `out`. kInvalid: it is no SQLite database. kExhausted: over `max_bytes`.
[[nodiscard]] Result<void> answer_packages(int out, int file, std::uint64_t max_bytes);

}  // namespace perfvigil::analyzer
