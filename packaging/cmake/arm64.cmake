# SPDX-License-Identifier: GPL-2.0-or-later
# Cross-building for arm64 with Debian's compiler, against the root that packaging/vm/make_arm64_root.sh makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(cache_root "$ENV{XDG_CACHE_HOME}")
if(NOT cache_root)
    set(cache_root "$ENV{HOME}/.cache")
endif()
set(CMAKE_SYSROOT ${cache_root}/perfvigil/arm64/root)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
    message(FATAL_ERROR "${CMAKE_SYSROOT} is not there: ./dev build --preset arm64 makes it")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# Inside the root, so that pkg-config takes its paths as they are.
set(PERFVIGIL_LIBPERF_DIR ${CMAKE_SYSROOT}/libperf)
# Lines but no types in the debug information: a third of the compiler's time less.
add_compile_options(-g1)
