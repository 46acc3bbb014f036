// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_names.hpp"

#include <linux/magic.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "analyzer/symbols/kernel_dso.hpp"
#include "analyzer/symbols/regular_file.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Reading costs 30 ms, and a host that loads BPF programs all day must not make us pay it all day.
constexpr std::chrono::seconds kAfterChange{2};
constexpr std::chrono::seconds kAfterMiss{60};
constexpr std::chrono::seconds kBetweenLooks{1};  // at /proc/modules
constexpr std::size_t kMaxSnapshots = 4;

std::string running_release() {
    utsname names{};
    return ::uname(&names) == 0 ? names.release : "";
}

// A file of /proc is this host's, whoever names it.
bool is_of_this_host(const std::string& path) {
    struct statfs fs{};
    return ::statfs(path.c_str(), &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

// Other recorders do not say where sections lie, but in the same boot a module of that name and place is the same.
std::vector<collector::KernelModule> completed(std::vector<collector::KernelModule> modules, const std::string& root) {
    const auto lacks = [](const collector::KernelModule& m) { return m.sections.empty() || m.build_id.empty(); };
    if (std::ranges::none_of(modules, lacks)) return modules;
    for (const auto& now : collector::read_kernel_modules(root, running_release())) {
        for (auto& module : modules) {
            if (!lacks(module) || module.name != now.name || module.start != now.start) continue;
            if (!module.build_id.empty() && module.build_id != now.build_id) continue;
            const auto path = module.path.starts_with('/') ? module.path : now.path;
            module = now;
            module.path = path;
        }
    }
    return modules;
}

}  // namespace

KernelNames::KernelNames(std::string kallsyms, const Clock& clock, std::optional<KernelFiles> files)
    : files_(std::move(files)), kallsyms_(std::move(kallsyms)), clock_(clock) {
    if (files_) modules_.emplace(files_->child, files_->sourced);
}

KernelNames::KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host,
                         const collector::HostFacts& facts, const KernelSymbolCopies& copies,
                         std::optional<KernelFiles> files)
    : KernelNames(std::move(kallsyms), clock, std::move(files)) {
    given_ = copies.given && !is_of_this_host(*copies.given);
    given_vmlinux_ = copies.vmlinux;
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
    capture_->kernel_build_id = facts.kernel_build_id;
    capture_->os_release = facts.os_release;
    capture_->kernel_start = facts.kernel_start;
    capture_->kernel_reference = facts.kernel_reference;
    capture_->modules = facts.modules;
    if (modules_)
        modules_->set_modules(same_boot(host, facts) ? completed(facts.modules, files_->root) : facts.modules);
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
    look_for_new_modules();
    if (!capture_ && (!tried_ || (changed_ && may_read_again()))) read();
    if (auto symbol = in_vmlinux(address)) return *symbol;
    // A given copy's word is taken, of modules too.
    if (!given_) {
        if (auto symbol = in_module(address)) return *symbol;
        return in_kallsyms(address);
    }
    Symbol symbol = in_kallsyms(address);
    if (symbol.reason != UnknownReason::kNone) {
        if (auto by_file = in_module(address)) return *by_file;
    }
    return symbol;
}

std::optional<Symbol> KernelNames::in_vmlinux(RuntimeAddress address) {
    if (!capture_ || (!given_vmlinux_ && scope_ != Scope::kNothing)) return std::nullopt;
    const VmlinuxSymbols* image = vmlinux();
    if (image == nullptr || !image->in_core_text(address)) return std::nullopt;
    const auto found = image->find(address);
    if (!found) return unknown(UnknownReason::kOutsideSymbols, address);
    return Symbol{.name = found->name, .dso = kKernelDso, .start = found->start.value, .size = found->size};
}

// nullopt: no file tells.
std::optional<Symbol> KernelNames::in_module(RuntimeAddress address) {
    if (!modules_) return std::nullopt;
    const auto answer = modules_->find(address);
    switch (answer.kind) {
        case ModuleSymbols::Kind::kFunction:
            return Symbol{.name = answer.name, .dso = answer.dso, .start = answer.start.value, .size = answer.size};
        case ModuleSymbols::Kind::kGap:
            return Symbol{.name = {}, .dso = answer.dso, .reason = UnknownReason::kOutsideSymbols};
        case ModuleSymbols::Kind::kElsewhere:
        case ModuleSymbols::Kind::kNoFile:
        case ModuleSymbols::Kind::kNoModule: break;
    }
    return std::nullopt;
}

Symbol KernelNames::in_kallsyms(RuntimeAddress address) {
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

// The kernel tells nobody of a module that comes, and a recorder may have ended before it could tell us.
void KernelNames::look_for_new_modules() {
    if (capture_ || !watch_ || clock_.monotonic() - last_look_ < kBetweenLooks) return;
    last_look_ = clock_.monotonic();
    if (!watch_->news().empty()) changed_ = true;
}

const VmlinuxSymbols* KernelNames::vmlinux() {
    if (!std::exchange(vmlinux_tried_, true) && capture_ && files_) load_vmlinux();
    return vmlinux_ ? &*vmlinux_ : nullptr;
}

void KernelNames::load_vmlinux() {
    const auto refuse = [&](const Error& error) { copy_error_ = Error(error).at(*given_vmlinux_).at("--vmlinux"); };
    OpenedFileRef file;
    if (given_vmlinux_) {
        auto opened = open_regular_at(*given_vmlinux_, RemoteFiles::kAllow);
        if (!opened) return refuse(opened.error());
        file = std::move(*opened);
    } else {
        file = files_->sourced.vmlinux_of(capture_->kernel_build_id, capture_->os_release);
        if (file == nullptr) return;
    }
    auto loaded = VmlinuxSymbols::load(files_->child, std::move(file), *capture_);
    if (loaded)
        vmlinux_.emplace(std::move(*loaded));
    else if (given_vmlinux_)
        refuse(loaded.error());
}

std::optional<KernelSymbols::Function> KernelNames::find(RuntimeAddress address) const {
    for (auto snapshot = snapshots_.rbegin(); snapshot != snapshots_.rend(); ++snapshot) {
        if (const auto found = (*snapshot)->find(address)) return found;
    }
    return std::nullopt;
}

void KernelNames::begin_window() {
    if (modules_) modules_->begin_window();
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
    if (!capture_ && modules_) {
        const auto release = running_release();
        if (!watch_) watch_.emplace(files_->root, release);
        modules_->set_modules(collector::read_kernel_modules(files_->root, release));
    }
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
    copy_error_ = Error{ErrorCode::kInvalid, 0, "--kallsyms: " + std::move(why)};
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
    auto shift = shift_;
    if (known == nullptr || known->hidden() || scope_ == Scope::kNothing) {
        const VmlinuxSymbols* image = capture_ ? vmlinux() : nullptr;
        if (image == nullptr) return {};
        known = &image->symbols();
        shift = image->shift();
    }
    auto ranges = known->text_ranges(classify);
    for (auto& range : ranges) {
        range.start -= shift;
        range.end -= shift;
    }
    return ranges;
}

}  // namespace perfvigil::analyzer
