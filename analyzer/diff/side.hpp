// SPDX-License-Identifier: GPL-2.0-or-later
// One side of a comparison: what each function (or DSO, command …) weighs in it, and how that divides over its slices.
// Idle is left out. Knows nothing of the other side but the numbers that both give to what they compare.
//
// A slice of a window keeps its top 200 functions only. What a function weighs beyond the slices it is listed in is
// known from the whole profile; it is spread over the full slices that do not list it, in each at most what their last
// row weighs, and adds the variance that a weight between 0 and that can have at most. So such a function counts as
// small but unknown, not as steady.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class DiffBy : std::uint8_t {
    kFunction,   // where samples were taken
    kTotal,      // functions anywhere in the stack
    kDso,        // of the sampled function
    kComm,       // thread name
    kUnit,       // systemd unit
    kContainer,  // short container id
};

struct DiffKey {
    std::string name;
    std::string dso;  // base name; functions only
    bool kernel = false;
};

// What is compared, numbered for both sides.
class DiffKeys {
public:
    [[nodiscard]] std::uint32_t number(std::string_view name, std::string_view dso, bool kernel);
    [[nodiscard]] const DiffKey& at(std::uint32_t key) const { return keys_[key]; }
    [[nodiscard]] std::size_t size() const { return keys_.size(); }

private:
    std::vector<DiffKey> keys_;
    boost::unordered_flat_map<std::string, std::uint32_t> numbers_;
};

struct DiffCount {
    std::uint64_t samples = 0;
    double weight = 0;
    double squares = 0;  // Σ over samples of weight², as far as it is known: a row's samples weigh the same

    void add(const ProfileSample& sample);
};

class DiffSide {
public:
    static constexpr std::size_t kFewestSlices = 6;

    DiffSide(const Profile& profile, std::uint32_t event, DiffBy by, DiffKeys& keys);

    [[nodiscard]] const DiffCount& whole() const { return whole_; }            // all but idle
    [[nodiscard]] const DiffCount& unresolved() const { return unresolved_; }  // of whole(): without a key
    [[nodiscard]] DiffCount count(std::uint32_t key) const { return key < counts_.size() ? counts_[key] : DiffCount{}; }

    // Empty where the slices cannot be used; problem() says why then.
    [[nodiscard]] std::span<const double> slice_seconds() const { return seconds_; }
    [[nodiscard]] std::span<const double> slice_weights() const { return weights_; }  // all but idle
    [[nodiscard]] const std::string& problem() const { return problem_; }

    struct Series {
        std::vector<double> weights;  // by slice
        double unseen_variance = 0;   // of their sum, from slices that list it not
    };
    // Of a key that is no function's own weight (kTotal, kComm …) the functions' slices are divided as the whole
    // profile divides them: moments hold self weights only.
    [[nodiscard]] Series series(std::uint32_t key) const;

private:
    struct Listed {  // a function's weight in one slice
        std::uint32_t slice = 0;
        double weight = 0;
    };
    struct Part {  // how much of a key's weight was sampled in a function
        std::uint32_t key = 0;
        std::uint32_t function = 0;
        double weight = 0;
    };

    void count_samples(const Profile& profile, std::uint32_t event, DiffBy by, DiffKeys& keys);
    void read_slices(const Profile& profile, std::uint32_t event);
    [[nodiscard]] bool slices_fit();
    void add_function(std::uint32_t function, double share, Series& into) const;
    void drop_slices(std::string why);

    DiffCount whole_;
    DiffCount unresolved_;
    std::vector<DiffCount> counts_;   // by key
    std::vector<Part> parts_;         // by key
    std::vector<double> own_;         // by function: its self weight in the profile
    std::vector<double> listed_sum_;  // by function: of it in the slices that list it
    std::vector<std::vector<Listed>> listed_;
    std::vector<double> seconds_;   // by slice
    std::vector<double> weights_;   // by slice
    std::vector<double> last_row_;  // by slice: weight of its last row where it is full, else 0
    std::string problem_;
};

}  // namespace perfvigil::analyzer
