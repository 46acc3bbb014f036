// SPDX-License-Identifier: GPL-2.0-or-later
// What a folder that perfvigild writes to has room for. Internal to analyzer/doctor.
#pragma once

#include "analyzer/doctor/facts.hpp"
#include "analyzer/doctor/gather.hpp"

namespace perfvigil::analyzer::doctor {

// Of the folder, or of the nearest one above it that exists: it is made at the first start.
[[nodiscard]] FolderFacts gather_folder(const WantedFolder& wanted);

}  // namespace perfvigil::analyzer::doctor
