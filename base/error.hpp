// SPDX-License-Identifier: GPL-2.0-or-later
// A failure as a value: what kind it is (to branch on), the errno behind it, and one sentence for a person.
// Each layer that passes an Error up adds where it happened in front: "cpu 3: perf_event_open: Permission denied".
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace perfvigil {

enum class ErrorCode {
    kIo,           // a system call failed; error_number says how
    kPermission,   // rights are missing; the message names the way out
    kUnsupported,  // this kernel, machine or build cannot do it
    kNotFound,
    kInvalid,    // input that breaks its format or its rules
    kTruncated,  // input that ends early
    kExhausted,  // a limit of ours or of the system was reached
    kBusy,
    kCancelled,
};

struct Error {
    ErrorCode code = ErrorCode::kIo;
    int error_number = 0;  // errno, 0 where none is behind it
    std::string message;

    // This error as seen from one level up: "where: message".
    [[nodiscard]] Error at(std::string_view where) const&;
    [[nodiscard]] Error at(std::string_view where) &&;
};

template <class T>
using Result = std::expected<T, Error>;

// "what: <strerror>"; EACCES and EPERM become kPermission, ENOENT kNotFound, ENOMEM/EMFILE/ENFILE/ENOSPC kExhausted.
[[nodiscard]] Error errno_error(int error_number, std::string_view what);

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
    return std::unexpected(Error{code, 0, std::move(message)});
}
[[nodiscard]] inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }
[[nodiscard]] std::unexpected<Error> fail_errno(int error_number, std::string_view what);

}  // namespace perfvigil
