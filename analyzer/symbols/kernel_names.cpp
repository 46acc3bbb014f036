// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_names.hpp"

#include <chrono>

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kKernelDso = "[kernel.kallsyms]";
// Reading costs 30 ms, and a host that loads BPF programs all day must not make us pay it all day.
constexpr std::chrono::seconds kAfterChange{2};
constexpr std::chrono::seconds kAfterMiss{60};
constexpr std::size_t kMaxSnapshots = 4;

Symbol unknown(UnknownReason reason) {
    return {.name = {}, .dso = kKernelDso, .start = 0, .size = 0, .reason = reason};
}

}  // namespace

KernelNames::KernelNames(std::string kallsyms, const Clock& clock) : kallsyms_(std::move(kallsyms)), clock_(clock) {}

KernelNames::KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host,
                         const collector::HostFacts& facts)
    : kallsyms_(std::move(kallsyms)), clock_(clock) {
    if (same_boot(host, facts)) {
        scope_ = Scope::kEverything;
    } else {
        scope_ = same_kernel(host, facts) ? Scope::kCoreText : Scope::kNothing;
    }
    capture_.emplace();
    capture_->kernel_start = facts.kernel_start;
    capture_->kernel_reference = facts.kernel_reference;
}

Symbol KernelNames::resolve(RuntimeAddress address) {
    if (scope_ == Scope::kNothing) return unknown(UnknownReason::kBuildIdMismatch);
    if (!tried_ || (changed_ && may_read_again())) read();
    if (snapshots_.empty() || snapshots_.back()->hidden()) return unknown(UnknownReason::kKernelHidden);
    if (scope_ == Scope::kNothing) return unknown(UnknownReason::kBuildIdMismatch);

    const RuntimeAddress here{address.value + shift_};
    if (scope_ == Scope::kCoreText && !snapshots_.back()->in_core_text(here)) {
        return unknown(UnknownReason::kBuildIdMismatch);
    }
    auto found = find(here);
    if (!found && !capture_ && clock_.monotonic() - last_read_ >= kAfterMiss) {
        read();  // code that was not there when we looked last
        found = find(here);
    }
    if (!found) return unknown(UnknownReason::kOutsideSymbols);
    return {.name = found->name,
            .dso = found->dso,
            .start = found->start.value - shift_,
            .size = found->size,
            .reason = UnknownReason::kNone};
}

std::optional<KernelSymbols::Function> KernelNames::find(RuntimeAddress address) const {
    for (auto snapshot = snapshots_.rbegin(); snapshot != snapshots_.rend(); ++snapshot) {
        if (const auto found = (*snapshot)->find(address)) return found;
    }
    return std::nullopt;
}

void KernelNames::begin_window() {
    if (snapshots_.size() > 1) snapshots_.erase(snapshots_.begin(), snapshots_.end() - 1);
    if (snapshots_.empty() && clock_.monotonic() - last_read_ >= kAfterMiss) tried_ = false;
}

const KernelSymbols* KernelNames::symbols() {
    if (!tried_ || (changed_ && may_read_again())) read();
    return snapshots_.empty() ? nullptr : snapshots_.back().get();
}

bool KernelNames::may_read_again() const {
    return !capture_ && snapshots_.size() < kMaxSnapshots && clock_.monotonic() - last_read_ >= kAfterChange;
}

void KernelNames::read() {
    tried_ = true;
    changed_ = false;
    last_read_ = clock_.monotonic();
    ++readings_;
    auto loaded = KernelSymbols::load(kallsyms_);
    if (!loaded) {
        degraded_ = explain_hidden_kernel(&loaded.error());
        return;
    }
    degraded_.reset();
    if (loaded->hidden()) degraded_ = explain_hidden_kernel();
    if (snapshots_.size() == kMaxSnapshots) return;
    snapshots_.push_back(std::make_unique<const KernelSymbols>(std::move(*loaded)));
    if (capture_) relocate();
}

void KernelNames::relocate() {
    // Within one boot nothing has moved. Across boots everything hangs on one symbol whose address both sides know.
    if (scope_ == Scope::kEverything) return;
    const auto reference = snapshots_.back()->address_of(capture_->kernel_reference);
    if (!reference || capture_->kernel_start == 0) {
        scope_ = Scope::kNothing;
        return;
    }
    shift_ = reference->value - capture_->kernel_start;
}

}  // namespace perfvigil::analyzer
