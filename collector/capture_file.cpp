// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.hpp"

namespace perfvigil::collector {
namespace {

// A rename is durable once its folder is.
Result<void> sync_folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    auto fd = open_file(folder, O_RDONLY | O_DIRECTORY);
    if (!fd) return fail(std::move(fd.error()));
    if (::fsync(fd->get()) != 0) return fail_errno(errno, folder);
    return {};
}

class DirectCaptureFile final : public CaptureFile {
public:
    DirectCaptureFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    Result<void> append(std::vector<std::byte> bytes) override {
        auto written = write_all(fd_.get(), bytes);
        if (!written) return fail(std::move(written.error()).at(path_));
        return {};
    }

    Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) override {
        std::size_t done = 0;
        while (done < bytes.size()) {
            const auto n =
                ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return fail_errno(errno, path_);
            done += static_cast<std::size_t>(n);
        }
        return {};
    }

    Result<void> commit() override {
        if (::fdatasync(fd_.get()) != 0) return fail_errno(errno, path_);
        fd_.reset();
        if (std::rename(partial_capture_path(path_).c_str(), path_.c_str()) != 0) return fail_errno(errno, path_);
        return sync_folder_of(path_);
    }

    const std::string& path() const override { return path_; }

private:
    std::string path_;
    UniqueFd fd_;
};

}  // namespace

std::string partial_capture_path(const std::string& path) { return path + ".partial"; }

Result<std::unique_ptr<CaptureFile>> create_capture_file(const std::string& path) {
    auto fd = open_file(partial_capture_path(path), O_RDWR | O_CREAT | O_TRUNC, 0640);
    if (!fd) return fail(std::move(fd.error()));
    return std::make_unique<DirectCaptureFile>(path, std::move(*fd));
}

}  // namespace perfvigil::collector
