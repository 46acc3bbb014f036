// SPDX-License-Identifier: GPL-2.0-or-later
// The opener for programs of one thread: hears of a Dso and opens its file on the spot. An open that hangs hangs its
// caller, so the daemon has a thread for it (daemon/opener_thread.hpp).
#pragma once

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/opened_files.hpp"
#include "analyzer/symbols/opener.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// Whether the processes that Dsos speak of live on this host now, or lived somewhere once.
enum class Origin : std::uint8_t { kLive, kCapture };

class FileOpener final : public FileSource, public collector::DsoListener {
public:
    FileOpener(Origin origin, OpenerOptions options, OpenedFilesLimits limits, const Clock& clock)
        : origin_(origin), opener_(std::move(options), clock), files_(limits, clock) {}

    void on_dso_mapped(const collector::DsoRef& dso, Pid pid) override;
    [[nodiscard]] Result<OpenedFileRef> file_of(const collector::Dso& dso) override;
    [[nodiscard]] Result<void> run(std::function<void()> work) override {
        work();
        return {};
    }
    void release(const collector::Dso& dso) override { files_.forget(dso.id); }

    [[nodiscard]] const Opener::Counters& counters() const { return opener_.counters(); }

private:
    [[nodiscard]] Result<OpenedFileRef> open(const collector::Dso& dso, Pid pid);

    Origin origin_;
    Opener opener_;
    OpenedFiles files_;
};

}  // namespace perfvigil::analyzer
