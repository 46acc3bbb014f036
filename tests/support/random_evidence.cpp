// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/random_evidence.hpp"

#include <random>
#include <span>
#include <string>

namespace perfvigil::test {
namespace {

using namespace analyzer;

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    Evidence make() {
        Evidence made;
        made.program = text();
        made.made = WallTime(Nanoseconds(static_cast<std::int64_t>(below(1U << 30))));
        for (std::uint64_t i = below(20) + 1; i > 0; --i) made.strings.push_back(text());
        strings_ = made.strings.size();
        for (std::uint64_t i = below(20) + 1; i > 0; --i) made.symbols.push_back(symbol());
        for (std::uint64_t i = below(9); i > 0; --i) {
            EvidenceChain& chain = made.chains.emplace_back();
            for (std::uint64_t k = below(4) + 1; k > 0; --k) {
                chain.push_back({.function = string(), .file = string(), .line = number()});
            }
        }
        for (std::uint64_t i = below(5) + 1; i > 0; --i) made.dsos.push_back(dso(made));
        for (std::uint64_t i = below(5); i > 0; --i) {
            made.kernel_text.push_back(
                {.start = ~0ULL - (1U << 30), .size = below(1000), .text_class = static_cast<std::uint32_t>(below(9))});
        }
        for (std::uint64_t i = below(3); i > 0; --i) made.refusals.push_back(text());
        for (std::uint64_t i = below(3); i > 0; --i) made.notes.push_back(text());
        for (std::uint64_t i = below(3); i > 0; --i) made.notes.push_back(text());
        for (std::uint64_t i = below(3); i > 0; --i) made.line_sentences.push_back(text());
        for (std::uint64_t i = below(3); i > 0; --i) made.module_line_sentences.push_back(text());
        for (std::uint64_t i = below(3); i > 0; --i) made.degraded.push_back({text(), text(), text()});
        for (std::uint64_t i = below(5); i > 0; --i) {
            EvidenceStack& stack = made.stacks.emplace_back();
            for (std::uint64_t k = below(6); k > 0; --k) stack.push_back(random_());
        }
        std::uint64_t sample = below(2) * random_() / 2;
        for (std::uint64_t i = made.stacks.empty() ? 0 : below(20); i > 0; --i) {
            made.unwound.push_back({.sample = sample,
                                    .stack = static_cast<std::uint32_t>(below(made.stacks.size())),
                                    .flags = static_cast<std::uint32_t>(below(256))});
            sample += below(1U << 30) + 1;
        }
        for (std::uint64_t i = below(3); i > 0; --i) made.unwinding.push_back(text());
        for (std::uint64_t i = below(6); i > 0; --i) {
            made.placements.push_back({.dso = static_cast<std::uint32_t>(below(made.dsos.size())),
                                       .code = {.time = monotonic_from_ns(below(1U << 30)),
                                                .start = random_() / 2,
                                                .size = below(1U << 20),
                                                .code = random_()}});
        }
        for (std::uint64_t i = below(4); i > 0; --i) made.codes.push_back(code(made));
        made.functions_without_code = below(100);
        return made;
    }

private:
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
    std::uint32_t string() { return static_cast<std::uint32_t>(below(strings_)); }
    std::string text() { return "text " + std::to_string(random_()).substr(0, below(19)); }

    EvidenceSymbol symbol() {
        const auto reason = below(static_cast<std::uint64_t>(UnknownReason::kUnmapped) + 1);
        return {.name = string(),
                .dso = string(),
                .start = random_(),
                .size = below(5000),
                .reason = static_cast<UnknownReason>(reason)};
    }

    EvidenceDso dso(const Evidence& made) {
        EvidenceDso dso;
        dso.kind = static_cast<collector::DsoKind>(below(7));
        dso.path = string();
        dso.function = string();
        dso.start = random_();
        const std::string id = text();
        if (below(2) == 0) dso.build_id = BuildId(std::as_bytes(std::span(id)));
        dso.major = number();
        dso.minor = number();
        dso.inode = random_();
        dso.inode_generation = random_();
        dso.pid = Pid{static_cast<std::int32_t>(below(1000)) - 500};
        if (below(2) == 0) dso.file_build_id = BuildId(std::as_bytes(std::span(id)));
        dso.package = static_cast<std::uint32_t>(below(strings_ + 1));
        dso.package_version = static_cast<std::uint32_t>(below(strings_ + 1));
        std::uint64_t offset = below(3) == 0 ? 0 : random_() / 2;
        for (std::uint64_t i = below(30); i > 0; --i) {
            dso.addresses.push_back({.offset = offset,
                                     .symbol = static_cast<std::uint32_t>(below(made.symbols.size())),
                                     .chain = static_cast<std::uint32_t>(below(made.chains.size() + 1))});
            offset += below(1U << 20) + 1;
        }
        return dso;
    }

    EvidenceCode code(const Evidence& made) {
        EvidenceCode code;
        code.dso = static_cast<std::uint32_t>(below(made.dsos.size()));
        code.start = random_();
        code.shift = random_();
        code.machine = static_cast<std::uint32_t>(below(65536));
        code.big_endian = below(2) == 0;
        code.wide = below(2) == 0;
        for (std::uint64_t i = below(200); i > 0; --i) code.code.push_back(static_cast<char>(random_()));
        code.has_lines = below(2) == 0;
        for (std::uint64_t at = 0; at < code.code.size(); at += below(40) + 1) {
            code.lines.push_back({.offset = at, .file = string(), .line = number()});
        }
        for (std::uint64_t i = below(3); i > 0; --i) code.notes.push_back(text());
        return code;
    }

    std::mt19937_64 random_;
    std::uint64_t strings_ = 1;
};

}  // namespace

Evidence random_evidence(std::uint64_t seed) { return Maker(seed).make(); }

}  // namespace perfvigil::test
