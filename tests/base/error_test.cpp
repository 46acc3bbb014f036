// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace perfvigil {
namespace {

TEST(Error, TellsWhereFromTheOutsideIn) {
    const Error inner = errno_error(EACCES, "perf_event_open");
    const Error outer = inner.at("cycles").at("cpu 3");
    EXPECT_EQ(outer.message, "cpu 3: cycles: perf_event_open: Permission denied");
    EXPECT_EQ(outer.code, ErrorCode::kPermission);
    EXPECT_EQ(outer.error_number, EACCES);
    EXPECT_EQ(inner.message, "perf_event_open: Permission denied") << "at() on an lvalue copies";
}

TEST(Error, ErrnoDecidesTheCode) {
    struct Case {
        int error_number;
        ErrorCode code;
    };
    for (const auto& [number, code] : {Case{EACCES, ErrorCode::kPermission},
                                       {EPERM, ErrorCode::kPermission},
                                       {ENOENT, ErrorCode::kNotFound},
                                       {ESRCH, ErrorCode::kNotFound},
                                       {ENOMEM, ErrorCode::kExhausted},
                                       {EMFILE, ErrorCode::kExhausted},
                                       {ENFILE, ErrorCode::kExhausted},
                                       {ENOSPC, ErrorCode::kExhausted},
                                       {EBUSY, ErrorCode::kBusy},
                                       {EOPNOTSUPP, ErrorCode::kUnsupported},
                                       {EIO, ErrorCode::kIo}}) {
        EXPECT_EQ(errno_error(number, "x").code, code) << number;
    }
}

TEST(Error, FailMakesAResult) {
    const Result<int> bad = fail(ErrorCode::kInvalid, "no");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(bad.error().error_number, 0);
    const Result<int> from_errno = fail_errno(ENOENT, "/x");
    EXPECT_EQ(from_errno.error().message, "/x: No such file or directory");
    const Result<void> passed_on = fail(from_errno.error().at("store"));
    EXPECT_EQ(passed_on.error().message, "store: /x: No such file or directory");
}

}  // namespace
}  // namespace perfvigil
