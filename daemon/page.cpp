// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/page.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kLargestFile = 4U << 20;
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{
    {{".html", "text/html; charset=utf-8"},
     {".js", "text/javascript; charset=utf-8"},
     {".css", "text/css; charset=utf-8"},
     {".svg", "image/svg+xml"},
     {".txt", "text/plain; charset=utf-8"}}};

std::string_view type_of(std::string_view name) {
    for (const auto& [suffix, type] : kTypes) {
        if (name.ends_with(suffix)) return type;
    }
    return {};
}

}  // namespace

const PageFile* Page::find(std::string_view path) {
    if (!std::exchange(was_read_, true)) read();
    const auto found = files_.find(path == "/" ? std::string_view("/index.html") : path);
    return found == files_.end() ? nullptr : &found->second;
}

void Page::read() {
    std::error_code none;
    for (fs::directory_iterator entry(folder_, none), end; !none && entry != end; entry.increment(none)) {
        const auto name = entry->path().filename().string();
        const auto type = type_of(name);
        if (type.empty() || files_.size() >= kMostFiles) continue;
        auto content = read_file(entry->path().string(), kLargestFile);
        if (!content) continue;
        auto etag = fmt::format("\"{:016x}\"", stable_hash(*content));
        files_.emplace("/" + name, PageFile{type, std::make_shared<const std::string>(std::move(*content)), etag});
    }
}

std::string default_page_folder() {
    std::error_code none;
    const auto folder = fs::read_symlink("/proc/self/exe", none).parent_path();
    const auto beside = folder / "web";
    return (fs::exists(beside / "index.html", none) ? beside : folder / "../share/perfvigil/web").string();
}

}  // namespace perfvigil::daemon
