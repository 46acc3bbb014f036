// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon says in JSON, field by field. A field that is missing or of another type is empty: daemon and command
// may differ in age. Texts can be printed as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace perfvigil::cli {

// An object; {"error": …} is that error.
[[nodiscard]] Result<boost::json::object> parse_answer(std::string_view body);

[[nodiscard]] std::string text_at(const boost::json::object& object, std::string_view key);
[[nodiscard]] double number_at(const boost::json::object& object, std::string_view key);
[[nodiscard]] bool has(const boost::json::object& object, std::string_view key);
[[nodiscard]] boost::json::object object_at(const boost::json::object& object, std::string_view key);
// Of objects; others in it are left out.
[[nodiscard]] std::vector<boost::json::object> list_at(const boost::json::object& object, std::string_view key);

}  // namespace perfvigil::cli
