// SPDX-License-Identifier: GPL-2.0-or-later
// Records as a kernel with the given layout would have written them, from the very structs that decode_record() gives:
// for a capture's state on first use. Native byte order. Each function appends one whole record, a multiple of 8 bytes,
// with the layout's trailer filled from the record's SampleId. Texts too long for a record are cut.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/record.hpp"

namespace perfvigil::collector {

// As MMAP2, with the build-id where there is one, else with device and inode. The misc bits for data mappings and
// build-ids follow from the values.
void append_record(const MmapRecord& mmap, const RecordLayout& layout, std::vector<std::byte>& out);
void append_record(const CommRecord& comm, const RecordLayout& layout, std::vector<std::byte>& out);
void append_record(const CgroupRecord& cgroup, const RecordLayout& layout, std::vector<std::byte>& out);
// `extra_misc`: further bits of the header's misc.
void append_record(const LostSamplesRecord& lost, const RecordLayout& layout, std::vector<std::byte>& out,
                   std::uint16_t extra_misc = 0);

}  // namespace perfvigil::collector
