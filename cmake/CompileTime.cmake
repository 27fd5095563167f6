# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Large headers are compiled once and read back: MLIR's take half the time of a
# file that includes them, GoogleTest's half that of a test, the standard
# library's a quarter of a file of the core. Several files are compiled together,
# which shares headers and templates. No file may rely on either: builds with a
# compiler cache or of preset asan do without, so each file includes what it
# uses. A cache's keys include the whole precompiled file, which differs in every
# folder.
set(default ON)
if(CMAKE_CXX_COMPILER_LAUNCHER OR RONDO_SANITIZE)
  set(default OFF)
endif()
option(RONDO_PRECOMPILED_HEADERS "Compile MLIR's, GoogleTest's and the standard library's headers once" ${default})
option(RONDO_UNITY_BUILD "Compile several files together where that takes less time" ${default})

# For targets with flags of their own and without LLVM's.
function(rondo_precompile_standard_headers target)
  if(RONDO_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <functional> <map> <memory> <mutex> <optional> <string> <thread> <variant> <vector>)
  endif()
endfunction()

# Makes the targets of these folders and their subfolders that are compiled with
# LLVM's flags share the headers of RondoPipeDialect.
function(rondo_share_mlir_headers)
  if(NOT RONDO_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(RondoPipeDialect PRIVATE
    "\"dialect/Pipe.h\""
    "\"mlir/IR/Builders.h\""
    "\"mlir/IR/BuiltinOps.h\""
    "\"mlir/Pass/PassManager.h\""
    "\"llvm/Support/JSON.h\"")
  set(folders ${ARGN})
  while(folders)
    list(POP_FRONT folders folder)
    get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${below})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      get_target_property(options ${target} COMPILE_OPTIONS)
      # An executable's position-independent code differs from a library's.
      if(type STREQUAL "STATIC_LIBRARY" AND options MATCHES "no-exceptions" AND NOT target STREQUAL "RondoPipeDialect")
        target_precompile_headers(${target} REUSE_FROM RondoPipeDialect)
      endif()
    endforeach()
  endwhile()
endfunction()

# Files that have local names in common with others, such as run().
function(rondo_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Compiles files together, some eight at a time, where their headers take most
# of the time: the targets of these folders and their subfolders. A file's name
# says which group it is in, so that a new file does not change other groups.
function(rondo_compile_together)
  if(NOT RONDO_UNITY_BUILD)
    return()
  endif()
  set(folders ${ARGN})
  while(folders)
    list(POP_FRONT folders folder)
    get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${below})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type MATCHES "LIBRARY|EXECUTABLE")
        rondo_group_sources(${target})
      endif()
    endforeach()
  endwhile()
endfunction()

# Files of different parts of a library (the source property RONDO_PART) are in
# different groups, so that a program links only the parts that it refers to.
function(rondo_group_sources target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  # A relative name is one of the target's folder, not of this file's.
  get_target_property(folder ${target} SOURCE_DIR)
  set(parts "")
  foreach(source IN LISTS sources)
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${folder})
    get_property(part SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY RONDO_PART)
    list(APPEND parts "_${part}")
    list(APPEND sources_${part} ${source})
  endforeach()
  list(REMOVE_DUPLICATES parts)
  foreach(part IN LISTS parts)
    # No part has no suffix.
    string(REGEX REPLACE "^_$" "" suffix ${part})
    rondo_group_part(${target} "${suffix}" ${sources${part}})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(rondo_group_part target part)
  set(sources ${ARGN})
  list(LENGTH sources count)
  # A power of two, so that it seldom changes.
  set(groups 1)
  while(count GREATER 8)
    math(EXPR groups "2 * ${groups}")
    math(EXPR count "${count} / 2")
  endwhile()
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME)
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 4 hash)
    math(EXPR group "0x${hash} % ${groups}")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${group}${part})
  endforeach()
endfunction()
