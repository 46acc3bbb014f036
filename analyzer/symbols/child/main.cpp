// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil-symbols: reads the symbol tables of foreign ELF files for perfvigild and perfvigil, which start it and
// talk to it over descriptor 3. Not for use by hand.
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "analyzer/symbols/child/sandbox.hpp"
#include "analyzer/symbols/child/server.hpp"
#include "analyzer/symbols/child_protocol.hpp"

namespace {

int complain(std::string_view sentence) {
    std::fprintf(stderr, "perfvigil-symbols: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace perfvigil;
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::puts("perfvigil-symbols " PERFVIGIL_VERSION);
        return 0;
    }
    int type = 0;
    socklen_t size = sizeof(type);
    if (::getsockopt(analyzer::kChildSocket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        return complain("is started by perfvigild and perfvigil, not by hand");
    }
    // Large tables come and go; give their memory back at once.
    (void)::mallopt(M_MMAP_THRESHOLD, 256 << 10);
    if (auto entered = analyzer::enter_sandbox({}); !entered) return complain(entered.error().message);
    if (auto served = analyzer::serve(analyzer::kChildSocket); !served) return complain(served.error().message);
    return 0;
}
