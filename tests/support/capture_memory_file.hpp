// SPDX-License-Identifier: GPL-2.0-or-later
// A CaptureFile in memory that the test still sees when the writer is gone.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collector/capture_file.hpp"

namespace perfvigil::test {

struct MemoryFile {
    std::vector<std::byte> bytes;
    std::size_t appends = 0;
    bool committed = false;
    bool full = false;  // every further append fails as on a full disk
};

class MemoryCaptureFile final : public collector::CaptureFile {
public:
    explicit MemoryCaptureFile(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {}

    Result<void> append(std::vector<std::byte> bytes) override {
        if (file_->full) return fail(ErrorCode::kExhausted, path_ + ": No space left on device");
        ++file_->appends;
        file_->bytes.insert(file_->bytes.end(), bytes.begin(), bytes.end());
        return {};
    }
    Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) override {
        if (offset + bytes.size() > file_->bytes.size()) return fail(ErrorCode::kInvalid, "written past what is there");
        std::copy(bytes.begin(), bytes.end(), file_->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return {};
    }
    Result<void> commit() override {
        file_->committed = true;
        return {};
    }
    const std::string& path() const override { return path_; }

private:
    std::shared_ptr<MemoryFile> file_;
    std::string path_ = "memory.perf.data";
};

}  // namespace perfvigil::test
