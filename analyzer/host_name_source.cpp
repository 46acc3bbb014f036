// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/host_name_source.hpp"

#include <utility>

namespace perfvigil::analyzer {

std::vector<collector::KernelTextRange> HostNameSource::kernel_text() {
    return capture_text_ranges(reader_.host(), names_.names().symbolizer().kernel());
}

CodeFrames HostNameSource::frames_of(const std::vector<SampledCode>& codes, DebugScope scope) {
    return code_frames(codes, scope, names_.names());
}

std::vector<JitCode> HostNameSource::jit_code(const collector::DsoRef& marker) {
    const JitDump* dump = names_.names().symbolizer().jit().dump_of(*marker);
    return dump == nullptr ? std::vector<JitCode>{} : jit_code_of(*dump);
}

Result<void> HostNameSource::usable() {
    if (const auto& error = names_.names().symbolizer().kernel().copy_error()) return fail(*error);
    return {};
}

std::vector<std::string> HostNameSource::refusals() { return names_.names().symbolizer().refusals(); }

std::vector<collector::Degraded> HostNameSource::degraded() { return names_.names().symbolizer().degraded(); }

std::vector<std::string> HostNameSource::notes() {
    ModuleSymbols* modules = names_.names().symbolizer().kernel().modules();
    if (modules == nullptr) return {};
    auto sentence = modules->sentence();
    if (sentence.empty()) return {};
    return {std::move(sentence)};
}

}  // namespace perfvigil::analyzer
