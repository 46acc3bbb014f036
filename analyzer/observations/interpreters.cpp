// SPDX-License-Identifier: GPL-2.0-or-later
// interpreted_code: time in a language's interpreter, whose functions say how the script runs and not what it does.
// Told by the binary and by the function that runs the script's instructions; both names are the interpreters' own.
#include <algorithm>
#include <array>

#include <boost/unordered/unordered_flat_map.hpp>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Below it no table is dominated by them.
constexpr double kShows = 0.05;
constexpr double kShowsMuch = 0.25;

struct Interpreter {
    std::string_view language;
    std::array<std::string_view, 3> binaries;  // how their names begin, behind which comes a version at most
    std::array<std::string_view, 4> loops;     // how the names of what runs the script's instructions begin
    std::string_view remedy;
};

constexpr auto kInterpreters = std::to_array<Interpreter>({
    {"python",
     {"python", "libpython", "pypy"},
     {"_PyEval_Eval", "PyEval_Eval", "_PyEval_Vector", "_PyFunction_Vectorcall"},
     "python 3.12 and later: python -X perf (or PYTHONPERFSUPPORT=1), built with frame pointers"},
    {"perl", {"perl", "libperl"}, {"Perl_runops", "Perl_pp_"}, "perl has no map for perf: use Devel::NYTProf"},
    {"ruby", {"ruby", "libruby"}, {"vm_exec", "rb_vm_exec"}, "ruby: rbspy, or ruby --yjit --yjit-perf (3.3 and later)"},
    {"php", {"php", "libphp"}, {"execute_ex", "zend_execute"}, "php: opcache.jit_debug=0x10 with its JIT, or phpspy"},
    {"lua", {"lua", "liblua"}, {"luaV_execute"}, "lua has no map for perf: use a profiler inside it"},
    {"shell",
     {"bash", "dash", "zsh"},
     {"execute_command", "evaltree", "execlist", "execute_builtin"},
     "a shell has no map for perf: time its parts, or see which commands it starts (--by comm)"},
    {"node",
     {"node", "nodejs", "libnode"},
     {"Builtins_Interpreter", "Builtins_JSEntry", "Builtins_Baseline"},
     "node --perf-basic-prof --interpreted-frames-native-stack"},
    {"java",
     {"libjvm", "java"},
     {"JavaCalls::call", "Interpreter"},
     "java -XX:+PreserveFramePointer with -XX:+DumpPerfMapAtExit, jcmd PID Compiler.perfmap, or an agent that writes "
     "/tmp/perf-PID.map"},
});

// "python3.11", "libperl.so.5.36", "ruby"; not "pythonista".
bool is_binary(std::string_view name, std::string_view begins) {
    if (begins.empty() || !name.starts_with(begins)) return false;
    name.remove_prefix(begins.size());
    return name.empty() || name.front() == '.' || name.front() == '-' || (name.front() >= '0' && name.front() <= '9');
}

// 1 + the interpreter whose binary it is, 0 for none.
std::uint8_t interpreter_of(std::string_view dso) {
    const auto name = base_name(dso);
    for (std::size_t k = 0; k < kInterpreters.size(); ++k) {
        const auto& binaries = kInterpreters[k].binaries;
        const bool is = std::ranges::any_of(binaries, [&](auto begins) { return is_binary(name, begins); });
        if (is) return static_cast<std::uint8_t>(k + 1);
    }
    return 0;
}

bool runs_instructions(const Interpreter& interpreter, const ProfileFunction& function) {
    return function.reason == UnknownReason::kNone &&
           std::ranges::any_of(interpreter.loops, [&](std::string_view begins) {
               return !begins.empty() && function.name.starts_with(begins);
           });
}

// A name that a run time gave to code it made: the script's functions are among them.
bool is_named_by_run_time(const ProfileFunction& function) {
    const auto file = base_name(function.dso);
    return function.reason == UnknownReason::kNone &&
           (function.dso == "[jit]" || (file.starts_with("perf-") && file.ends_with(".map")));
}

// What one function says of the stacks it stands on.
struct Part {
    std::uint8_t interpreter = 0;  // 1 + the one in whose binary it lies
    bool loop = false;             // it runs that one's instructions
    bool named = false;            // a run time named it
    [[nodiscard]] bool none() const { return interpreter == 0 && !named; }
};

std::vector<Part> parts_of(const Profile& profile) {
    boost::unordered_flat_map<std::string_view, std::uint8_t> interpreters;  // by Dso
    std::vector<Part> parts(profile.functions.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& function = profile.functions[i];
        parts[i].named = is_named_by_run_time(function);
        if (function.kernel) continue;
        const auto [at, fresh] = interpreters.try_emplace(function.dso);
        if (fresh) at->second = interpreter_of(function.dso);
        parts[i].interpreter = at->second;
        parts[i].loop = at->second != 0 && runs_instructions(kInterpreters[at->second - 1U], function);
    }
    return parts;
}

struct Found {
    Sum sum;   // with the interpreter on the stack, and no name of a function of the script
    Sum loop;  // of them with the function that runs instructions
    std::string_view binary;
};

std::array<Found, kInterpreters.size()> sums_of(const Tally& tally) {
    const Profile& profile = tally.profile();
    const auto parts = parts_of(profile);
    std::array<Found, kInterpreters.size()> all{};
    if (std::ranges::all_of(parts, &Part::none)) return all;
    for (const auto& sample : profile.samples) {
        if (sample.event != tally.event() || sample.idle) continue;
        std::uint8_t interpreter = 0;
        std::uint32_t of = 0;
        bool loop = false;
        bool named = false;
        for (const auto number : profile.stacks[sample.stack].functions) {
            const Part part = parts[number];
            named = named || part.named;
            loop = loop || part.loop;
            if (interpreter != 0 || part.interpreter == 0) continue;
            interpreter = part.interpreter;
            of = number;
        }
        if (interpreter == 0 || named) continue;
        Found& found = all[interpreter - 1U];
        const Sum sum{.samples = sample.samples, .weight = sample.weight};
        found.sum += sum;
        if (loop) found.loop += sum;
        if (found.binary.empty()) found.binary = base_name(profile.functions[of].dso);
    }
    return all;
}

}  // namespace

void judge_interpreters(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    const auto all = sums_of(tally);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [sum, loop, binary] = all[i];
        // A runtime that was never seen to run instructions may be linked into anything.
        if (loop.samples == 0 || tally.share(sum).interval.low < kShows) continue;
        const auto& interpreter = kInterpreters[i];
        const auto low = tally.share(sum).interval.low;
        auto made = about("interpreted_code", low >= kShowsMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
        add_part(made, tally, std::string(interpreter.language), sum);
        made.evidence = fmt::format("{} is in or under the interpreter of {} ({}).", amount(tally, sum),
                                    interpreter.language, binary);
        made.meaning =
            "The functions named there are the interpreter's own: they say how the script is run. Which of the "
            "script's "
            "functions takes the time is not in this profile.";
        made.remedy = fmt::format("To see the script's functions: {}.", interpreter.remedy);
        found.push_back(std::move(made));
    }
}

}  // namespace perfvigil::analyzer
