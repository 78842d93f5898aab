# The library tutti_version behind generated/version.h. A new commit recompiles one small file.
# Also a script: cmake -DVERSION=... -DSOURCE=... -DOUTPUT=... -P version.cmake writes that file.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
endif()

function(tutti_write_version)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=7 --exclude=*
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(failed)
    set(commit "unknown")
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#include \"generated/version.h\"

namespace tutti {

std::string_view version() { return \"@VERSION@\"; }
std::string_view commit() { return \"@commit@\"; }

}  // namespace tutti
")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  tutti_write_version()
  return()
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/generated/version.h @ONLY CONTENT
"/// What this program was built from.
#pragma once

#include <string_view>

namespace tutti {

/// \"0.1.0\"
std::string_view version();

/// \"4f2c9d1\", \"4f2c9d1-dirty\" with local changes, or \"unknown\" outside a repository.
std::string_view commit();

}  // namespace tutti
")

# file(CONFIGURE) leaves an equal file alone, so that ninja stops here when the commit is the same.
set(version_source ${CMAKE_BINARY_DIR}/generated/version.cpp)
add_custom_target(tutti_commit
  COMMAND ${CMAKE_COMMAND} -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR}
          -DOUTPUT=${version_source} -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${version_source} COMMENT "Reading the commit" VERBATIM)
add_library(tutti_version STATIC ${version_source})
target_include_directories(tutti_version PUBLIC ${CMAKE_BINARY_DIR}/include)
add_dependencies(tutti_version tutti_commit)
