# SPDX-License-Identifier: GPL-2.0-or-later
# One interface target with the language, the warnings, the sanitizers and the include root of all our code.
add_library(perfvigil_flags INTERFACE)
target_include_directories(perfvigil_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_features(perfvigil_flags INTERFACE cxx_std_23)
target_compile_definitions(perfvigil_flags INTERFACE _GLIBCXX_ASSERTIONS PERFVIGIL_VERSION="${PROJECT_VERSION}")
target_compile_options(perfvigil_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual>
    # clang's -Wconversion includes sign conversions, g++'s does not; g++ is the compiler that ships.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
    -fno-omit-frame-pointer)

if(PERFVIGIL_WERROR)
    target_compile_options(perfvigil_flags INTERFACE -Werror)
endif()

if(PERFVIGIL_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "PERFVIGIL_FUZZ needs clang (cmake --preset fuzz; apt-get install clang-19 libclang-rt-19-dev)")
    endif()
    target_compile_options(perfvigil_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(PERFVIGIL_SANITIZE)
    target_compile_options(perfvigil_flags INTERFACE -fsanitize=${PERFVIGIL_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(perfvigil_flags INTERFACE -fsanitize=${PERFVIGIL_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(perfvigil_flags INTERFACE -fstack-protector-strong -D_FORTIFY_SOURCE=2)
    target_link_options(perfvigil_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
