// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/temp_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace perfvigil::test {

TempFolder::TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "perfvigil-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
    path_ = name;
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::write(std::string_view relative, std::string_view text) const {
    const auto path = path_ / relative;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path.string());
    return path.string();
}

std::string TempFolder::write(std::string_view relative, Bytes bytes) const {
    return write(relative, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void TempFolder::symlink(std::string_view relative, std::string_view target) const {
    const auto path = path_ / relative;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
}

}  // namespace perfvigil::test
