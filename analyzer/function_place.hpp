// SPDX-License-Identifier: GPL-2.0-or-later
// The fields that a function has in JSON where the profile knows inlined calls and source lines.
#pragma once

#include <boost/json.hpp>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// "inlined": true, "file", "line"; nothing where they are not known.
void add_place(boost::json::object& object, const ProfileFunction& function);

}  // namespace perfvigil::analyzer
