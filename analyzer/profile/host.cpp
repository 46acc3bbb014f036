// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/host.hpp"

namespace perfvigil::analyzer {

namespace {

// perf writes its bare version, other recorders their names too.
std::string recorder_of(const std::string& version) {
    return !version.empty() && version.front() >= '0' && version.front() <= '9' ? "perf " + version : version;
}

}  // namespace

ProfileHost profile_host(const collector::HostFacts& host) {
    ProfileHost kept{.hostname = host.hostname,
                     .os_release = host.os_release,
                     .architecture = host.architecture,
                     .cpu_description = host.cpu_description,
                     .recorder = recorder_of(host.version),
                     .cpus_online = host.cpus_online,
                     .kernel_command_line = host.kernel_command_line};
    const auto keep = [](const auto& rows, std::vector<ProfileFact>& into) {
        for (const auto& [name, value] : rows) into.push_back({name, value});
    };
    keep(host.vulnerabilities, kept.vulnerabilities);
    keep(host.kernel_config, kept.kernel_config);
    keep(host.settings, kept.settings);
    return kept;
}

}  // namespace perfvigil::analyzer
