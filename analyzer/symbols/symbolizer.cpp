// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/symbolizer.hpp"

namespace perfvigil::analyzer {

std::string_view reason_name(UnknownReason reason) {
    switch (reason) {
        case UnknownReason::kNone: return "none";
        case UnknownReason::kNoFile: return "no_file";
        case UnknownReason::kBuildIdMismatch: return "build_id_mismatch";
        case UnknownReason::kNoSymbols: return "stripped";
        case UnknownReason::kOutsideSymbols: return "outside_symbols";
        case UnknownReason::kAnonymous: return "anonymous";
        case UnknownReason::kKernelHidden: return "kernel_hidden";
        case UnknownReason::kUnreadable: return "unreadable";
        case UnknownReason::kPending: return "pending";
        case UnknownReason::kUnmapped: return "unmapped";
    }
    return "none";
}

}  // namespace perfvigil::analyzer
