// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/text_lines.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::analyzer {

namespace {

constexpr std::size_t kAtOnce = 128U << 10;  // what stays in the cache until it is read

}  // namespace

// Moves what is left to the front of the block and reads more behind it; false where nothing came.
bool TextLines::refill() {
    const auto held = static_cast<std::size_t>(end_ - at_);
    if (held != 0 && at_ != block_.data()) std::memmove(block_.data(), at_, held);
    at_ = block_.data();
    end_ = at_ + held;
    if (ended_ || held == block_.size()) return false;
    char* const fresh = block_.data() + held;
    const std::size_t room = std::min(block_.size() - held, kAtOnce);
    std::size_t got = 0;
    // A mark at the front needs three bytes to be seen.
    while (got < std::min<std::size_t>(room, first_ ? 3 : 1)) {
        auto more = source_.read(std::as_writable_bytes(std::span(fresh + got, room - got)));
        if (!more) failure_ = std::move(more.error());
        if (!more || *more == 0) {
            ended_ = true;
            break;
        }
        got += *more;
    }
    if (std::memchr(fresh, '\0', got) != nullptr) {
        got = static_cast<std::size_t>(std::remove(fresh, fresh + got, '\0') - fresh);
    }
    end_ = fresh + got;
    if (std::exchange(first_, false) && std::string_view(at_, got).starts_with("\xef\xbb\xbf")) at_ += 3;
    return true;
}

void TextLines::skip_rest_of_line() {
    do {
        const auto* end = static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
        if (end != nullptr) {
            at_ = end + 1;
            return;
        }
        at_ = end_;
    } while (refill());
}

bool TextLines::next_beyond_block(std::string_view& line) {
    if (std::exchange(cut_, false)) {
        skip_rest_of_line();
        return next(line);
    }
    while (true) {
        const std::size_t searched = static_cast<std::size_t>(end_ - at_);
        if (!refill()) break;
        const auto* fresh = at_ + std::min(searched, static_cast<std::size_t>(end_ - at_));
        const auto* end = static_cast<const char*>(std::memchr(fresh, '\n', static_cast<std::size_t>(end_ - fresh)));
        if (end == nullptr) continue;
        hand_out(line, end);
        at_ = end + 1;
        return true;
    }
    if (at_ == end_) return false;
    hand_out(line, end_);
    at_ = end_;
    // A line that fills the block goes on; its rest is dropped when the next one is asked for.
    cut_ = !ended_;
    cut_lines_ += cut_ ? 1 : 0;
    return true;
}

}  // namespace perfvigil::analyzer
