// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigild: reads its arguments and its configuration, then runs.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "daemon/arguments.hpp"
#include "daemon/daemon.hpp"
#include "daemon/log.hpp"
#include "daemon/protocol.hpp"

namespace {

using namespace perfvigil;

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fputc('\n', stderr);
}

// The file asked for, or the default one where it exists, or none.
std::string config_file(const daemon::Arguments& arguments) {
    if (arguments.config) return *arguments.config;
    std::string file(protocol::kDefaultConfigFile);
    return ::access(file.c_str(), F_OK) == 0 ? file : std::string();
}

// Every event on every CPU is a descriptor, and so is every file whose symbols are awaited.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const daemon::Arguments& arguments) {
    using Action = daemon::Arguments::Action;
    const std::string file = config_file(arguments);
    const auto loaded = file.empty() ? config::Loaded{} : config::load_file(file);
    for (const auto& fault : loaded.faults) complain(config::to_text(fault, file));
    if (!loaded.faults.empty()) return daemon::kExitConfig;
    if (arguments.action == Action::kCheckConfig) {
        print(file.empty() ? "no configuration file: the defaults are in force\n" : file + ": ok\n");
        return daemon::kExitDone;
    }
    if (arguments.action == Action::kPrintConfig) {
        print(config::print_yaml(loaded.options));
        return daemon::kExitDone;
    }
    raise_descriptor_limit();
    // What is recorded names the programs of every user.
    ::umask(0027);
    std::signal(SIGPIPE, SIG_IGN);
    daemon::log::set_level(loaded.options.log.level);
    return daemon::run_daemon(loaded.options, {file, arguments.replay, arguments.speed});
}

}  // namespace

int main(int argc, char** argv) {
    using Action = daemon::Arguments::Action;
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto arguments = daemon::parse_arguments(words);
    if (!arguments) {
        complain("perfvigild: " + arguments.error().message + "; see perfvigild --help");
        return daemon::kExitUsage;
    }
    if (arguments->action == Action::kHelp) {
        print(daemon::usage_text());
        return daemon::kExitDone;
    }
    if (arguments->action == Action::kVersion) {
        print("perfvigild " PERFVIGIL_VERSION "\n");
        return daemon::kExitDone;
    }
    try {
        return run(*arguments);
    } catch (const std::exception& error) {
        // A bug, or memory that ran out.
        daemon::log::error("ended by an exception", {{"what", error.what()}});
        return daemon::kExitFailed;
    }
}
