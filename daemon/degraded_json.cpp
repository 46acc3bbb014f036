// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/degraded_json.hpp"

#include <boost/json.hpp>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {

boost::json::array degraded_json(const std::vector<collector::Degraded>& degraded) {
    namespace field = protocol::field;
    boost::json::array list;
    for (const auto& one : degraded) {
        list.push_back(boost::json::object{
            {field::kReason, one.reason}, {field::kDetail, escape(one.detail)}, {field::kRemedy, escape(one.remedy)}});
    }
    return list;
}

}  // namespace perfvigil::daemon
