# SPDX-License-Identifier: GPL-2.0-or-later
# perfvigil::libperf, static: the distribution's through pkg-config, else the newest copy that ./dev deps built.
set(libperf_dirs "")
if(PERFVIGIL_LIBPERF_DIR)
    list(APPEND libperf_dirs ${PERFVIGIL_LIBPERF_DIR})
else()
    set(cache_root "$ENV{XDG_CACHE_HOME}")
    if(NOT cache_root)
        set(cache_root "$ENV{HOME}/.cache")
    endif()
    file(GLOB libperf_dirs ${cache_root}/perfvigil/libperf-*/lib/pkgconfig/libperf.pc)
    list(TRANSFORM libperf_dirs REPLACE "/lib/pkgconfig/libperf.pc$" "")
    list(SORT libperf_dirs COMPARE NATURAL ORDER DESCENDING)
endif()

# The prefix is passed by environment; pkg-config reads it before the system's folders, so try those first.
if(NOT PERFVIGIL_LIBPERF_DIR)
    pkg_check_modules(libperf QUIET libperf)
endif()
if(NOT libperf_FOUND AND libperf_dirs)
    list(GET libperf_dirs 0 libperf_dir)
    set(ENV{PKG_CONFIG_PATH} "${libperf_dir}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")
    unset(libperf_FOUND CACHE)
    pkg_check_modules(libperf QUIET libperf)
endif()

find_library(PERFVIGIL_LIBPERF_A libperf.a HINTS ${libperf_LIBRARY_DIRS} ${libperf_dir}/lib)
find_library(PERFVIGIL_LIBAPI_A libapi.a HINTS ${libperf_LIBRARY_DIRS} ${libperf_dir}/lib)
if(NOT libperf_FOUND OR NOT PERFVIGIL_LIBPERF_A OR NOT PERFVIGIL_LIBAPI_A)
    message(FATAL_ERROR "libperf and libapi (static) not found. Run ./dev deps, which builds them from the kernel source:\n"
        "  apt-get install --no-install-recommends linux-source-6.1 flex bison && ./dev deps\n"
        "or name a prefix that holds them with -DPERFVIGIL_LIBPERF_DIR=DIR")
endif()
message(STATUS "libperf: ${PERFVIGIL_LIBPERF_A}")

add_library(perfvigil::libperf INTERFACE IMPORTED GLOBAL)
target_include_directories(perfvigil::libperf INTERFACE ${libperf_INCLUDE_DIRS})
target_link_libraries(perfvigil::libperf INTERFACE ${PERFVIGIL_LIBPERF_A} ${PERFVIGIL_LIBAPI_A})
