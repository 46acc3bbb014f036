# SPDX-License-Identifier: GPL-2.0-or-later
# What belongs on a host. Everything follows the prefix, of cmake --install too, but for the configuration: that is in
# /etc/perfvigil, where the programs look for it (component "config").
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/perfvigil)

# The manuals and the completion are made of what the built programs say about themselves.
find_package(Python3 QUIET COMPONENTS Interpreter)
set(manuals perfvigil.1 perfvigild.8 perfvigil.yaml.5)
set(reference ${CMAKE_BINARY_DIR}/reference)
list(TRANSFORM manuals PREPEND ${CMAKE_SOURCE_DIR}/docs/man/ OUTPUT_VARIABLE manual_sources)
list(TRANSFORM manual_sources APPEND .in)
list(TRANSFORM manuals PREPEND ${reference}/ OUTPUT_VARIABLE manual_files)
add_custom_command(OUTPUT ${manual_files} ${reference}/perfvigil.bash
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/packaging/reference.py --version ${PROJECT_VERSION}
        $<TARGET_FILE:perfvigil> $<TARGET_FILE:perfvigild> ${CMAKE_SOURCE_DIR}/docs/man ${reference}
    DEPENDS perfvigil perfvigild ${CMAKE_SOURCE_DIR}/packaging/reference.py ${manual_sources}
    COMMENT "Manuals and completion")
add_custom_target(reference ALL DEPENDS ${manual_files} ${reference}/perfvigil.bash)

install(TARGETS perfvigil RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS perfvigild RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS perfvigil-symbols RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/perfvigil)
install(FILES ${reference}/perfvigil.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${reference}/perfvigil.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${reference}/perfvigild.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES ${reference}/perfvigil.bash RENAME perfvigil
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

file(GLOB units CONFIGURE_DEPENDS systemd/*.service systemd/*.socket)
install(FILES ${units} DESTINATION lib/systemd/system)
install(FILES systemd/perfvigil.sysusers RENAME perfvigil.conf DESTINATION lib/sysusers.d)
install(FILES systemd/perfvigil.tmpfiles RENAME perfvigil.conf DESTINATION lib/tmpfiles.d)
install(DIRECTORY systemd/drop-ins/ DESTINATION ${share}/systemd)
# The units in the source tree name the places of a package, below /usr.
install(CODE [[
    file(GLOB installed $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/perfvigil*
        $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/perfvigil/systemd/*.conf)
    foreach(file IN LISTS installed)
        file(READ ${file} text)
        string(REGEX REPLACE "/usr/(sbin|share)/" "${CMAKE_INSTALL_PREFIX}/\\1/" text "${text}")
        file(WRITE ${file} "${text}")
    endforeach()
]])
install(FILES systemd/60-perfvigil.conf DESTINATION ${share}/sysctl)
install(DIRECTORY packaging/prometheus packaging/grafana DESTINATION ${share} PATTERN "*_test.yaml" EXCLUDE)

file(GLOB documents CONFIGURE_DEPENDS docs/*.md docs/*.proto)
install(FILES README.md CHANGELOG.md ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/pictures DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES config/perfvigil.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES config/perfvigil.yaml DESTINATION /etc/perfvigil COMPONENT config)
