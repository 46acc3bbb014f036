// SPDX-License-Identifier: GPL-2.0-or-later
// Owned kernel handles, and whole-file reads for small kernel files. A constructed object is valid or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil {

class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset();

private:
    int fd_ = -1;
};

// A private read-only mapping of a file of ours (never of a foreign file that its owner may truncate: SIGBUS).
class MappedFile {
public:
    MappedFile() = default;
    static Result<MappedFile> open(const std::string& path);
    static Result<MappedFile> map(int fd);
    MappedFile(MappedFile&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    [[nodiscard]] Bytes bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

// open(2) with O_CLOEXEC; the error names the path.
[[nodiscard]] Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode = 0);

// The whole file, at most `limit` bytes (kExhausted beyond). For /proc, /sys and configuration files.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = 64U << 20);
[[nodiscard]] Result<std::string> read_fd(int fd, std::size_t limit);

// Every byte or an error; retries EINTR and short writes.
[[nodiscard]] Result<void> write_all(int fd, Bytes bytes);

}  // namespace perfvigil
