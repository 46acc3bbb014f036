// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace perfvigil::analyzer {

std::string gzip(std::string_view bytes) {
    constexpr int kGzipWindow = 15 + 16;  // deflateInit2: 16 more asks for a gzip header
    constexpr std::size_t kStep = 1U << 30;
    z_stream stream{};
    // It can only fail for want of memory.
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
    std::string out;
    int status = Z_OK;
    while (status == Z_OK) {
        const std::size_t step = std::min(bytes.size(), kStep);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream.avail_in = static_cast<uInt>(step);
        bytes.remove_prefix(step);
        do {
            const std::size_t had = out.size();
            out.resize(had + 65536);
            stream.next_out = reinterpret_cast<Bytef*>(out.data() + had);
            stream.avail_out = 65536;
            status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
            out.resize(out.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    }
    (void)deflateEnd(&stream);
    return out;
}

}  // namespace perfvigil::analyzer
