// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/host_names.hpp"

#include <sys/stat.h>

#include <chrono>

namespace perfvigil::analyzer {
namespace {

std::uint8_t class_of(std::string_view name) { return static_cast<std::uint8_t>(KernelText::class_of_symbol(name)); }

HostSymbolizerOptions options_for(const collector::CaptureReader& capture, const SymbolSources& sources) {
    HostSymbolizerOptions options;
    options.origin = Origin::kCapture;
    options.capture_host = capture.host();
    options.build_ids = capture.build_ids();
    options.sources = sources;
    struct stat status{};
    if (::stat(capture.name().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        options.capture_written =
            WallTime(std::chrono::seconds(status.st_mtim.tv_sec)) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
    }
    return options;
}

}  // namespace

HostNames::HostNames(const Clock& clock)
    : child_({}, clock),
      opener_(Origin::kLive, {}, opened_files_limits(), clock),
      symbolizer_({}, opener_, child_, clock) {}

HostNames::HostNames(const Clock& clock, const collector::CaptureReader& capture, const SymbolSources& sources)
    : child_({}, clock),
      opener_(Origin::kCapture, {}, opened_files_limits(), clock),
      symbolizer_(options_for(capture, sources), opener_, child_, clock) {}

std::vector<collector::KernelTextRange> kernel_text_ranges(const KernelSymbols* symbols) {
    if (symbols == nullptr || symbols->hidden()) return {};
    return symbols->text_ranges(class_of);
}

std::vector<collector::KernelTextRange> capture_text_ranges(const collector::HostFacts& capture, KernelNames& names) {
    if (!capture.text_ranges.empty()) return capture.text_ranges;
    return names.text_ranges(class_of);
}

}  // namespace perfvigil::analyzer
