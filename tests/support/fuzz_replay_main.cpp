// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs one fuzz target over the files and folders named on the command line: what libFuzzer does with a
// corpus, for compilers without it. A crash or a sanitizer's abort is the failure; so is a corpus without a
// file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

void collect(const fs::path& path, std::vector<fs::path>& files) {
    if (!fs::is_directory(path)) {
        files.push_back(path);
        return;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) {
            files.push_back(entry.path());
        }
    }
}

bool replay(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
        return false;
    }
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    const std::vector<std::uint8_t> bytes(content.begin(), content.end());
    // Said before the run, so that a crash names its input.
    std::printf("replay %s (%zu bytes)\n", file.c_str(), bytes.size());
    std::fflush(stdout);
    (void)LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        collect(argv[i], files);
    }
    if (files.empty()) {
        std::fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
        return EXIT_FAILURE;
    }
    bool all_read = true;
    for (const auto& file : files) {
        all_read = replay(file) && all_read;
    }
    std::printf("%zu inputs replayed\n", files.size());
    return all_read ? EXIT_SUCCESS : EXIT_FAILURE;
}
