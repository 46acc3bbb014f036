// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/chain_resolver.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::analyzer {

using collector::ChainView;
using collector::DsoRef;
using collector::KernelSpace;
using collector::Process;
using collector::SampleRecord;

namespace {

bool is_marker(std::uint64_t raw) { return raw >= collector::kContextMax; }

}  // namespace

void ChainResolver::set_kernel_text(KernelText text) {
    text_ = std::move(text);
    std::ranges::fill(known_, Known{});
    for (auto& last : lasts_) last.regular = false;
}

// Frames of programs that ended would stay for ever, and with them their Dsos.
void ChainResolver::trim() {
    constexpr std::size_t kMostFrames = 1U << 18;
    constexpr std::uint32_t kMostTrims = 60;  // five minutes of slices
    if (++trims_ < kMostTrims && frames_.size() < kMostFrames) return;
    trims_ = 0;
    frames_.clear();
    std::ranges::fill(known_, Known{});
    for (auto& last : lasts_) last.regular = false;
}

const Chain& ChainResolver::resolve(const SampleRecord& sample, const Process& process, const KernelSpace& kernel,
                                    std::uint16_t max_stack) {
    const ChainView& chain = sample.chain;
    const Owner owner{
        .pid = process.pid,
        .tid = sample.sample.tid,
        .epoch = process.epoch,
        .maps_version = maps_versions_[static_cast<std::uint32_t>(process.pid.value) % maps_versions_.size()],
        .kernel_version = kernel.version,
        .max_stack = max_stack,
        .maps_incomplete = process.maps_incomplete};
    Last& last = last_of(sample, owner);
    // The leaf's marker, then the leaf.
    const bool regular =
        chain.size() > 1 && context_of_marker(chain[0]) == context_of_sample(sample) && !is_marker(chain[1]);
    std::size_t kept = regular && last.regular ? common_outer(last, chain) : 0;
    if (kept > 0 && kept == chain.size() && kept == last.words.size()) return last.chain;

    resolve_new_part(sample, process, owner, kernel, kept);
    if (kept > 0) {
        // The marker of the kept part's innermost address lies in the new part.
        const Word& joint = last.words[kept - 1];
        const bool fits = is_marker(joint.raw) || joint.context == new_.context;
        if (new_.ended) {
            kept = 0;
        } else if (!fits || !new_.regular) {
            kept = 0;
            resolve_new_part(sample, process, owner, kernel, 0);
        }
    }
    join(last, chain, kept);
    last.regular = regular && new_.regular;
    judge(sample, process, last);
    return last.chain;
}

ChainResolver::Last& ChainResolver::last_of(const SampleRecord& sample, const Owner& owner) {
    const std::uint32_t key = static_cast<std::uint32_t>(owner.tid.value) +
                              (owner.tid.value == 0 ? sample.sample.cpu.value : 0);  // each CPU's swapper is tid 0
    Last& last = lasts_[key % kThreads];
    if (last.owner != owner) {
        last.regular = false;
        last.owner = owner;
    }
    return last;
}

// How many outer values the chain has in common with the last one, so that they mean the same in both.
std::size_t ChainResolver::common_outer(const Last& last, const ChainView& chain) {
    const std::size_t size = chain.size();
    const std::size_t most = std::min(size, last.words.size());
    std::size_t common = 0;
    while (common < most && last.words[common].raw == chain[size - 1 - common]) ++common;
    if (common > 0 && !is_marker(last.words[common - 1].raw)) {
        // An address right after a marker is exact, others are return addresses.
        const bool exact_now = common == size || is_marker(chain[size - 1 - common]);
        const bool exact_then = common == last.words.size() || is_marker(last.words[common].raw);
        if (exact_now != exact_then) --common;
    }
    return common > last.dropped ? common : 0;
}

// A chain starts with the sampled instruction; where the recorder left that part of the chain out (exclude_callchain_*,
// no call chain at all), the sample's own address stands for it.
void ChainResolver::resolve_new_part(const SampleRecord& sample, const Process& process, const Owner& owner,
                                     const KernelSpace& kernel, std::size_t kept) {
    const Context leaf = context_of_sample(sample);
    const ChainView& chain = sample.chain;
    // Every value, and the leaf once.
    if (new_.found.size() < chain.size() + 1) new_.found.resize(chain.size() + 1);
    new_.size = 0;
    new_.context = leaf;
    new_.last_user = kNoFrame;
    new_.ended = false;
    new_.unmapped = false;
    new_.regular = true;
    bool exact = true;
    bool leaf_seen = false;
    bool user_seen = false;
    const auto add_leaf = [&] {
        add(leaf, sample.ip, true, process, owner, kernel);
        new_.regular = false;
    };
    for (std::size_t i = 0; i < chain.size() - kept && !new_.ended; ++i) {
        const std::uint64_t raw = chain[i];
        if (is_marker(raw)) {
            new_.context = context_of_marker(raw);
            new_.last_user = kNoFrame;
            new_.found[new_.size++] = {.context = new_.context};
            exact = true;
            if (new_.context != Context::kUnknown) continue;
            new_.regular = false;  // what follows cannot be told apart; the prefix is good
            break;
        }
        if (!leaf_seen && new_.context != leaf) {
            add_leaf();
            user_seen = leaf == Context::kUser;
        }
        leaf_seen = true;
        if (new_.ended) break;
        user_seen |= new_.context == Context::kUser;
        add(new_.context, raw, exact, process, owner, kernel);
        exact = false;
    }
    if (kept == 0 && (!leaf_seen || (leaf == Context::kUser && !user_seen))) add_leaf();
}

void ChainResolver::add(Context context, std::uint64_t raw, bool exact, const Process& process, const Owner& owner,
                        const KernelSpace& kernel) {
    Found& found = new_.found[new_.size++];
    found = {.context = context, .is_address = true};
    if (context == Context::kUser)
        add_user(found, raw, exact, process, owner);
    else if (context == Context::kKernel)
        add_kernel(found, exact ? raw : raw - 1, kernel);
    else
        add_without_dso(found);
}

void ChainResolver::add_kernel(Found& found, std::uint64_t address, const KernelSpace& kernel) {
    Known& known = known_at(address);
    if (known.address != address || known.epoch.value != 0 || known.maps_version != kernel.version ||
        known.frame == kNoFrame) {
        const DsoRef& dso = kernel.dso_at(address);
        known = {.address = address,
                 .maps_version = kernel.version,
                 .frame = frames_.number_of({.dso = dso->id, .offset = address}, dso),
                 .text_class = text_.classify(address)};
    }
    found.frame = known.frame;
    found.text_class = known.text_class;
}

void ChainResolver::add_user(Found& found, std::uint64_t raw, bool exact, const Process& process, const Owner& owner) {
    const std::uint64_t inside = exact ? raw : raw - 1;
    Known& known = known_at(inside);
    if (known.address != inside || known.epoch != owner.epoch || known.maps_version != owner.maps_version ||
        known.frame == kNoFrame) {
        // A return address of 0 is how run times end their stacks.
        new_.ended = raw == 0 && !exact;
        if (new_.ended) return;
        const auto* mapping = process.code_at(inside);
        if (mapping == nullptr) {
            new_.ended = true;
            new_.unmapped = true;
            // The sampled address was real even if we know no mapping there; a later one was read off the stack.
            if (exact || owner.maps_incomplete) found.frame = number_without_dso(kFrameUnmapped);
            return;
        }
        const Frame frame{.dso = mapping->dso->id, .offset = mapping->offset_of(inside)};
        known = {.address = inside,
                 .epoch = owner.epoch,
                 .maps_version = owner.maps_version,
                 .frame = frames_.number_of(frame, mapping->dso)};
    }
    found.frame = new_.last_user = known.frame;
}

// Frames of which nothing can be said say it once.
void ChainResolver::add_without_dso(Found& found) {
    new_.regular = false;
    const auto* before = new_.size > 1 ? &found - 1 : nullptr;
    if (before != nullptr && before->is_address && before->context == found.context) return;
    found.frame = number_without_dso(found.context == Context::kGuest ? kFrameGuest : kFrameHypervisor);
}

std::uint32_t ChainResolver::number_without_dso(NoDsoFrame what) {
    return frames_.number_of({.dso = {}, .offset = what}, nullptr);
}

void ChainResolver::join(Last& last, const ChainView& chain, std::size_t kept) {
    Chain& out = last.chain;
    if (kept == 0) {
        out.flags = 0;
        out.broken_in = {};
        last.words.clear();
        last.dropped = 0;
        if (new_.ended) note_end(last, chain);
        kept = last.words.size();
    }
    Word word = kept > 0 ? last.words[kept - 1] : Word{.path = frames_.empty_path()};
    last.words.resize(kept + new_.size);
    out.frames.resize(word.frames + new_.size);
    for (std::size_t i = new_.size; i > 0; --i) {
        const Found& found = new_.found[i - 1];
        step(word, found);
        // An irregular chain's values are not compared.
        word.raw = i <= chain.size() ? chain[i - 1] : 0;
        if (found.frame != kNoFrame) {
            out.frames[word.frames++] = found.frame;
            word.path = Chain::longer_path(word.path, found.frame);
        }
        last.words[kept++] = word;
    }
    out.frames.resize(word.frames);
    out.path = word.path;
}

// What lies beyond the frame that ended the chain is remembered by value alone.
void ChainResolver::note_end(Last& last, const ChainView& chain) {
    Word word{.path = frames_.empty_path()};
    for (std::size_t i = chain.size(); i > new_.size; --i) {
        word.raw = chain[i - 1];
        word.addresses = static_cast<std::uint16_t>(word.addresses + (is_marker(word.raw) ? 0 : 1));
        last.words.push_back(word);
    }
    last.dropped = last.words.size() + 1;
    if (new_.unmapped && !last.owner.maps_incomplete) {
        last.chain.flags |= kStackBroken;
        if (new_.last_user != kNoFrame) last.chain.broken_in = frames_.frame(new_.last_user).dso;
    }
}

void ChainResolver::step(Word& word, const Found& found) {
    word.context = found.context;
    if (!found.is_address) return;
    ++word.addresses;
    if (found.context == Context::kUser) word.seen |= kUserSeen;
    if (found.context != Context::kKernel) return;
    ++word.kernel;
    switch (found.text_class) {
        case TextClass::kOther: break;
        case TextClass::kIdleLoop:
        case TextClass::kIdlePoll: word.seen |= kIdleSeen; break;
        case TextClass::kInterrupt:
        case TextClass::kSoftirq:
        case TextClass::kTaskWork: word.decided = found.text_class; break;
    }
}

void ChainResolver::judge(const SampleRecord& sample, const Process& process, Last& last) {
    const Word& whole = last.words.back();
    const Context leaf = context_of_sample(sample);
    std::uint8_t flags = last.chain.flags & kStackBroken;
    if (leaf == Context::kKernel || leaf == Context::kHypervisor) flags |= kStackKernelLeaf;
    if (whole.decided == TextClass::kInterrupt || whole.decided == TextClass::kSoftirq) {
        flags |= kStackSoftirq;
    } else if ((whole.seen & kIdleSeen) != 0 || (last.owner.tid.value == 0 && whole.kernel == 1)) {
        // A lone frame of the swapper: no chain was recorded or none could be walked, so the address decides.
        flags |= kStackIdleLoop;
    }
    const bool has_user_side = !process.kernel_thread && process.pid.value > 0;
    if (has_user_side && (whole.seen & kUserSeen) == 0 && leaf == Context::kKernel &&
        sample.sample.has(collector::kSampleCallchain)) {
        flags |= kStackNoUser;
    }
    if (last.owner.max_stack != 0 && whole.addresses >= last.owner.max_stack) flags |= kStackTruncated;
    last.chain.flags = flags;
}

Mode ChainResolver::mode_of(std::uint8_t flags, Tid tid) const {
    if ((flags & kStackKernelLeaf) == 0) return Mode::kUser;
    if ((flags & kStackSoftirq) != 0) return Mode::kSoftirq;
    if (tid.value == 0 && ((flags & kStackIdleLoop) != 0 || text_.empty())) return Mode::kIdle;
    return Mode::kKernel;
}

ChainResolver::Context ChainResolver::context_of_marker(std::uint64_t marker) {
    switch (marker) {
        case collector::kContextKernel: return Context::kKernel;
        case collector::kContextUser: return Context::kUser;
        case collector::kContextHypervisor: return Context::kHypervisor;
        case collector::kContextGuest:
        case collector::kContextGuestKernel:
        case collector::kContextGuestUser: return Context::kGuest;
        default: return Context::kUnknown;
    }
}

ChainResolver::Context ChainResolver::context_of_sample(const SampleRecord& sample) {
    constexpr std::uint64_t kUpperHalf = std::uint64_t{1} << 63U;
    switch (sample.cpumode()) {
        case collector::kMiscKernel: return Context::kKernel;
        case collector::kMiscUser: return Context::kUser;
        case collector::kMiscHypervisor: return Context::kHypervisor;
        case collector::kMiscGuestKernel:
        case collector::kMiscGuestUser: return Context::kGuest;
        default: return (sample.ip & kUpperHalf) != 0 ? Context::kKernel : Context::kUser;
    }
}

}  // namespace perfvigil::analyzer
