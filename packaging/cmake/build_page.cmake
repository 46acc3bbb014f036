# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -D NPM=… -D SOURCE=web -D OUT=FOLDER -P build_page.cmake: fetches what the lock file names, once per lock file,
# and bundles the page. What npm cannot fetch costs the page, not the build.
set(modules ${SOURCE}/node_modules)
set(fetched ${modules}/.perfvigil-lock)
file(SHA256 ${SOURCE}/package-lock.json wanted)
set(have "")
if(EXISTS ${fetched})
    file(READ ${fetched} have)
endif()
if(NOT have STREQUAL wanted)
    execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
        WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(failed)
        string(STRIP "${said}" said)
        string(SUBSTRING "${said}" 0 400 said)
        file(REMOVE_RECURSE ${OUT})
        message("The daemon's page is left out: npm could not fetch what web/package-lock.json names. All else is built; "
            "the next build tries again.\nnpm said: ${said}")
        return()
    endif()
    file(WRITE ${fetched} ${wanted})
endif()
find_program(NODE NAMES node nodejs REQUIRED)
execute_process(COMMAND ${NODE} build.mjs ${OUT} WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE failed)
if(failed)
    file(REMOVE_RECURSE ${OUT})
    message(FATAL_ERROR "web/build.mjs failed: see above")
endif()
