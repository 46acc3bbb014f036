// SPDX-License-Identifier: GPL-2.0-or-later
// Reading a capture of about 60 MB into a sink that does nothing, beside xxh64 of the same file: how far the reader is
// from the speed of merely touching the bytes. With a path: that capture instead.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

#include "base/fd.hpp"
#include "collector/capture_header.hpp"
#include "collector/capture_reader.hpp"
#include "collector/capture_writer.hpp"
#include "collector/file_trailer.hpp"
#include "tests/support/capture_file_sink.hpp"
#include "tests/support/capture_stream.hpp"
#include "tests/support/temp_folder.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;
using namespace perfvigil::test;

constexpr int kRuns = 5;

class NullSink final : public RecordSink {
public:
    void on_record(const OrderedRecord&) override { ++records; }
    void on_cut(const Cut&) override {}
    std::uint64_t records = 0;
};

double best_ms(const std::function<void()>& work) {
    double best = 1e9;
    for (int i = 0; i < kRuns; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best =
            std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

double hash_ms([[maybe_unused]] const std::string& path) {
#ifdef XXH_INLINE_ALL
    volatile std::uint64_t hash = 0;
    return best_ms([&] {
        const auto file = MappedFile::open(path);
        hash = XXH64(file->bytes().data(), file->bytes().size(), 0);
    });
#else
    return 0;
#endif
}

double write(const std::string& path, int level) {
    CaptureStream stream({.slices = 10, .samples_per_slice = 6000, .chain_depth = 25});
    return best_ms([&] {
        auto writer = CaptureWriter::create(path, stream.events(), stream.host(), stream.processes(),
                                            {.compression_level = level});
        CaptureFileSink sink(**writer);
        stream.play(sink);
        (void)(*writer)->finish();
    });
}

// The same records as a recorder of another house would leave them: no facts of ours, so rounds decide the order.
void make_foreign(const std::string& path, const std::string& to) {
    const auto text = read_file(path, 1U << 30);
    auto bytes = *text;
    bytes[kHeadFactsOffset] = 0;
    bytes.resize(read_trailer(std::as_bytes(std::span(bytes)), bytes.size())->offset);
    auto fd = open_file(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)write_all(fd->get(), std::as_bytes(std::span(bytes)));
}

void measure(const char* what, const std::string& path) {
    std::uint64_t records = 0;
    const double read = best_ms([&] {
        auto reader = CaptureReader::open(path);
        NullSink sink;
        if (!reader || !(*reader)->finish(sink)) std::abort();
        records = sink.records;
    });
    const double hash = hash_ms(path);
    const double megabytes = static_cast<double>(MappedFile::open(path)->bytes().size()) / 1e6;
    std::printf("%-34s %8.1f MB %9lu records %8.1f ms", what, megabytes, records, read);
    if (hash > 0) std::printf("   xxh64 %6.1f ms   ratio %.2f", hash, read / hash);
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        measure(argv[1], argv[1]);
        return 0;
    }
    const TempFolder folder;
    const std::string plain = folder / "plain";
    const double wrote = write(plain, 0);
    std::printf("writing, plain (synthesis included) %.1f ms\n", wrote);
    measure("ours, plain", plain);
    make_foreign(plain, folder / "foreign");
    measure("foreign, plain, ordered by rounds", folder / "foreign");
    const std::string compressed = folder / "compressed";
    std::printf("writing, zstd 3 (synthesis included) %.1f ms\n", write(compressed, 3));
    measure("ours, zstd", compressed);
    make_foreign(compressed, folder / "foreign.zst");
    measure("foreign, zstd, ordered by rounds", folder / "foreign.zst");
#ifndef XXH_INLINE_ALL
    std::printf("no xxh64 beside it: apt-get install libxxhash-dev\n");
#endif
    return 0;
}
