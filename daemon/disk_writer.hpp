// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that does what may wait for a disk on behalf of the sampler: opens, writes, syncs and renames capture
// files, and removes the oldest when their bytes run out or their time is over. What waits in memory is bounded; a disk
// that cannot keep up costs the file at hand (it keeps its temporary name and reads up to there), never the recording.
// Files that are frozen (FrozenCaptures) count there and not here.
//
//   sampler ─ CaptureWriter ─ CaptureFile ─▶ queue ─▶ this thread ─▶ captures.dir
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_file.hpp"
#include "daemon/frozen_captures.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

class DiskWriter {
public:
    struct Limits {
        std::uint64_t waiting_bytes = 32ULL << 20;
        std::size_t waiting_operations = 4096;
    };
    // What the thread says: an error when files cannot be written, nullopt when one was finished again.
    using Report = std::function<void(const std::optional<Error>&)>;

    DiskWriter(std::string directory, std::uint64_t budget, Report report);
    DiskWriter(std::string directory, std::uint64_t budget, Report report, Limits limits);
    ~DiskWriter();  // writes what waits, then ends the thread
    DiskWriter(const DiskWriter&) = delete;
    DiskWriter& operator=(const DiskWriter&) = delete;

    // Sampler's thread: a file that this thread writes. `name` is its final name within the folder.
    [[nodiscard]] std::unique_ptr<collector::CaptureFile> create(const std::string& name);

    // Any thread.
    void set_budget(std::uint64_t bytes) { budget_.store(bytes, std::memory_order_relaxed); }
    // Files that began longer ago are removed; zero: none for that reason.
    void set_keep(Nanoseconds keep) { keep_.store(keep.count(), std::memory_order_relaxed); }
    // Of all that is frozen.
    void set_frozen_budget(std::uint64_t bytes) { frozen_budget_.store(bytes, std::memory_order_relaxed); }
    // On this thread, soon; false: too much waits already.
    [[nodiscard]] bool order(std::function<void(FrozenCaptures&)> work);
    [[nodiscard]] std::shared_ptr<const std::vector<Frozen>> frozen() const { return frozen_.list(); }
    [[nodiscard]] std::uint64_t frozen_bytes() const { return frozen_bytes_.load(std::memory_order_relaxed); }
    // While less than this is left on the file system, the files together do not grow.
    void set_free_limit(std::uint64_t bytes) { free_limit_.store(bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t bytes_on_disk() const { return bytes_on_disk_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t files_on_disk() const { return files_on_disk_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t abandoned_files() const { return abandoned_.load(std::memory_order_relaxed); }

private:
    // One file, shared by both sides. The sampler's side looks at `failure` once `failed` is set.
    struct File {
        std::string path;
        std::unique_ptr<collector::CaptureFile> direct;  // this thread's alone
        std::atomic<bool> failed{false};
        Error failure;
    };
    using FileRef = std::shared_ptr<File>;

    enum class Kind : std::uint8_t { kOpen, kAppend, kOverwrite, kCommit, kAbandon };
    struct Operation {
        FileRef file;
        Kind kind = Kind::kAbandon;
        std::uint64_t offset = 0;  // kOverwrite
        std::vector<std::byte> bytes;
    };
    class QueuedFile;

    [[nodiscard]] Result<void> submit(Operation operation);
    void run(const std::stop_token& stop);
    void perform(Operation& operation);
    [[nodiscard]] Result<void> perform_on(File& file, Operation& operation);
    [[nodiscard]] Result<void> open(File& file);
    [[nodiscard]] Result<void> commit(File& file);
    void enforce_budget(const std::string& current);
    void make_whole(const std::vector<std::string>& folders);
    void do_orders();

    std::string directory_;
    Report report_;
    Limits limits_;
    SpscQueue<Operation> queue_;
    std::atomic<std::uint64_t> budget_;
    std::atomic<Nanoseconds::rep> keep_{0};
    std::atomic<std::uint64_t> free_limit_{0};
    std::atomic<std::uint64_t> waiting_bytes_{0};
    std::uint64_t settled_bytes_ = UINT64_MAX;  // this thread's: on disk, frozen too, when that was last looked after
    std::string open_;                          // this thread's: the file at hand, as it is called while it is open
    bool untidy_ = true;                        // this thread's: half-written files may lie there
    FrozenCaptures frozen_;                     // this thread's
    std::atomic<std::uint64_t> frozen_budget_{UINT64_MAX};
    std::atomic<std::uint64_t> frozen_bytes_{0};
    std::mutex orders_mutex_;
    std::vector<std::function<void(FrozenCaptures&)>> orders_;
    std::atomic<std::uint64_t> bytes_on_disk_{0};
    std::atomic<std::uint64_t> files_on_disk_{0};
    std::atomic<std::uint64_t> abandoned_{0};
    std::jthread thread_;
};

}  // namespace perfvigil::daemon
