// SPDX-License-Identifier: GPL-2.0-or-later
// The files of the page (web/), as they were installed. Read once, all of them, when the first is asked for: a request
// only ever chooses among names that are known, so no path of a request reaches the file system.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace perfvigil::daemon {

struct PageFile {
    std::string_view content_type;
    std::shared_ptr<const std::string> content;
    std::string etag;  // of the content, with its quotes
};

// Thread: io.
class Page {
public:
    // `folder` is not looked at yet.
    explicit Page(std::string folder) : folder_(std::move(folder)) {}

    // "/app.js"; "/" is index.html. nullptr: there is none.
    [[nodiscard]] const PageFile* find(std::string_view path);
    [[nodiscard]] bool installed() { return find("/") != nullptr; }

private:
    void read();

    std::string folder_;
    bool was_read_ = false;
    std::map<std::string, PageFile, std::less<>> files_;
};

// "web" beside the running program (a build), else ../share/perfvigil/web from there (an installation).
[[nodiscard]] std::string default_page_folder();

}  // namespace perfvigil::daemon
