// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/host_symbolizer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "analyzer/symbols/vdso_image.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/vdso_name.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::chrono::seconds kRetryPending{1};
constexpr std::chrono::seconds kRetryMissing{10};
constexpr std::string_view kJitDso = "[jit]";

Symbol unknown(UnknownReason reason, std::string_view dso) {
    return {.name = {}, .dso = dso, .start = 0, .size = 0, .reason = reason};
}

// The legacy page has three entries, 1 KiB apart (arch/x86/entry/vsyscall/vsyscall_emu_64.S).
Symbol resolve_vsyscall(std::uint64_t address) {
    constexpr std::string_view kDso = "[vsyscall]";
    constexpr std::uint64_t kPage = 0xffffffffff600000U;
    constexpr std::uint64_t kStride = 1024;
    constexpr std::array<std::string_view, 3> kNames{"vgettimeofday", "vtime", "vgetcpu"};
    const auto index = (address - kPage) / kStride;
    if (address < kPage || index >= kNames.size()) return unknown(UnknownReason::kOutsideSymbols, kDso);
    return {.name = kNames[index], .dso = kDso, .start = kPage + index * kStride, .size = kStride};
}

KernelNames kernel_names(const HostSymbolizerOptions& options, const ThisHost& host, SourcedFiles& sourced,
                         SymbolChild& child, const Clock& clock) {
    const KernelFiles files{.child = child, .sourced = sourced, .root = options.root};
    if (options.origin == Origin::kLive) return KernelNames(options.kallsyms, clock, files);
    const KernelSymbolCopies copies{.given = options.sources.kallsyms,
                                    .cached = sourced.kallsyms_of(options.capture_host.kernel_build_id),
                                    .vmlinux = options.sources.vmlinux};
    return KernelNames(options.kallsyms, clock, host, options.capture_host, copies, files);
}

SymbolSources sources_for(const HostSymbolizerOptions& options) {
    if (options.origin == Origin::kCapture) return options.sources;
    return {.symfs = {},
            .kallsyms = {},
            .vmlinux = {},
            .buildid_dir = "",
            .debug_dirs = options.sources.debug_dirs,
            .debuginfod = options.sources.debuginfod};
}

JitNamesOptions jit_options(const HostSymbolizerOptions& options, const ThisHost& host) {
    return {.origin = options.origin,
            .this_boot = options.origin == Origin::kLive || same_boot(host, options.capture_host),
            .capture_start = options.capture_host.wall_reference,
            .proc = options.proc,
            .host_root = options.host_root,
            .bytes = options.jit_bytes};
}

// "…/jitted-PID-N.so": one function of a jitdump, written by perf inject --jit, after the recording by nature.
bool is_made_by_inject(std::string_view path) {
    const auto name = base_name(path);
    return name.starts_with("jitted-") && name.ends_with(".so");
}

UnknownReason reason_of(const Error& error) {
    if (error.code == ErrorCode::kInvalid) return UnknownReason::kBuildIdMismatch;
    return error.code == ErrorCode::kBusy ? UnknownReason::kPending : UnknownReason::kNoFile;
}

}  // namespace

HostSymbolizer::HostSymbolizer(HostSymbolizerOptions options, FileSource& files, SymbolChild& child, const Clock& clock)
    : options_(std::move(options)),
      files_(files),
      child_(child),
      clock_(clock),
      host_(options_.this_host ? *options_.this_host : read_this_host(clock)),
      sourced_(sources_for(options_)),
      kernel_(kernel_names(options_, host_, sourced_, child_, clock)),
      debuginfod_(options_.sources.debuginfod, clock),
      debug_files_(sourced_, files_, debuginfod_),
      tables_(child, options_.table_bytes, debug_files_),
      packages_(files_, child_),
      jit_(jit_options(options_, host_), files, clock) {
    for (const auto& known : options_.build_ids) build_ids_.emplace(known.path, known.build_id);
    options_.build_ids.clear();
}

HostSymbolizer::~HostSymbolizer() = default;

Symbol HostSymbolizer::resolve(const collector::DsoRef& dso, std::uint64_t offset) {
    auto found = find(dso, offset);
    if (found.table != nullptr) show(found);
    return found.symbol;
}

std::vector<Symbol> HostSymbolizer::resolve_all(std::span<const CodePlace> places) {
    std::vector<Found> all;
    all.reserve(places.size());
    boost::unordered_flat_map<FileTable*, std::vector<std::string_view>> mangled;
    for (const auto& place : places) {
        const auto& found = all.emplace_back(find(*place.dso, place.offset));
        if (found.table != nullptr && is_mangled(found.symbol.name)) mangled[found.table].push_back(found.symbol.name);
    }
    for (const auto& [table, names] : mangled) tables_.demangle(*table, names);
    std::vector<Symbol> symbols;
    symbols.reserve(all.size());
    for (auto& found : all) {
        if (found.table != nullptr) show(found);
        symbols.push_back(found.symbol);
    }
    return symbols;
}

void HostSymbolizer::show(Found& found) {
    if (const auto name = tables_.shown(*found.table, found.symbol.name))
        found.symbol.name = *name;
    else
        found.symbol = unknown(UnknownReason::kPending, found.symbol.dso);
}

HostSymbolizer::Found HostSymbolizer::find(const collector::DsoRef& dso, std::uint64_t offset) {
    switch (dso->kind) {
        case collector::DsoKind::kKernel: return {kernel_.resolve(RuntimeAddress{offset})};
        case collector::DsoKind::kKernelCode:
            return {{.name = dso->function, .dso = dso->path, .start = dso->start, .size = dso->size}};
        case collector::DsoKind::kFile: return find_in_file(*dso, offset);
        case collector::DsoKind::kVdso: return find_in_vdso(*dso, offset);
        case collector::DsoKind::kVsyscall: return {resolve_vsyscall(offset)};
        case collector::DsoKind::kAnonymous: return {resolve_anonymous(*dso, offset)};
        // Copies of single instructions, run out of line for a probe: the page has no functions.
        case collector::DsoKind::kUprobes: return {unknown(UnknownReason::kNoSymbols, "[uprobes]")};
    }
    return {unknown(UnknownReason::kUnmapped, "[unknown]")};
}

void HostSymbolizer::begin_window() {
    ++window_;
    kernel_.begin_window();
    tables_.begin_window(window_);
    jit_.begin_window();
    boost::unordered::erase_if(
        dsos_, [&](const auto& dso) { return window_ - dso.second->last_used > options_.forget_after_windows; });
}

std::vector<collector::Degraded> HostSymbolizer::degraded() const {
    std::vector<collector::Degraded> all;
    if (const auto& kernel = kernel_.degraded()) all.push_back(*kernel);
    if (const auto& error = tables_.child_error()) {
        all.push_back({.reason = "no_symbol_child",
                       .detail = "User functions have no names: " + error->message + ".",
                       .remedy = "Install perfvigil-symbols beside this program, where the package puts it."});
    }
    if (const auto& error = debuginfod_.error()) {
        all.push_back({.reason = "no_debuginfod",
                       .detail = "Debug files are not fetched: " + error->message + ".",
                       .remedy = "Install debuginfod-find (Debian: package debuginfod), or name no servers."});
    }
    return all;
}

HostSymbolizer::State& HostSymbolizer::state_of(const collector::Dso& dso) {
    auto& state = dsos_[dso.id];
    if (state == nullptr) {
        state = std::make_unique<State>();
        state->path = dso.path;
    }
    state->last_used = window_;
    return *state;
}

bool HostSymbolizer::due(const State& state) const {
    return !state.tried || (state.retry_at != MonotonicTime{} && clock_.monotonic() >= state.retry_at);
}

void HostSymbolizer::give_up(State& state, UnknownReason reason) {
    state.tried = true;
    state.reason = reason;
    state.retry_at = {};
    if (reason == UnknownReason::kPending) state.retry_at = clock_.monotonic() + kRetryPending;
    if (reason == UnknownReason::kNoFile) state.retry_at = clock_.monotonic() + kRetryMissing;
}

// --- files

HostSymbolizer::Found HostSymbolizer::find_in_file(const collector::Dso& dso, std::uint64_t offset) {
    State& state = state_of(dso);
    if (dso.build_id.empty() && pid_of_jit_marker(dso.path)) {
        return {resolve_jit(jit_.find_in_dump(dso, offset), state.path)};
    }
    auto table = state.table.lock();
    if (table == nullptr) {
        // A table that was evicted is read again: its Dso has been tried, but nothing stood in the way.
        if (due(state) || state.reason == UnknownReason::kNone) load_file(dso, state);
        table = state.table.lock();
    }
    if (table == nullptr) return {unknown(state.reason, state.path)};
    table->last_used = window_;
    return find_in_table(state, *table, offset);
}

HostSymbolizer::Found HostSymbolizer::find_in_table(State& state, FileTable& table, std::uint64_t offset) {
    if (!table.symbols || table.reason != UnknownReason::kNone) return {unknown(table.reason, state.path)};
    if (const auto function = table.find(FileOffset{offset})) {
        return {{.name = function->name, .dso = state.path, .start = function->start.value, .size = function->size},
                &table};
    }
    // With the dynamic symbols alone a gap says that the file is stripped, no more.
    return {unknown(table.has_symtab() ? UnknownReason::kOutsideSymbols : UnknownReason::kNoSymbols, state.path)};
}

void HostSymbolizer::load_file(const collector::Dso& dso, State& state) {
    auto reason = UnknownReason::kNone;
    const auto table = table_for(dso, reason);
    if (table == nullptr) return give_up(state, reason);
    state.tried = true;
    state.reason = UnknownReason::kNone;
    state.table = table;
    files_.release(dso);
}

const BuildId& HostSymbolizer::wanted_build_id(const collector::Dso& dso) const {
    if (!dso.build_id.empty()) return dso.build_id;
    const auto named = build_ids_.find(dso.path);
    return named == build_ids_.end() ? dso.build_id : named->second;
}

FileTableRef HostSymbolizer::table_for(const collector::Dso& dso, UnknownReason& reason) {
    collector::Dso wanted = dso;
    wanted.build_id = wanted_build_id(dso);
    if (auto known = tables_.find(wanted.build_id)) return known;
    const auto file = open(wanted);
    if (!file) {
        if (file.error().code == ErrorCode::kUnsupported) refuse(file.error().message);
        reason = reason_of(file.error());
        return reason == UnknownReason::kPending ? nullptr : table_without_file(wanted, reason);
    }
    auto table = tables_.load(**file, dso.path);
    if (table == nullptr) reason = UnknownReason::kPending;
    return table;
}

// The file is not here; its separate debug file may be, and a server may have either.
FileTableRef HostSymbolizer::table_without_file(const collector::Dso& wanted, UnknownReason& reason) {
    if (wanted.build_id.empty()) return nullptr;
    if (const auto debug = sourced_.debug_file_of(wanted.build_id)) {
        if (auto table = tables_.load_debug_alone(*debug)) return table;
        sourced_.note_debug_alone(wanted.path);
    }
    const auto fetched = debuginfod_.get(Debuginfod::Kind::kExecutable, wanted.build_id);
    if (fetched) {
        if (auto table = tables_.load(**fetched, wanted.path)) return table;
        reason = UnknownReason::kPending;
    } else if (fetched.error().code == ErrorCode::kBusy) {
        reason = UnknownReason::kPending;
    }
    return nullptr;
}

Result<OpenedFileRef> HostSymbolizer::file_of(const collector::Dso& dso) {
    if (dso.kind == collector::DsoKind::kVdso) return vdso_of(wanted_build_id(dso));
    collector::Dso wanted = dso;
    wanted.build_id = wanted_build_id(dso);
    return open(wanted);
}

Result<OpenedFileRef> HostSymbolizer::open(const collector::Dso& wanted) {
    if (auto sourced = sourced_.file_of(wanted)) return sourced;
    const bool by_identity = options_.origin == Origin::kCapture && wanted.build_id.empty();
    const auto until = by_identity ? identity_counts_until() : std::nullopt;
    if (by_identity && (wanted.inode == 0 || !until)) {
        return fail(ErrorCode::kNotFound, wanted.path + ": the capture says neither its build-id nor that it is ours");
    }
    auto file = files_.file_of(wanted);
    // Written to since: it may be another file under the same inode.
    if (file && until && (*file)->modified >= *until && !is_made_by_inject(wanted.path)) {
        return fail(ErrorCode::kInvalid, wanted.path + ": was changed since the recording");
    }
    return file;
}

std::optional<WallTime> HostSymbolizer::identity_counts_until() const {
    const collector::HostFacts& capture = options_.capture_host;
    if (same_boot(host_, capture)) return capture.wall_reference;
    const bool says_when = capture.wall_reference != WallTime{};
    if (says_when || !same_kernel(host_, capture) || host_.hostname != capture.hostname) return std::nullopt;
    return options_.capture_written;
}

FileFacts HostSymbolizer::describe(const collector::DsoRef& dso) {
    FileFacts facts{.build_id = wanted_build_id(*dso)};
    if (dso->kind != collector::DsoKind::kFile) return facts;
    State& state = state_of(*dso);
    if (state.facts) return *state.facts;
    const auto file = file_of(*dso);
    if (!file) return facts;
    if (facts.build_id.empty()) facts.build_id = (*file)->build_id;
    // A deleted file is what a package held once.
    const auto owner = packages_.owner_of(**file, dso->path);
    if (owner && *owner) {
        facts.package = (*owner)->name;
        facts.package_version = (*owner)->version;
    }
    if (owner) state.facts = facts;
    if (!state.table.expired()) files_.release(*dso);
    return facts;
}

// --- vDSO

HostSymbolizer::Found HostSymbolizer::find_in_vdso(const collector::Dso& dso, std::uint64_t offset) {
    State& state = state_of(dso);
    auto table = state.table.lock();
    if (table == nullptr && (due(state) || state.reason == UnknownReason::kNone)) {
        load_vdso(dso, state);
        table = state.table.lock();
    }
    if (table == nullptr) return {unknown(state.reason, state.path)};
    table->last_used = window_;
    return find_in_table(state, *table, offset);
}

void HostSymbolizer::load_vdso(const collector::Dso& dso, State& state) {
    const bool compat = dso.path == collector::kVdso32;
    const auto image = compat ? compat_vdso_of(wanted_build_id(dso)) : vdso_of(wanted_build_id(dso));
    if (!image) return give_up(state, reason_of(image.error()));
    const auto table = tables_.load(**image, dso.path);
    if (table == nullptr) return give_up(state, UnknownReason::kPending);
    state.tried = true;
    state.reason = UnknownReason::kNone;
    state.table = table;
}

// Ours where it is the recorded one, by its build-id or because the kernel is the same; else one that perf kept.
Result<OpenedFileRef> HostSymbolizer::vdso_of(const BuildId& build_id) const {
    const bool ours = options_.origin == Origin::kLive || same_kernel(host_, options_.capture_host);
    auto own = copy_own_vdso();
    if (own && (build_id.empty() ? ours : (*own)->build_id == build_id)) return own;
    if (auto cached = sourced_.vdso_of(build_id)) return cached;
    if (!own && ours) return own;
    return fail(ErrorCode::kInvalid, "the recorded vDSO is another one than this kernel's");
}

// Of 32-bit processes on a 64-bit kernel: only one that perf kept.
Result<OpenedFileRef> HostSymbolizer::compat_vdso_of(const BuildId& build_id) {
    if (auto cached = sourced_.vdso_of(build_id)) return cached;
    refuse(std::string(collector::kVdso32) +
           ": the vDSO of 32-bit programs, which is another one than this program's own");
    return fail(ErrorCode::kNotFound, "the vDSO of 32-bit programs is not to be had");
}

// --- code without a file

Symbol HostSymbolizer::resolve_anonymous(const collector::Dso& dso, std::uint64_t offset) {
    return resolve_jit(jit_.find(dso, offset), state_of(dso).path);
}

Symbol HostSymbolizer::resolve_jit(const std::expected<JitNames::Function, JitNames::Missing>& found,
                                   std::string_view nameless_dso) const {
    Symbol symbol;
    if (found) {
        symbol = {.name = found->name, .dso = kJitDso, .start = found->start, .size = found->size};
    } else if (found.error() == JitNames::Missing::kUncovered) {
        symbol = unknown(UnknownReason::kOutsideSymbols, kJitDso);
    } else {
        symbol = unknown(UnknownReason::kAnonymous, nameless_dso);
    }
    symbol.passing = true;
    return symbol;
}

void HostSymbolizer::refuse(const std::string& why) {
    constexpr std::size_t kMost = 8;
    auto sentence = escape(why) + ": its functions have no names.";
    const bool known = std::ranges::find(refused_, sentence) != refused_.end();
    if (!known && refused_.size() < kMost) refused_.push_back(std::move(sentence));
}

std::vector<std::string> HostSymbolizer::refusals() const {
    auto all = sourced_.refusals();
    all.insert(all.end(), refused_.begin(), refused_.end());
    all.insert(all.end(), jit_.refusals().begin(), jit_.refusals().end());
    all.insert(all.end(), packages_.refusals().begin(), packages_.refusals().end());
    return all;
}

}  // namespace perfvigil::analyzer
