// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "analyzer/profile/builder.hpp"

namespace perfvigil::analyzer {
namespace {

TEST(UnitName, OfCgroupPaths) {
    const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const std::string docker = "/system.slice/docker-" + id + ".scope";
    const std::string cri =
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12.slice/cri-containerd-" + id + ".scope";
    const std::string crio = "/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope/container";
    struct Case {
        std::string path, unit, container;
    };
    const Case cases[] = {
        {"", "", ""},
        {"/", "", ""},
        {"/init.scope", "init.scope", ""},
        {"/system.slice", "system.slice", ""},
        {"/system.slice/nginx.service", "nginx.service", ""},
        {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", ""},
        {"/system.slice/foo.service/payload/deeper", "foo.service", ""},
        {"/system.slice/_oom_adj.service", "oom_adj.service", ""},
        {"/system.slice/dbus.socket", "dbus.socket", ""},
        {"/user.slice/user-1000.slice/session-2.scope", "session-2.scope", ""},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope", "app-foo.scope", ""},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice", "user@1000.service", ""},
        {"/-.slice/x", "", ""},
        {"/.service/.slice", "", ""},
        {docker, "docker-" + id + ".scope", "0123456789ab"},
        {"/docker/" + id, "", "0123456789ab"},
        {"/docker/" + id + "/init", "", "0123456789ab"},
        {cri, "cri-containerd-" + id + ".scope", "0123456789ab"},
        {crio, "crio-" + id + ".scope", "0123456789ab"},
        {"/kubepods/burstable/pod123/" + id, "", "0123456789ab"},
        {"/system.slice/containerd.service/kubepods-burstable-pod12.slice:cri-containerd:" + id, "containerd.service",
         "0123456789ab"},
        {"/machine.slice/libpod-" + id + ".scope/container", "libpod-" + id + ".scope", "0123456789ab"},
        {"/machine.slice/libpod-conmon-" + id + ".scope", "libpod-conmon-" + id + ".scope", ""},
        {"/docker/" + id.substr(1), "", ""},                                 // too short to be an id
        {"/docker/" + id.substr(1) + "G", "", ""},                           // no hexadecimal digit
        {"/docker/" + id + "/docker/f" + id.substr(1), "", "f123456789ab"},  // a container in a container
        {"no/slash/at/the/start.service", "start.service", ""},
    };
    for (const auto& [path, unit, container] : cases) {
        const auto name = unit_of_cgroup(path);
        EXPECT_EQ(name.unit, unit) << path;
        EXPECT_EQ(name.container, container) << path;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
