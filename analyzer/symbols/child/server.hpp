// SPDX-License-Identifier: GPL-2.0-or-later
// The child's side of child_protocol.hpp: one request after the other until the parent closes the socket.
#pragma once

#include "base/error.hpp"

namespace perfvigil::analyzer {

// Returns at the end of the stream; an error means that the parent broke the protocol.
[[nodiscard]] Result<void> serve(int socket);

}  // namespace perfvigil::analyzer
