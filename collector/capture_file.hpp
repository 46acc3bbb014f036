// SPDX-License-Identifier: GPL-2.0-or-later
// Where the bytes of a capture go. CaptureWriter knows the format and calls this from the thread that calls the writer;
// what stands behind may hand the bytes to another thread (the daemon's sampler must never wait for a disk), and then
// says at a later call what went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace perfvigil::collector {

class CaptureFile {
public:
    virtual ~CaptureFile() = default;
    [[nodiscard]] virtual Result<void> append(std::vector<std::byte> bytes) = 0;
    // Overwrites bytes that were appended before (the header, whose sizes are known last).
    [[nodiscard]] virtual Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) = 0;
    // The file is whole: on the disk, and under its final name.
    [[nodiscard]] virtual Result<void> commit() = 0;
    [[nodiscard]] virtual const std::string& path() const = 0;  // final name
};

// The temporary name of a capture until commit(); a killed recorder leaves it behind.
[[nodiscard]] std::string partial_capture_path(const std::string& path);

// Writes at once, on the caller's thread. The folder must exist; an old file of that name is replaced by commit().
[[nodiscard]] Result<std::unique_ptr<CaptureFile>> create_capture_file(const std::string& path);

}  // namespace perfvigil::collector
