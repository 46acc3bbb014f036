// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace perfvigil {

void UniqueFd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this != &other) {
        if (data_ != nullptr) ::munmap(data_, size_);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return fail(std::move(fd.error()));
    auto mapped = map(fd->get());
    if (!mapped) return fail(std::move(mapped.error()).at(path));
    return mapped;
}

Result<MappedFile> MappedFile::map(int fd) {
    struct stat st{};
    if (::fstat(fd, &st) != 0) return fail_errno(errno, "fstat");
    MappedFile file;
    if (st.st_size == 0) return file;
    const auto size = static_cast<std::size_t>(st.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return fail_errno(errno, "mmap");
    file.data_ = data;
    file.size_ = size;
    return file;
}

Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0) return fail_errno(errno, path);
    return UniqueFd(fd);
}

Result<std::string> read_fd(int fd, std::size_t limit) {
    std::string text;
    std::array<char, 16384> chunk{};
    while (true) {
        const ssize_t got = ::read(fd, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, "read");
        if (got == 0) return text;
        if (text.size() + static_cast<std::size_t>(got) > limit) {
            return fail(ErrorCode::kExhausted, "larger than " + std::to_string(limit) + " bytes");
        }
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return fail(std::move(fd.error()));
    auto text = read_fd(fd->get(), limit);
    if (!text) return fail(std::move(text.error()).at(path));
    return text;
}

Result<void> write_all(int fd, Bytes bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_errno(errno, "write");
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

}  // namespace perfvigil
