# tutti_embed(TARGET NAME FILE...): compiles files into TARGET and writes generated/NAME.h:
#
#   #include "generated/catalog.h"
#   for (const auto& [file, text] : tutti::embedded::catalog()) ...   // In the order given here.
#
# The assembler copies the bytes (.incbin), so that a large file costs no compile time.
set(TUTTI_GENERATED ${CMAKE_BINARY_DIR}/include)

function(tutti_embed target name)
  list(LENGTH ARGN count)
  set(blobs "")
  set(symbols "")
  set(rows "")
  set(index 0)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    cmake_path(GET file FILENAME base)
    set(symbol tutti_embedded_${name}_${index})
    string(APPEND blobs
      "asm(\".section .rodata\\n\"\n"
      "    \".global ${symbol}\\n.global ${symbol}_end\\n.balign 16\\n\"\n"
      "    \"${symbol}:\\n.incbin \\\"${file}\\\"\\n${symbol}_end:\\n.byte 0\\n\"\n"
      "    \".text\\n\");\n")
    string(APPEND symbols "extern const char ${symbol}[];\nextern const char ${symbol}_end[];\n")
    string(APPEND rows "    File{\"${base}\", {${symbol}, ${symbol}_end}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${TUTTI_GENERATED}/generated/${name}.h @ONLY CONTENT
"/// Files compiled into the program; the texts live as long as it runs.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace tutti::embedded {

/// File name without its folder, and text.
using File = std::pair<std::string_view, std::string_view>;

std::span<const File> @name@();

}  // namespace tutti::embedded
")
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"generated/@name@.h\"

@blobs@
extern \"C\" {
@symbols@}

namespace tutti::embedded {

std::span<const File> @name@() {
  static const File files[@count@] = {
@rows@  };
  return files;
}

}  // namespace tutti::embedded
")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  target_sources(${target} PRIVATE ${source})
endfunction()
