// SPDX-License-Identifier: GPL-2.0-or-later
// Foreign names as label values: the same code has one name across builds, hosts and restarts, and no name can grow,
// break an exposition or pass for one of ours. Full names stay in profiles.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::daemon {

// Demangled function names: template arguments become <>, clone suffixes (.isra.0, .cold, [clone …]), Rust hashes and
// addresses go; parameter lists stay, overloads are different functions. Empty: "[unknown]".
[[nodiscard]] std::string function_identity(std::string_view demangled);

// A binary as symbols name it ("/usr/lib/libc.so.6", "[kernel.kallsyms]", "[nfsd]", "//anon"): the base name without
// " (deleted)" and build hashes; "[jit]" for code without a file and for perf maps. Empty: "[unknown]". "(excluded)" is
// ours, as a unit too: what is foreign begins with a slash or a bracket, and ends in the kind of its unit.
[[nodiscard]] std::string dso_identity(std::string_view dso);

// A systemd unit: instances ("user@1000.service" → "user@.service"), container and run ids ("docker-<hex>.scope" →
// "docker-*.scope") and the numbers of scopes and slices go. Empty: "(none)".
[[nodiscard]] std::string unit_identity(std::string_view unit);

// Escaped (base/text.hpp), and at most 200 bytes:
// beyond it the first 180 (whole characters) + "~" + 8 hex digits of the whole name's hash.
inline constexpr std::size_t kMaxIdentityBytes = 200;
[[nodiscard]] std::string bounded_identity(std::string_view name);

}  // namespace perfvigil::daemon
