// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/corpus.hpp"

#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>

#include <boost/json/parse.hpp>

#include "base/fd.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::test {
namespace {

std::string read_or_throw(const std::string& path) {
    auto text = read_file(path);
    if (!text) throw std::runtime_error(text.error().message);
    return std::move(*text);
}

}  // namespace

std::string corpus_folder() {
    const char* named = std::getenv("PERFVIGIL_CORPUS");
    return named != nullptr && *named != '\0' ? named : kCorpusDir;
}

bool has_corpus() { return std::filesystem::exists(corpus_folder() + "/manifest.json"); }

std::string corpus_absent() { return "no corpus at " + corpus_folder() + "; set PERFVIGIL_CORPUS to its folder"; }

boost::json::value corpus_manifest() { return boost::json::parse(read_or_throw(corpus_folder() + "/manifest.json")); }

std::vector<std::byte> corpus_bytes(const std::string& path) {
    const std::string text = read_or_throw(corpus_folder() + "/" + path);
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

}  // namespace perfvigil::test
