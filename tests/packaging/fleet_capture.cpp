// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the capture of a host whose hotspots are stated, for check_fleet.py: a program of which each function has its
// weight, and what a recorder would have seen of it.
//
//   fleet_capture CAPTURE PROGRAM SECONDS HERTZ BUSY[,BUSY...] FUNCTION=WEIGHT...
//
// PROGRAM becomes an ELF file that names the functions; BUSY is the share of a CPU that it takes, one per CPU.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "tests/support/elf_image.hpp"
#include "tests/support/synthetic_capture.hpp"

namespace perfvigil::test {
namespace {

template <class Number>
Number number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error(fmt::format("'{}' is not a number", text));
    }
    return value;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary);
    // Bytes are written as characters.
    file.write(static_cast<const char*>(static_cast<const void*>(bytes.data())),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

SyntheticCpu cpu_with(double busy) {
    SyntheticCpu cpu;
    cpu.busy = busy;
    // All of it in the program: every part of the truth has a name.
    cpu.kernel = cpu.softirq = cpu.irq_in_idle = 0;
    return cpu;
}

void run(std::span<char*> words) {
    if (words.size() < 6) {
        throw std::runtime_error(
            "usage: fleet_capture CAPTURE PROGRAM SECONDS HERTZ BUSY[,BUSY...] FUNCTION=WEIGHT...");
    }
    SyntheticOptions options;
    options.program = words[1];
    options.program_build_id = build_id_of("5ee5ee5ee5ee5ee5ee5ee5ee5ee5ee5ee5ee5ee5");
    options.slice = std::chrono::seconds(1);
    options.slices = number<std::size_t>(words[2]);
    options.hertz = number<std::uint64_t>(words[3]);
    options.cycles = false;
    options.depth = 3;
    options.cpus.clear();
    for (std::string_view left = words[4]; !left.empty();) {
        const auto comma = std::min(left.find(','), left.size());
        options.cpus.push_back(cpu_with(number<double>(left.substr(0, comma))));
        left.remove_prefix(std::min(comma + 1, left.size()));
    }

    ElfImageSpec program;
    for (const std::string_view word : words.subspan(5)) {
        const auto equals = word.rfind('=');
        if (equals == std::string_view::npos) throw std::runtime_error(fmt::format("'{}' has no weight", word));
        program.symtab.push_back({.name = std::string(word.substr(0, equals)),
                                  .value = program.text_address + options.weights.size() * SyntheticCode::kFunctionSize,
                                  .size = SyntheticCode::kFunctionSize});
        options.weights.push_back(number<double>(word.substr(equals + 1)));
    }
    options.functions = options.weights.size();
    program.text_size = options.functions * SyntheticCode::kFunctionSize;
    program.build_id = options.program_build_id;
    write_file(words[1], make_elf(program));

    SyntheticStream stream(options);
    const auto capture = written_capture(stream, stream.host());
    if (!capture) throw std::runtime_error(capture.error().message);
    write_file(words[0], *capture);
}

}  // namespace
}  // namespace perfvigil::test

int main(int count, char** words) try {
    perfvigil::test::run(std::span(words, static_cast<std::size_t>(count)).subspan(1));
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "fleet_capture: {}\n", error.what());
    return 1;
}
