// SPDX-License-Identifier: GPL-2.0-or-later
// Names from this host: kallsyms for the kernel, files opened in time and read by the symbol child for user code, our
// own vDSO, perf maps and jitdumps for code made at run time (JitNames).
//
//   live      every Dso is of this host, now
//   capture   a Dso gets names only from a file with its build-id; without one, only when the capture was made in this
//             very boot and device, inode and age agree. Anything else would put this host's names on foreign
//             addresses. What the caller points at comes first (SymbolSources). A capture that does not say when it
//             was made, as stock perf's, is taken for one of this host where host name and kernel agree, and its files
//             must be older than the capture itself.
//
// One owner. resolve() may block at the first address of a file: on the opener, then on the symbol child, each within a
// limit. Memory is bounded: tables in bytes, Dsos by how long they were not seen; both shrink in begin_window() only.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/debug_files.hpp"
#include "analyzer/symbols/debuginfod.hpp"
#include "analyzer/symbols/file_opener.hpp"
#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/jit_names.hpp"
#include "analyzer/symbols/kernel_names.hpp"
#include "analyzer/symbols/package_owners.hpp"
#include "analyzer/symbols/sourced_files.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "analyzer/symbols/symbol_sources.hpp"
#include "analyzer/symbols/symbol_tables.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/symbols/this_host.hpp"
#include "base/fd.hpp"
#include "collector/capture_reader.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

struct HostSymbolizerOptions {
    Origin origin = Origin::kLive;
    // kCapture: the recording host, and the build-ids that the file names by path (perf's BUILD_ID header).
    collector::HostFacts capture_host;
    std::vector<collector::CaptureBuildId> build_ids;
    // When the capture's file was last written; for captures that do not say what their clock means (stock perf's).
    std::optional<WallTime> capture_written;
    std::optional<ThisHost> this_host;  // empty: asked for
    SymbolSources sources{};            // kLive: of these the debug folders and servers alone

    std::size_t table_bytes = 256U << 20;
    std::size_t jit_bytes = 128U << 20;  // of perf maps and jitdumps
    unsigned forget_after_windows = 15;  // a Dso that no sample named for so long
    std::string kallsyms = "/proc/kallsyms";
    std::string proc = "/proc";
    std::string host_root = "/";
    std::string root;  // before /proc/modules, /sys/module and /lib/modules (tests)
};

class HostSymbolizer final : public Symbolizer {
public:
    HostSymbolizer(HostSymbolizerOptions options, FileSource& files, SymbolChild& child, const Clock& clock);
    ~HostSymbolizer() override;

    [[nodiscard]] Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override;
    [[nodiscard]] std::vector<Symbol> resolve_all(std::span<const CodePlace> places) override;
    // Opens the file once more where need be; may block as resolve() does.
    [[nodiscard]] FileFacts describe(const collector::DsoRef& dso) override;
    void begin_window() override;
    void begin_slice(MonotonicTime from, MonotonicTime to) override { jit_.begin_slice(from, to); }

    // Modules or BPF programs changed.
    void note_kernel_change() { kernel_.note_change(); }
    [[nodiscard]] const KernelSymbols* kernel_symbols() { return kernel_.symbols(); }
    [[nodiscard]] KernelNames& kernel() { return kernel_; }
    // Files that were found where a source pointed, and refused: one sentence each.
    [[nodiscard]] std::vector<std::string> refusals() const;
    [[nodiscard]] JitNames& jit() { return jit_; }
    // The file of a kFile or kVdso Dso that names came from, or would: its code. Errors as of FileSource::file_of.
    [[nodiscard]] Result<OpenedFileRef> file_of(const collector::Dso& dso);
    [[nodiscard]] OpenedFileRef debug_file_of(const BuildId& build_id) { return sourced_.debug_file_of(build_id); }
    // What names have to do without so far: hidden kernel addresses, no symbol child.
    [[nodiscard]] std::vector<collector::Degraded> degraded() const;

    [[nodiscard]] const Debuginfod& debuginfod() const { return debuginfod_; }
    [[nodiscard]] std::size_t table_bytes() const { return tables_.bytes(); }
    [[nodiscard]] std::size_t table_count() const { return tables_.count(); }
    [[nodiscard]] std::size_t dso_count() const { return dsos_.size(); }

private:
    // What is known of one Dso.
    struct State {
        std::string path;  // views of it are handed out
        std::weak_ptr<FileTable> table;
        UnknownReason reason = UnknownReason::kNone;  // while there is no table
        MonotonicTime retry_at{};
        bool tried = false;
        std::optional<FileFacts> facts;  // once they are known whole
        std::uint64_t last_used = 0;
    };

    // A symbol with the linker's name where it is of a table's function, else with the name to show.
    struct Found {
        Symbol symbol;
        FileTable* table = nullptr;
    };

    State& state_of(const collector::Dso& dso);
    [[nodiscard]] Found find(const collector::DsoRef& dso, std::uint64_t offset);
    void show(Found& found);
    [[nodiscard]] Found find_in_file(const collector::Dso& dso, std::uint64_t offset);
    [[nodiscard]] Found find_in_vdso(const collector::Dso& dso, std::uint64_t offset);
    [[nodiscard]] static Found find_in_table(State& state, FileTable& table, std::uint64_t offset);
    [[nodiscard]] Symbol resolve_anonymous(const collector::Dso& dso, std::uint64_t offset);
    [[nodiscard]] Symbol resolve_jit(const std::expected<JitNames::Function, JitNames::Missing>& found,
                                     std::string_view nameless_dso) const;
    void load_file(const collector::Dso& dso, State& state);
    void load_vdso(const collector::Dso& dso, State& state);
    [[nodiscard]] Result<OpenedFileRef> vdso_of(const BuildId& build_id) const;
    [[nodiscard]] Result<OpenedFileRef> compat_vdso_of(const BuildId& build_id);
    void refuse(const std::string& why);
    void give_up(State& state, UnknownReason reason);
    [[nodiscard]] bool due(const State& state) const;
    [[nodiscard]] FileTableRef table_for(const collector::Dso& dso, UnknownReason& reason);
    [[nodiscard]] FileTableRef table_without_file(const collector::Dso& wanted, UnknownReason& reason);
    [[nodiscard]] Result<OpenedFileRef> open(const collector::Dso& wanted);
    [[nodiscard]] const BuildId& wanted_build_id(const collector::Dso& dso) const;
    // Files of the same device and inode, unchanged since, are those that were mapped; nullopt: not even those.
    [[nodiscard]] std::optional<WallTime> identity_counts_until() const;

    HostSymbolizerOptions options_;
    FileSource& files_;
    SymbolChild& child_;
    const Clock& clock_;
    ThisHost host_;
    SourcedFiles sourced_;
    KernelNames kernel_;
    Debuginfod debuginfod_;
    DebugFiles debug_files_;
    SymbolTables tables_;
    PackageOwners packages_;
    boost::unordered_flat_map<collector::DsoId, std::unique_ptr<State>> dsos_;
    boost::unordered_flat_map<std::string, BuildId> build_ids_;  // of the capture, by path
    JitNames jit_;
    std::vector<std::string> refused_;  // sentences
    std::uint64_t window_ = 0;
};

}  // namespace perfvigil::analyzer
