// SPDX-License-Identifier: GPL-2.0-or-later
// Starts perfvigil-symbols, gives it one file after the other, and maps what comes back. The child may die of a file,
// or take too long and be killed: that costs the one file, the next one gets a new child, later each time it happens in
// a row. Blocks its caller, one owner (the analyst's thread, or the command line).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/child_protocol.hpp"
#include "analyzer/symbols/file_symbols.hpp"
#include "analyzer/symbols/inlined_frames.hpp"
#include "analyzer/symbols/module_question.hpp"
#include "analyzer/symbols/source_lines.hpp"
#include "analyzer/unwind/file_unwind.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct SymbolChildOptions {
    std::string program;                           // empty: default_symbol_program()
    std::chrono::milliseconds time_limit{20'000};  // per file, then the child is killed
    // Once readable (an eventfd of the caller's), nothing is waited for any more and every read is kCancelled: a caller
    // that must end within seconds can, whatever the child is at.
    int cancel_fd = -1;
    std::chrono::milliseconds start_limit{10'000};
    std::uint32_t cpu_seconds = 10;                     // per file, enforced by the kernel
    std::uint64_t table_bytes = 256U << 20;             // per file
    Nanoseconds first_pause = std::chrono::seconds(1);  // after the second death in a row; doubled each further time
    Nanoseconds longest_pause = std::chrono::minutes(5);
};

// $PERFVIGIL_SYMBOLS, else perfvigil-symbols beside the running program, else in ../libexec/perfvigil from there: the
// same for any prefix.
[[nodiscard]] std::string default_symbol_program();

class SymbolChild {
public:
    struct Counters {
        std::uint64_t started = 0;
        std::uint64_t died = 0;       // of a file, by its own fault
        std::uint64_t timed_out = 0;  // killed by us
        std::uint64_t files = 0;      // answered
    };

    SymbolChild(SymbolChildOptions options, const Clock& clock);
    ~SymbolChild();
    SymbolChild(const SymbolChild&) = delete;
    SymbolChild& operator=(const SymbolChild&) = delete;

    // The functions of the regular file behind `fd`, which stays the caller's. kInvalid: this file's own fault (it
    // ended the child, went over a limit, made it answer nonsense), asking again is useless. kBusy: no child may be
    // started yet. Anything else: the child cannot be started or fed, whatever the file.
    [[nodiscard]] Result<FileSymbols> read(int fd, NameForm names = NameForm::kShown) {
        return read_table({.kind = RequestKind::kSymbols, .names = names}, fd);
    }
    // Those of a separate debug file; offsets of the table are link addresses then.
    [[nodiscard]] Result<FileSymbols> read_debug_file(int fd, NameForm names = NameForm::kShown) {
        return read_table({.kind = RequestKind::kDebugFile, .names = names}, fd);
    }
    // The same, where the file is known by its checksum alone; kNotFound: it has another one.
    [[nodiscard]] Result<FileSymbols> read_linked_debug_file(int fd, std::uint32_t crc,
                                                             NameForm names = NameForm::kShown) {
        return read_table({.kind = RequestKind::kLinkedDebugFile, .crc = crc, .names = names}, fd);
    }
    // The names to show for names of a table in NameForm::kLinker, in their order. kInvalid: the fault is theirs.
    [[nodiscard]] Result<std::vector<std::string>> demangled(std::span<const std::string_view> names);
    // How to unwind the file's code: of the file itself or of its separate debug file. Errors as above.
    [[nodiscard]] Result<FileUnwind> read_unwind(int fd);
    // Those of a kernel module (ET_REL, not compressed) by runtime address, where its sections lie as given;
    // link_address() of the table leads to offsets in the file.
    [[nodiscard]] Result<FileSymbols> read_module(int fd, const std::vector<PlacedSection>& sections);
    // What a compressed file holds, up to the limit of a table, in memory that nobody can change.
    [[nodiscard]] Result<UniqueFd> inflate(int fd);
    // The packages of an rpm database, as text in apk's form.
    [[nodiscard]] Result<MappedFile> packages(int fd) { return table_of({.kind = RequestKind::kPackages}, fd); }
    // Where in the sources these instructions of the file come from; errors as above. Addresses in any order.
    [[nodiscard]] Result<SourceLines> lines(int fd, std::vector<LinkAddress> addresses);
    // Which calls were inlined there, with source lines. `shared`: the file that InlinedFrames::alt() names, -1: none.
    [[nodiscard]] Result<InlinedFrames> inlined(int fd, std::vector<LinkAddress> addresses, int shared = -1);

    // The same in a kernel module's file, or its separate debug file, whose sections lie as given.
    [[nodiscard]] Result<InlinedFrames> inlined_in_module(int fd, const std::vector<PlacedSection>& sections,
                                                          const std::vector<RuntimeAddress>& addresses);

    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] pid_t pid() const { return pid_; }  // 0: none is running

private:
    // What is asked; the limits and the number come from here.
    struct Question {
        RequestKind kind{};
        std::uint32_t crc = 0;
        NameForm names = NameForm::kShown;
        int shared = -1;  // -1: there is none
    };
    [[nodiscard]] Result<FileSymbols> read_table(const Question& question, int fd);
    // The sealed answer.
    [[nodiscard]] Result<MappedFile> table_of(const Question& question, int fd);
    [[nodiscard]] Result<void> ensure_running();
    [[nodiscard]] Result<void> start();
    // `question`: what goes in front of the addresses.
    template <class Answer>
    [[nodiscard]] Result<Answer> addresses_answered(RequestKind kind, int fd, std::vector<LinkAddress> addresses,
                                                    int shared, std::vector<std::byte> question = {});
    [[nodiscard]] Result<void> ask(const Question& question, int file, int table);
    [[nodiscard]] Result<void> send_request(const Question& question, int file, int table);
    // nullopt: it did not answer in time; an empty reply: it is gone or talks nonsense.
    struct Answer {
        std::optional<SymbolReply> reply;
    };
    [[nodiscard]] std::optional<Answer> wait_answer(std::chrono::milliseconds limit) const;
    [[nodiscard]] bool cancelled() const;
    [[nodiscard]] Result<void> wait_reply();
    void note_death();
    void stop();

    SymbolChildOptions options_;
    const Clock& clock_;
    UniqueFd socket_;
    pid_t pid_ = 0;
    std::uint64_t next_request_ = 1;
    unsigned deaths_in_a_row_ = 0;
    MonotonicTime not_before_{};
    Counters counters_;
};

}  // namespace perfvigil::analyzer
