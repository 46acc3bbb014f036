// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/vmlinux_symbols.hpp"

#include <utility>

#include "base/text.hpp"

namespace perfvigil::analyzer {

Result<VmlinuxSymbols> VmlinuxSymbols::load(SymbolChild& child, OpenedFileRef file,
                                            const collector::HostFacts& capture) {
    const auto invalid = [](std::string why) { return fail(ErrorCode::kInvalid, std::move(why)); };
    if (capture.kernel_build_id.empty())
        return invalid("the capture does not say which kernel it is of (its build-id)");
    if (file->build_id != capture.kernel_build_id) {
        return invalid("its build-id is " + (file->build_id.empty() ? std::string("none") : file->build_id.hex()) +
                       ", that of the recorded kernel " + capture.kernel_build_id.hex());
    }
    const auto table = child.read_debug_file(file->fd.get());
    if (!table) return fail(table.error());
    if (table->state() != FileState::kFunctions) return invalid("it has no symbols");
    auto symbols = KernelSymbols::from_file(*table);
    const auto reference = symbols.address_of(capture.kernel_reference);
    if (!reference || capture.kernel_start == 0) {
        return invalid("it has no symbol " + escape(capture.kernel_reference) +
                       ", or the capture does not say where that lay");
    }
    return VmlinuxSymbols(std::move(file), std::move(symbols), reference->value - capture.kernel_start);
}

std::optional<KernelSymbols::Function> VmlinuxSymbols::find(RuntimeAddress address) const {
    auto function = symbols_.find(RuntimeAddress{address.value + shift_});
    if (function) function->start.value -= shift_;
    return function;
}

bool VmlinuxSymbols::in_core_text(RuntimeAddress address) const {
    return symbols_.in_core_text(RuntimeAddress{address.value + shift_});
}

}  // namespace perfvigil::analyzer
