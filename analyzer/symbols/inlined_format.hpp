// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil-symbols answers to a question for inlined calls. The question is that of lines_format.hpp: link
// addresses at the head of the same memfd. Numbers are native, as in table_format.hpp; the reader trusts none.
//
//   addresses  as they were asked
//   header     u32 magic, u32 version, u32 addresses, u32 frames, u32 strings, u32 flags, u32 names size,
//              u32 size of the build-id and its 20 bytes: of the file that holds what this one shares with others
//              (.gnu_debugaltlink, as dwz makes it); size 0: it shares nothing;
//              u32 split units, u32 split files: the last ones of the strings, kMaxSplitNames at most
//   counts     per address: u32 number of its frames; 0: nothing is known
//   frames     u32 function, u32 file (numbers of strings plus one; 0: unknown), u32 line; innermost first, the last
//   one
//              is the function that was compiled, the others were inlined
//   ends       per string: u32 end in `names`, never descending
//   names      escaped (base/text.hpp), functions demangled, not terminated
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kInlinedMagic = 0x49565046;  // "FPVI"
inline constexpr std::uint32_t kInlinedVersion = 2;
inline constexpr std::size_t kInlinedFrameSize = 12;
inline constexpr std::size_t kMaxInlinedDepth = 256;  // frames of one address; beyond it the outermost are left out
inline constexpr std::size_t kMaxSplitNames = 4;      // of the files that hold what a split file lacks
inline constexpr std::size_t kMaxInlinedFrames = 4U << 20;  // of one answer

enum InlinedFlag : std::uint32_t {
    kInlinedDebugInfo = 1,   // the file has debug information at all
    kInlinedSplit = 2,       // of some units it lies in .dwo files, which are not read: no inlined calls, only lines
    kInlinedAltMissing = 4,  // the shared file was not given: names in it are unknown
};

}  // namespace perfvigil::analyzer
