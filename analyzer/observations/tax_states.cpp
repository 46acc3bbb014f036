// SPDX-License-Identifier: GPL-2.0-or-later
// Which taxes are in force. The texts of vulnerabilities/: arch/x86/kernel/cpu/bugs.c, as far back as 4.15.
#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/tax.hpp"

namespace perfvigil::analyzer {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string quoted(std::string_view file, std::string_view state) { return fmt::format("{} is \"{}\"", file, state); }

using Why = std::optional<std::string>;

// "Vulnerable: Safe RET, no microcode" runs the thunks too: they cost, and do not protect fully.
Why srso(const ProfileHost& host) {
    const auto state = vulnerability(host, "spec_rstack_overflow");
    const bool on = contains(state, "Safe RET") || state.starts_with("Mitigation: safe RET");
    // "Vulnerable: Microcode, no safe RET" has none.
    return on ? Why(quoted("spec_rstack_overflow", state)) : std::nullopt;
}

Why retbleed(const ProfileHost& host) {
    const auto state = vulnerability(host, "retbleed");
    const bool on = contains(state, "untrained return thunk") || contains(state, "Stuffing");
    return on ? Why(quoted("retbleed", state)) : std::nullopt;
}

Why retpoline(const ProfileHost& host) {
    const auto state = vulnerability(host, "spectre_v2");
    // "Full generic retpoline", "Retpolines", "Enhanced / Automatic IBRS + Retpolines", "LFENCE".
    const bool on = contains(state, "etpoline") || state.starts_with("Mitigation: LFENCE");
    return on && !state.starts_with("Not affected") ? Why(quoted("spectre_v2", state)) : std::nullopt;
}

Why its(const ProfileHost& host) {
    const auto state = vulnerability(host, "indirect_target_selection");
    return state.starts_with("Mitigation") ? Why(quoted("indirect_target_selection", state)) : std::nullopt;
}

Why bhi(const ProfileHost& host) {
    const auto state = vulnerability(host, "spectre_v2");
    return contains(state, "SW loop") ? Why(quoted("spectre_v2", state)) : std::nullopt;
}

Why ibpb(const ProfileHost& host) {
    for (const std::string_view file : {"spec_rstack_overflow", "retbleed", "vmscape", "spectre_v2"}) {
        const auto state = vulnerability(host, file);
        if (state.starts_with("Mitigation") && contains(state, "IBPB") && !contains(state, "IBPB: disabled")) {
            return quoted(file, state);
        }
    }
    return std::nullopt;
}

Why l1d_flush(const ProfileHost& host) {
    const auto state = vulnerability(host, "l1tf");
    return state.starts_with("Mitigation") && contains(state, "flush") ? Why(quoted("l1tf", state)) : std::nullopt;
}

// A boolean on the command line beats the configuration's default.
Why initialization(const ProfileHost& host, std::string_view parameter, std::string_view option) {
    if (const auto value = kernel_parameter(host, parameter)) {
        const bool on = *value == "1" || *value == "on" || *value == "y" || *value == "yes";
        return on ? Why(fmt::format("{}={} is on the kernel command line", parameter, *value)) : std::nullopt;
    }
    if (kernel_option(host, option) == "y") return fmt::format("the kernel was built with {}=y", option);
    return std::nullopt;
}

}  // namespace

TaxStates::TaxStates(const ProfileHost& host) {
    const auto set = [&](Tax tax, Why why) { why_[index_of(tax)] = std::move(why); };
    set(Tax::kSrso, srso(host));
    set(Tax::kRetbleed, retbleed(host));
    set(Tax::kRetpoline, retpoline(host));
    set(Tax::kIts, its(host));
    set(Tax::kBhi, bhi(host));
    set(Tax::kIbpb, ibpb(host));
    set(Tax::kL1dFlush, l1d_flush(host));
    set(Tax::kInitOnAlloc, initialization(host, "init_on_alloc", "CONFIG_INIT_ON_ALLOC_DEFAULT_ON"));
    set(Tax::kInitOnFree, initialization(host, "init_on_free", "CONFIG_INIT_ON_FREE_DEFAULT_ON"));
    // These exist only in kernels built for them, and run only where they are on: their samples are the proof.
    set(Tax::kUsercopy, "its functions were sampled");
    set(Tax::kStackErase, "its functions were sampled");
    for (std::size_t i = index_of(Tax::kKasan); i < kTaxes; ++i) why_[i] = "its functions were sampled";
    // One symbol, three uses; where several are in force the kernel prefers them in this order.
    for (const Tax tax : {Tax::kSrso, Tax::kRetbleed, Tax::kIts}) {
        if (!return_thunk_ && in_force(tax)) return_thunk_ = tax;
    }
}

}  // namespace perfvigil::analyzer
