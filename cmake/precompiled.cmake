# Headers of libraries are read once, not once for each source: half of the time that a debug build
# spends in the front end. tutti_precompile_headers() gives every target of the folder its share.
# Each source still includes what it needs itself: the other compilers and builds go without.
#
# CMake's own way names a file of the build folder in the result, so ccache could not share objects
# between checkouts. Here the result depends on nothing but the compiler, its flags and the
# headers: the command runs in / and its input is a header of the system.

# The last one of each list is the input, the others are included before it.
set(TUTTI_HEADERS_system
  algorithm array charconv cstdint functional map memory optional set
  span string string_view unordered_map utility vector fmt/core.h)
set(TUTTI_HEADERS_program ${TUTTI_HEADERS_system} CLI/CLI.hpp)
set(TUTTI_HEADERS_tests ${TUTTI_HEADERS_system} gtest/gtest.h gmock/gmock.h)

# precompiled/SET-LEVEL.pch and the target that makes it.
function(tutti_precompiled set level)
  set(headers ${TUTTI_HEADERS_${set}})
  list(POP_BACK headers input)
  find_file(TUTTI_PRECOMPILED_${set} ${input} REQUIRED)
  list(TRANSFORM headers PREPEND "-include;")
  get_directory_property(options COMPILE_OPTIONS)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG}")
  if(set STREQUAL "tests")
    list(APPEND flags -DGTEST_HAS_PTHREAD=1)  # As its package says to all who link it.
  endif()
  set(output ${CMAKE_BINARY_DIR}/precompiled/${set}${level}.pch)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/precompiled)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} ${options} ${level}
            ${CMAKE_CXX23_STANDARD_COMPILE_OPTION} -Xclang -fno-pch-timestamp -x c++-header
            ${headers} ${TUTTI_PRECOMPILED_${set}}
            -o ${output} -MD -MT ${output} -MF ${output}.d
    DEPFILE ${output}.d WORKING_DIRECTORY / COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Reading the headers of ${set}${level}")
  add_custom_target(tutti_precompiled_${set}${level} DEPENDS ${output})
endfunction()

# REQUIRES: all targets are there, with their options.
function(tutti_precompile_headers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  get_directory_property(targets BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "MODULE_LIBRARY")
      continue()  # Its code can lie anywhere, and a header read for other code is refused.
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    get_target_property(target_options ${target} COMPILE_OPTIONS)
    set(set system)
    if(target MATCHES "_test$")
      set(set tests)
    elseif(target STREQUAL "tutti")
      set(set program)
    endif()
    foreach(source IN LISTS sources)
      get_source_file_property(options ${source} COMPILE_OPTIONS)
      set(level -O1)
      if("${options} ${target_options}" MATCHES "-O0")
        set(level -O0)
      endif()
      if(NOT TARGET tutti_precompiled_${set}${level})
        tutti_precompiled(${set} ${level})
      endif()
      set(precompiled ${CMAKE_BINARY_DIR}/precompiled/${set}${level}.pch)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        -include-pch ${precompiled} -Xclang -fno-pch-timestamp)
      set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${precompiled})
    endforeach()
  endforeach()
endfunction()
