// SPDX-License-Identifier: GPL-2.0-or-later
// From the raw addresses of one sample to frames in terms of Dsos, as the address space stands now, and to what the
// CPU was doing. Knows no slices and no symbols.
//
// A thread's chain mostly differs from its previous one in some inner frames. Each thread's last chain is kept, and
// only what is not the same outer part is resolved and hashed again:
//
//   last   [kernel] k2 k1 k0 [user] u5 u4 u3 u2 u1 u0        innermost first, as recorded
//   now           [user] u8 u7 u6 u3 u2 u1 u0
//                                 └───────── kept
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/slice.hpp"
#include "analyzer/slice/chain.hpp"
#include "analyzer/slice/kernel_text.hpp"
#include "collector/processes.hpp"
#include "collector/record.hpp"

namespace perfvigil::analyzer {

class ChainResolver {
public:
    ChainResolver() : lasts_(kThreads), known_(kKnown) {}

    [[nodiscard]] FrameTable& frames() { return frames_; }
    // Between slices: gives the frame table's memory a chance to serve others.
    void trim();

    void set_kernel_text(KernelText text);
    [[nodiscard]] bool kernel_text_known() const { return !text_.empty(); }
    // Executable mappings of this process changed other than by exec or fork.
    void maps_changed(Pid pid) { ++maps_versions_[static_cast<std::uint32_t>(pid.value) % maps_versions_.size()]; }

    // The result lives until the next call.
    const Chain& resolve(const collector::SampleRecord& sample, const collector::Process& process,
                         const collector::KernelSpace& kernel, std::uint16_t max_stack);

    // What a clock sample with a stack of these flags shows.
    [[nodiscard]] Mode mode_of(std::uint8_t flags, Tid tid) const;

private:
    static constexpr std::size_t kThreads = 256;
    static constexpr std::size_t kKnown = 16384;
    static constexpr std::uint32_t kNoFrame = 0xffffffff;

    enum class Context : std::uint8_t { kUser, kKernel, kHypervisor, kGuest, kUnknown };
    static constexpr std::uint8_t kIdleSeen = 1;
    static constexpr std::uint8_t kUserSeen = 2;

    // One value of a chain, counted from the outermost, and what is known of it together with all outer ones.
    struct Word {
        std::uint64_t raw = 0;
        std::uint64_t path = 0;
        std::uint16_t frames = 0;     // in the resolved chain
        std::uint16_t addresses = 0;  // values that are no markers
        std::uint16_t kernel = 0;     // of them in the kernel part
        Context context = Context::kUnknown;
        std::uint8_t seen = 0;
        TextClass decided = TextClass::kOther;  // of the innermost interrupt, softirq or task-work frame
    };
    // Which thread a chain is of, and what else its meaning depends on.
    struct Owner {
        Pid pid{-1};
        Tid tid{-1};
        collector::ProcessEpoch epoch{};
        std::uint32_t maps_version = 0;
        std::uint32_t kernel_version = 0;
        std::uint16_t max_stack = 0;
        bool maps_incomplete = false;

        friend bool operator==(const Owner&, const Owner&) = default;
    };
    struct Last {
        bool regular = false;  // begins with its leaf; another chain may have its outer part in common
        Owner owner;
        std::vector<Word> words;
        std::size_t dropped = 0;  // outermost words that are no part of the chain: where it broke, and beyond
        Chain chain;
    };
    // What an address came to last time, direct mapped.
    struct Known {
        std::uint64_t address = 0;
        collector::ProcessEpoch epoch{};  // of the kernel: 0
        std::uint32_t maps_version = 0;   // of the kernel: KernelSpace::version
        std::uint32_t frame = kNoFrame;
        TextClass text_class = TextClass::kOther;
    };
    // What a value of the part that is not kept came to.
    struct Found {
        std::uint32_t frame = kNoFrame;
        Context context = Context::kUnknown;
        bool is_address = false;
        TextClass text_class = TextClass::kOther;
    };
    struct NewPart {
        std::vector<Found> found;             // innermost first
        std::size_t size = 0;                 // of them in use
        Context context = Context::kUnknown;  // at its outer end
        std::uint32_t last_user = kNoFrame;   // the outermost good user frame so far
        bool ended = false;                   // its last value ends the chain
        bool unmapped = false;                // … because no mapping holds it
        bool regular = true;                  // each of them is a value of the chain, and means the same in another
    };

    [[nodiscard]] static Context context_of_marker(std::uint64_t marker);
    [[nodiscard]] static Context context_of_sample(const collector::SampleRecord& sample);
    [[nodiscard]] Last& last_of(const collector::SampleRecord& sample, const Owner& owner);
    [[nodiscard]] static std::size_t common_outer(const Last& last, const collector::ChainView& chain);

    // Resolves all but the `kept` outermost values into new_.
    void resolve_new_part(const collector::SampleRecord& sample, const collector::Process& process, const Owner& owner,
                          const collector::KernelSpace& kernel, std::size_t kept);
    void add(Context context, std::uint64_t raw, bool exact, const collector::Process& process, const Owner& owner,
             const collector::KernelSpace& kernel);
    void add_kernel(Found& found, std::uint64_t address, const collector::KernelSpace& kernel);
    void add_user(Found& found, std::uint64_t raw, bool exact, const collector::Process& process, const Owner& owner);
    void add_without_dso(Found& found);
    [[nodiscard]] Known& known_at(std::uint64_t address) { return known_[mix(address, 1) % kKnown]; }
    [[nodiscard]] std::uint32_t number_without_dso(NoDsoFrame what);

    // Puts new_ upon what is kept of `last`.
    void join(Last& last, const collector::ChainView& chain, std::size_t kept);
    void note_end(Last& last, const collector::ChainView& chain);
    static void step(Word& word, const Found& found);
    static void judge(const collector::SampleRecord& sample, const collector::Process& process, Last& last);

    KernelText text_;
    FrameTable frames_;
    std::array<std::uint32_t, 1024> maps_versions_{};  // by pid
    std::vector<Last> lasts_;                          // direct mapped by tid; of the swapper by CPU
    std::vector<Known> known_;
    NewPart new_;
    std::uint32_t trims_ = 0;
};

}  // namespace perfvigil::analyzer
