# tutti_folder(NAME): the library tutti_NAME of src/NAME and its test binary tests/NAME_test. The
# sources of TUTTI_JOINED_FOLDERS are compiled together.

# The names of our own folders become targets; one without sources hands on what it stands on.
function(tutti_links folder out)
  set(found "")
  foreach(link IN LISTS links_${folder})
    if(NOT link IN_LIST TUTTI_FOLDERS)
      list(APPEND found ${link})
    elseif(TARGET tutti_${link})
      list(APPEND found tutti_${link})
    else()
      tutti_links(${link} below)
      list(APPEND found ${below})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(tutti_folder folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${folder}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS src/${folder}/*.h)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS src/${folder}/*_test.cpp)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  tutti_links(${folder} links)
  if(sources)
    if(folder IN_LIST TUTTI_JOINED_FOLDERS)
      tutti_together(${folder} sources ${sources})
    endif()
    add_library(tutti_${folder} STATIC ${sources})
    target_include_directories(tutti_${folder} PUBLIC src ${TUTTI_GENERATED}
                               PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(tutti_${folder} PUBLIC ${links})
  elseif(headers)
    add_library(tutti_${folder} INTERFACE)
    target_include_directories(tutti_${folder} INTERFACE src ${TUTTI_GENERATED})
    target_link_libraries(tutti_${folder} INTERFACE ${links})
  else()
    return()
  endif()
  if(TUTTI_TESTS AND tests)
    tutti_together(${folder}_test units ${tests})
    tutti_test(${folder} tutti_${folder} ${units})
    tutti_compile_quickly(${folder}_test)
  endif()
endfunction()

# A header rather than a flag: objects of tests that do not ask are the same in all checkouts.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/generated/source_dir.h @ONLY CONTENT
"/// Where the sources lie, for tests that read files.
#pragma once

#define TUTTI_SOURCE_DIR \"@CMAKE_SOURCE_DIR@\"
")

# Sources that are compiled together, a few at a time: most of what one costs the compiler are the
# headers that all of them include. So what is only for one source must have a name of its own in
# its folder; tests have namespaces for that. `out`: what to compile.
function(tutti_together name out)
  set(most 6)
  set(sources ${ARGN})
  list(LENGTH sources count)
  math(EXPR batches "(${count} + ${most} - 1) / ${most}")
  set(units "")
  foreach(batch RANGE 1 ${batches})
    # The rest is spread, so that no unit is much longer than another.
    math(EXPR begin "(${batch} - 1) * ${count} / ${batches}")
    math(EXPR size "${batch} * ${count} / ${batches} - ${begin}")
    list(SUBLIST sources ${begin} ${size} included)
    set(text "")
    foreach(source IN LISTS included)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(unit ${CMAKE_BINARY_DIR}/together/${name}_${batch}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    list(APPEND units ${unit})
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# tutti_test(NAME LIBRARIES SOURCE...): one gtest binary, build/<preset>/tests/NAME_test.
function(tutti_test name libraries)
  find_package(GTest REQUIRED)
  add_executable(${name}_test ${ARGN})
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name}_test PRIVATE ${libraries} GTest::gmock GTest::gtest_main)
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
