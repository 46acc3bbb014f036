# SPDX-License-Identifier: GPL-2.0-or-later
# Sources are found per folder: a new file needs no edit here.

# perfvigil_library(FOLDER [NAME target] [EXCLUDE regex] [LINK libs...] [PRIVATE_LINK libs...])
# A static library of every .cpp below FOLDER, perfvigil_FOLDER by default. A folder without sources is an empty interface.
function(perfvigil_library folder)
    cmake_parse_arguments(arg "" "NAME;EXCLUDE" "LINK;PRIVATE_LINK" ${ARGN})
    set(target ${arg_NAME})
    if(NOT target)
        set(target perfvigil_${folder})
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
    if(arg_EXCLUDE)
        list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
    endif()
    if(sources)
        add_library(${target} STATIC ${sources})
        target_link_libraries(${target} PUBLIC perfvigil_flags ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
    else()
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE perfvigil_flags ${arg_LINK})
    endif()
endfunction()

# perfvigil_program(NAME MAIN file LINK libs...): a program in the top of the build folder, once its main file exists.
function(perfvigil_program name)
    cmake_parse_arguments(arg "" "MAIN" "LINK" ${ARGN})
    file(GLOB main CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${arg_MAIN})
    if(main)
        add_executable(${name} ${main})
        target_link_libraries(${name} PRIVATE perfvigil_flags ${arg_LINK})
    endif()
endfunction()
