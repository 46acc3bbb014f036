// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/host_names.hpp"

namespace perfvigil::analyzer {
namespace {

HostSymbolizerOptions options_for(const collector::CaptureReader& capture) {
    HostSymbolizerOptions options;
    options.origin = Origin::kCapture;
    options.capture_host = capture.host();
    options.build_ids = capture.build_ids();
    return options;
}

}  // namespace

HostNames::HostNames(const Clock& clock)
    : child_({}, clock),
      opener_(Origin::kLive, {}, opened_files_limits(), clock),
      symbolizer_({}, opener_, child_, clock) {}

HostNames::HostNames(const Clock& clock, const collector::CaptureReader& capture)
    : child_({}, clock),
      opener_(Origin::kCapture, {}, opened_files_limits(), clock),
      symbolizer_(options_for(capture), opener_, child_, clock) {}

std::vector<collector::KernelTextRange> kernel_text_ranges(const KernelSymbols* symbols) {
    if (symbols == nullptr || symbols->hidden()) return {};
    return symbols->text_ranges(
        [](std::string_view name) { return static_cast<std::uint8_t>(KernelText::class_of_symbol(name)); });
}

std::vector<collector::KernelTextRange> capture_text_ranges(const collector::HostFacts& capture, const ThisHost& host,
                                                            const KernelSymbols* symbols) {
    if (!capture.text_ranges.empty()) return capture.text_ranges;
    if (!same_kernel(host, capture) || symbols == nullptr || capture.kernel_start == 0) return {};
    const auto reference = symbols->address_of(capture.kernel_reference);
    if (!reference) return {};
    auto ranges = kernel_text_ranges(symbols);
    for (auto& range : ranges) {
        range.start += capture.kernel_start - reference->value;
        range.end += capture.kernel_start - reference->value;
    }
    return ranges;
}

}  // namespace perfvigil::analyzer
