// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_names.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <chrono>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kKernelDso = "[kernel.kallsyms]";
// Reading costs 30 ms, and a host that loads BPF programs all day must not make us pay it all day.
constexpr std::chrono::seconds kAfterChange{2};
constexpr std::chrono::seconds kAfterMiss{60};
constexpr std::size_t kMaxSnapshots = 4;

// A file of /proc is this host's, whoever names it.
bool is_of_this_host(const std::string& path) {
    struct statfs fs{};
    return ::statfs(path.c_str(), &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

KernelNames::KernelNames(std::string kallsyms, const Clock& clock) : kallsyms_(std::move(kallsyms)), clock_(clock) {}

KernelNames::KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host,
                         const collector::HostFacts& facts, const KernelSymbolCopies& copies)
    : kallsyms_(std::move(kallsyms)), clock_(clock) {
    given_ = copies.given && !is_of_this_host(*copies.given);
    if (copies.given) kallsyms_ = *copies.given;
    if (given_ || same_boot(host, facts)) {
        scope_ = Scope::kEverything;
    } else if (copies.cached) {
        kallsyms_ = *copies.cached;
        scope_ = Scope::kCoreText;
    } else {
        scope_ = same_kernel(host, facts) ? Scope::kCoreText : Scope::kNothing;
    }
    capture_.emplace();
    capture_->kernel_start = facts.kernel_start;
    capture_->kernel_reference = facts.kernel_reference;
    capture_->modules = facts.modules;
    for (auto& module : capture_->modules) module.name = '[' + escape(module.name) + ']';
}

// The module tells the Dso even where nothing tells the function.
Symbol KernelNames::unknown(UnknownReason reason, RuntimeAddress address) const {
    Symbol symbol{.name = {}, .dso = kKernelDso, .start = 0, .size = 0, .reason = reason};
    if (!capture_) return symbol;
    for (const auto& module : capture_->modules) {
        if (address.value >= module.start && address.value - module.start < module.size) symbol.dso = module.name;
    }
    return symbol;
}

Symbol KernelNames::resolve(RuntimeAddress address) {
    if (scope_ == Scope::kNothing) return unknown(UnknownReason::kBuildIdMismatch, address);
    if (!tried_ || (changed_ && may_read_again())) read();
    if (scope_ == Scope::kNothing) return unknown(UnknownReason::kBuildIdMismatch, address);
    if (snapshots_.empty() || snapshots_.back()->hidden()) return unknown(UnknownReason::kKernelHidden, address);

    const RuntimeAddress here{address.value + shift_};
    if (scope_ == Scope::kCoreText && !snapshots_.back()->in_core_text(here)) {
        return unknown(UnknownReason::kBuildIdMismatch, address);
    }
    auto found = find(here);
    if (!found && !capture_ && clock_.monotonic() - last_read_ >= kAfterMiss) {
        read();  // code that was not there when we looked last
        found = find(here);
    }
    if (!found) return unknown(UnknownReason::kOutsideSymbols, address);
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
    if (given_) {
        if (!loaded) return refuse_copy(loaded.error().message);
        if (loaded->hidden()) return refuse_copy(kallsyms_ + ": every address in it is zero: copy it with CAP_SYSLOG");
        if (loaded->size() == 0) return refuse_copy(kallsyms_ + ": neither a kallsyms file nor a System.map");
        return take(std::move(*loaded));
    }
    if (!loaded) {
        degraded_ = explain_hidden_kernel(&loaded.error());
        return;
    }
    degraded_.reset();
    if (loaded->hidden()) degraded_ = explain_hidden_kernel();
    take(std::move(*loaded));
}

void KernelNames::take(KernelSymbols symbols) {
    if (snapshots_.size() == kMaxSnapshots) return;
    snapshots_.push_back(std::make_unique<const KernelSymbols>(std::move(symbols)));
    if (capture_) relocate();
}

void KernelNames::refuse_copy(std::string why) {
    scope_ = Scope::kNothing;
    copy_error_ = Error{ErrorCode::kInvalid, 0, std::move(why)};
}

void KernelNames::relocate() {
    // Within one boot nothing has moved. Across boots everything hangs on one symbol whose address both sides know.
    if (scope_ == Scope::kEverything && !given_) return;
    // A capture that does not say where its kernel lay has nothing to hold against the copy it is given.
    if (given_ && capture_->kernel_start == 0) return;
    const auto reference = snapshots_.back()->address_of(capture_->kernel_reference);
    if (!reference && given_) {
        return refuse_copy(kallsyms_ + ": has no symbol " + escape(capture_->kernel_reference) +
                           ", by which the capture says where its kernel lay");
    }
    if (!reference || capture_->kernel_start == 0) {
        scope_ = Scope::kNothing;
        return;
    }
    shift_ = reference->value - capture_->kernel_start;
    // Linked or booted to another place: what it says of modules is of another boot.
    if (given_ && shift_ != 0) scope_ = Scope::kCoreText;
}

std::vector<collector::KernelTextRange> KernelNames::text_ranges(const KernelSymbols::Classifier& classify) {
    const KernelSymbols* known = symbols();
    if (known == nullptr || known->hidden() || scope_ == Scope::kNothing) return {};
    auto ranges = known->text_ranges(classify);
    for (auto& range : ranges) {
        range.start -= shift_;
        range.end -= shift_;
    }
    return ranges;
}

}  // namespace perfvigil::analyzer
