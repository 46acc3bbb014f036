// SPDX-License-Identifier: GPL-2.0-or-later
// The unwind tables of files, read by the symbol child when a stack first leads through them: of the very file that was
// mapped (HostSymbolizer::file_of), and where that has no rule of the separate debug file with its build-id. One table
// per file however many processes map it; bounded in bytes, the least recently used go. What could not be had is
// remembered, and told at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/unwind/stack_unwinder.hpp"

namespace perfvigil::analyzer {

class UnwindTables final : public UnwindSource {
public:
    UnwindTables(HostSymbolizer& symbolizer, SymbolChild& child, std::size_t max_bytes = 512U << 20)
        : symbolizer_(symbolizer), child_(child), max_bytes_(max_bytes), known_(kKnown) {}
    explicit UnwindTables(HostNames& names, std::size_t max_bytes = 512U << 20)
        : UnwindTables(names.symbolizer(), names.child(), max_bytes) {}

    [[nodiscard]] const UnwindRule* rule_at(const collector::DsoRef& dso, std::uint64_t offset,
                                            UnwindMachine machine) override;
    void guessed(const collector::DsoRef& dso) override;
    void stopped(const collector::DsoRef& dso) override;
    void next_sample() override;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t table_count() const { return tables_.size(); }
    // What the reader should know, in whole sentences: how many steps were guessed and how many chains end early, and
    // the files that had no table for them.
    [[nodiscard]] std::vector<std::string> sentences() const;

private:
    struct Table {
        std::optional<FileUnwind> own;
        std::optional<FileUnwind> debug;
        bool debug_tried = false;
        BuildId build_id;
        std::uint64_t last_used = 0;  // number of the sample

        [[nodiscard]] std::size_t bytes() const { return (own ? own->bytes() : 0) + (debug ? debug->bytes() : 0); }
    };
    struct DsoState {
        std::shared_ptr<Table> table;
        bool tried = false;
        std::string why;  // there is no table
        std::uint64_t guessed = 0;
        std::uint64_t stopped = 0;
        std::string path;

        [[nodiscard]] std::uint64_t missed() const { return guessed + stopped; }
    };

    // What an address came to last time, direct mapped.
    struct Known {
        collector::DsoId dso{};
        UnwindMachine machine = UnwindMachine::kOther;
        std::uint64_t offset = 0;
        const UnwindRule* rule = nullptr;
        Table* table = nullptr;
    };
    static constexpr std::size_t kKnown = 16384;

    DsoState& state_of(const collector::DsoRef& dso);
    [[nodiscard]] const UnwindRule* find(const collector::DsoRef& dso, std::uint64_t offset, UnwindMachine machine,
                                         Table*& found);
    void load(const collector::Dso& dso, DsoState& state);
    [[nodiscard]] Result<std::shared_ptr<Table>> table_of(const OpenedFile& file);
    void load_debug(Table& table);
    void make_room();

    HostSymbolizer& symbolizer_;
    SymbolChild& child_;
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::uint64_t sample_ = 0;
    boost::unordered_flat_map<collector::DsoId, std::unique_ptr<DsoState>> dsos_;
    boost::unordered_flat_map<std::string, std::shared_ptr<Table>> tables_;  // by identity of the file
    std::vector<Known> known_;
};

}  // namespace perfvigil::analyzer
