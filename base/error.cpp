// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.hpp"

#include <cerrno>
#include <system_error>

namespace perfvigil {

Error Error::at(std::string_view where) const& { return Error(*this).at(where); }

Error Error::at(std::string_view where) && {
    message.insert(0, std::string(where) + ": ");
    return std::move(*this);
}

static ErrorCode code_of(int error_number) {
    switch (error_number) {
        case EACCES:
        case EPERM: return ErrorCode::kPermission;
        case ENOENT:
        case ESRCH: return ErrorCode::kNotFound;
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case EDQUOT:
        case ENOSPC: return ErrorCode::kExhausted;
        case EBUSY:
        case EADDRINUSE: return ErrorCode::kBusy;
        case ENOSYS:
        case EOPNOTSUPP: return ErrorCode::kUnsupported;
        default: return ErrorCode::kIo;
    }
}

Error errno_error(int error_number, std::string_view what) {
    return Error{code_of(error_number), error_number,
                 std::string(what) + ": " + std::generic_category().message(error_number)};
}

std::unexpected<Error> fail_errno(int error_number, std::string_view what) {
    return std::unexpected(errno_error(error_number, what));
}

}  // namespace perfvigil
