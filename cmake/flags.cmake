# Compiler and linker settings that every target shares.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
# __FILE__ is "src/...": ccache hands the compiler paths relative to the build folder.
add_compile_options(-fmacro-prefix-map=../../=)
if(NOT CCACHE)
  add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(
  -Wall -Wextra -Werror
  -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wvla -Wcast-qual
  -Wno-missing-field-initializers  # Members have defaults; naming only some of them is the point.
  -ffp-contract=off                # The same sums on every machine.
  -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wshadow alone also complains about parameters named like a method. The next two are wrong
  # about std::string and std::optional in version 12, the last about sources that are compiled
  # together: it takes all but the first file for headers.
  add_compile_options(-Wshadow=local -Wno-restrict -Wno-maybe-uninitialized
                      -Wno-subobject-linkage)
else()
  # std::stable_sort of libstdc++ 12 calls what it has itself deprecated; g++ still reports ours.
  add_compile_options(-Wshadow -Wthread-safety -fcolor-diagnostics -Wno-deprecated-declarations)
endif()

# tutti_compile_quickly(TARGET): for code that is compiled far longer than it runs, such as tests.
# Debug builds do not optimise it: with sanitizers that takes half the time.
function(tutti_compile_quickly target)
  if(TARGET ${target})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
endfunction()

# The same for some files of a library that is optimised.
function(tutti_compile_files_quickly)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Debug>:-O0>)
endfunction()

if(TUTTI_SANITIZE)
  # The address sanitizer sees what these would say, at the access itself; they are a fifth
  # of what the compiler has to do.
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all
                      -fno-sanitize=null,alignment,object-size)
  add_link_options(-fsanitize=${TUTTI_SANITIZE})
endif()
if(TUTTI_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND TUTTI_MARCH AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=${TUTTI_MARCH})
endif()
