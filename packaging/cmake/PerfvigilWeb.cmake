# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon's page: bundled by npm into BUILD/web, where a built perfvigild finds it, and installed below share/. It is
# left out, said, where npm is not there or cannot fetch what web/package-lock.json names; everything else is built.
option(PERFVIGIL_WEB "Build the daemon's page (needs npm)" ON)
find_program(PERFVIGIL_NPM npm)

set(page ${CMAKE_BINARY_DIR}/web)
if(PERFVIGIL_WEB AND PERFVIGIL_NPM)
    file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/*)
    add_custom_command(OUTPUT ${page}/index.html
        COMMAND ${CMAKE_COMMAND} -D NPM=${PERFVIGIL_NPM} -D SOURCE=${CMAKE_SOURCE_DIR}/web -D OUT=${page}
            -P ${CMAKE_SOURCE_DIR}/packaging/cmake/build_page.cmake
        DEPENDS ${page_sources} ${CMAKE_SOURCE_DIR}/web/build.mjs ${CMAKE_SOURCE_DIR}/web/package-lock.json
            ${CMAKE_SOURCE_DIR}/packaging/cmake/build_page.cmake
        COMMENT "The daemon's page" VERBATIM USES_TERMINAL)
    add_custom_target(web ALL DEPENDS ${page}/index.html)
else()
    set(why "PERFVIGIL_WEB is off")
    if(PERFVIGIL_WEB)
        set(why "npm was not found (Debian: apt-get install npm)")
    endif()
    message(STATUS "The daemon's page is left out: ${why}")
    add_custom_target(web COMMAND ${CMAKE_COMMAND} -E echo "The daemon's page is left out: ${why}" VERBATIM)
endif()
install(DIRECTORY ${page}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/perfvigil/web OPTIONAL)
