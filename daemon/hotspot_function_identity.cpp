// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/function_name.hpp"
#include "daemon/hotspot_identity.hpp"
#include "daemon/hotspot_text.hpp"

namespace perfvigil::daemon {
namespace {

using namespace hotspot_text;

constexpr auto npos = std::string_view::npos;

std::string replace_addresses(std::string_view text) {
    constexpr std::size_t kMinAddressDigits = 6;
    std::string out;
    for (std::size_t at = text.find("0x"); at != npos; at = text.find("0x")) {
        std::size_t end = at + 2;
        while (end < text.size() && is_hex(text[end])) ++end;
        out += text.substr(0, at + 2);
        if (end - at - 2 >= kMinAddressDigits) {
            out += '*';
        } else {
            out += text.substr(at + 2, end - at - 2);
        }
        text.remove_prefix(end);
    }
    return out.append(text);
}

// --- template arguments --------------------------------------------------------------------------------------------

// One pass over a demangled name, linear in its length whatever it holds. A '<' is one of: part of an operator's
// name, an opening of template arguments (after an identifier), or a name's own bracket ("<T as Trait>::f",
// "<lambda()>"), whose inside is treated like the rest.
class TemplateEraser {
public:
    explicit TemplateEraser(std::string_view text) : text_(text) { out_.reserve(text.size()); }

    std::string run() && {
        while (at_ < text_.size()) step();
        return std::move(out_);
    }

private:
    void step() {
        if (const std::size_t length = operator_at(at_); length != 0) {
            out_ += text_.substr(at_, length);
            at_ += length;
            // The demangler writes "operator< <int>" to keep the two apart.
            if (text_.substr(at_).starts_with(" <")) ++at_;
            if (at_ < text_.size() && text_[at_] == '<') erase_arguments();
            return;
        }
        const char c = text_[at_];
        if (arrow_at(at_)) {
            out_ += text_.substr(at_, 2);
            at_ += 2;
        } else if (c == '<' && opens_arguments(at_)) {
            erase_arguments();
        } else if (c == '[' && at_ > 0 && is_identifier(text_[at_ - 1])) {
            step_square();
        } else {
            out_ += c;
            ++at_;
        }
    }

    void erase_arguments() {
        out_ += "<>";
        at_ = end_of_arguments(at_);
    }

    // "core[846817f741e54dfd]::" (Rust's crate hash) goes, "Map[go.shape.int]" (Go's instances) becomes "Map[]".
    void step_square() {
        constexpr std::size_t kMinCrateHash = 8;
        constexpr std::size_t kMaxCrateHash = 16;
        const std::string_view inside = text_.substr(at_ + 1, kMaxCrateHash + 1);
        const std::size_t length = inside.find(']');
        if (length != npos && length >= kMinCrateHash && looks_like_hash(inside.substr(0, length))) {
            at_ += length + 2;
        } else if (inside.starts_with("go.shape.")) {
            out_ += "[]";
            at_ = end_of_arguments(at_);
        } else {
            out_ += '[';
            ++at_;
        }
    }

    [[nodiscard]] bool arrow_at(std::size_t at) const {
        const std::string_view two = text_.substr(at, 2);
        return two == "->" || two == "=>";
    }

    // The length of "operator" and its symbol where one starts at `at`; 0 otherwise, and for "operator int".
    [[nodiscard]] std::size_t operator_at(std::size_t at) const {
        constexpr std::string_view kOperator = "operator";
        if (text_[at] != 'o' || !text_.substr(at).starts_with(kOperator)) return 0;
        if (at > 0 && is_identifier(text_[at - 1])) return 0;
        static constexpr std::array kSymbols = std::to_array<std::string_view>(
            {"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"});
        const std::string_view rest = text_.substr(at + kOperator.size());
        for (const std::string_view symbol : kSymbols) {
            if (rest.starts_with(symbol)) return kOperator.size() + symbol.size();
        }
        return 0;
    }

    [[nodiscard]] bool opens_arguments(std::size_t at) const {
        if (at == 0) return false;
        if (is_identifier(text_[at - 1])) return true;
        if (at < 2 || text_.substr(at - 2, 2) != "::") return false;
        // Rust writes "f::<T>"; these are names: "Foo::<init>", "f()::<lambda(int)>", "core::<impl X for Y>".
        static constexpr std::array kNames =
            std::to_array<std::string_view>({"impl ", "lambda", "init>", "clinit>", "anonymous", "unnamed", "dyn "});
        const std::string_view inside = text_.substr(at + 1);
        return std::ranges::none_of(kNames, [&](std::string_view name) { return inside.starts_with(name); });
    }

    // Behind the bracket that closes the one at `open`; the end of the text where none does, or where brackets nest
    // deeper than any compiler's names.
    [[nodiscard]] std::size_t end_of_arguments(std::size_t open) const {
        std::vector<char> closers;
        for (std::size_t i = open; i < text_.size();) {
            if (const std::size_t length = operator_at(i); length != 0) {
                i += length;
                continue;
            }
            if (arrow_at(i)) {
                i += 2;
                continue;
            }
            const char c = text_[i];
            if (closers.size() == kMaxDepth) return text_.size();
            if (c == '<' && !is_comparison(i)) closers.push_back('>');
            if (c == '(') closers.push_back(')');
            if (c == '[') closers.push_back(']');
            if (c == '{') closers.push_back('}');
            if (c == '>' && closers.back() == '>') closers.pop_back();
            if (c == ')' || c == ']' || c == '}') close(closers, c);
            ++i;
            if (closers.empty()) return i;
        }
        return text_.size();
    }

    // "(a < b)", "(a << 3)": the demangler puts spaces around an expression's operators.
    [[nodiscard]] bool is_comparison(std::size_t at) const {
        if (at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '<') {
            const std::string_view behind = text_.substr(at + 1, 2);
            return behind.starts_with(' ') || behind.starts_with('=') || behind == "< ";
        }
        return false;
    }

    // A bracket closes what was opened inside it too. One that was never opened closes nothing.
    static void close(std::vector<char>& closers, char closer) {
        const auto at = std::find(closers.rbegin(), closers.rend(), closer);
        if (at != closers.rend()) closers.erase(at.base() - 1, closers.end());
    }

    static constexpr std::size_t kMaxDepth = 256;

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::string function_identity(std::string_view demangled) {
    if (demangled.empty()) return "[unknown]";
    const std::string erased = TemplateEraser(analyzer::function_group(demangled)).run();
    std::string identity = bounded_identity(replace_hashes(replace_addresses(erased)));
    return is_reserved(identity) ? marked_foreign(std::move(identity)) : identity;
}

}  // namespace perfvigil::daemon
