// SPDX-License-Identifier: GPL-2.0-or-later
// A folder of the test's own, removed with everything in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace perfvigil::test {

class TempFolder {
public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view relative) const { return (path_ / relative).string(); }

    // Folders on the way are made.
    std::string write(std::string_view relative, std::string_view text) const;
    std::string write(std::string_view relative, Bytes bytes) const;
    void symlink(std::string_view relative, std::string_view target) const;

private:
    std::filesystem::path path_;
};

}  // namespace perfvigil::test
