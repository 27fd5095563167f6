# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tools that need no shared library, linked from the objects of the ordinary
# build and LLVM's archives. They start in 2 ms instead of 30 to 80.
#
#   static-tools  build/static/{rondo,rondo-opt,rondo-translate}, for tests
#   rondo-wheel   build/wheel/rondo, for the wheel: it has no paths of this build
#
# The default tools stay dynamic: they take plugins and link faster.
# The archives are files here and not targets, whose interfaces would bring
# libLLVM.so.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
set(default ON)
if(RONDO_SANITIZE OR RONDO_FUZZ OR NOT archives)
  set(default OFF)
endif()
option(RONDO_STATIC_TOOLS "Also link static tools, which tests then use" ${default})

# A static program of a tool's objects.
function(rondo_static_tool name output)
  cmake_parse_arguments(PARSE_ARGV 2 tool "" "" "SOURCES;OBJECTS")
  add_executable(${name} EXCLUDE_FROM_ALL ${tool_SOURCES} ${tool_OBJECTS})
  set(own)
  foreach(part IN ITEMS Driver Modules Translations Reports Launch Formats Json Codegen Passes Plans PipeDialect Planning Lowering Schedule)
    add_dependencies(${name} Rondo${part})
    list(APPEND own $<TARGET_FILE:Rondo${part}>)
  endforeach()
  target_link_libraries(${name} PRIVATE -static -s -Wl,--gc-sections -Wl,--start-group ${own} ${archives} -Wl,--end-group)
  get_filename_component(folder ${output} DIRECTORY)
  get_filename_component(file ${output} NAME)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS "${own}" SKIP_BUILD_RPATH ON INSTALL_RPATH ""
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder} OUTPUT_NAME ${file})
endfunction()

if(archives)
  rondo_static_tool(rondo-wheel wheel/rondo SOURCES codegen/BuildPaths.cpp OBJECTS $<TARGET_OBJECTS:rondo>)
  target_compile_definitions(rondo-wheel PRIVATE RONDO_PORTABLE)
endif()
if(RONDO_STATIC_TOOLS)
  add_custom_target(static-tools ALL)
  foreach(tool IN ITEMS rondo rondo-opt rondo-translate)
    rondo_static_tool(${tool}-static static/${tool} OBJECTS $<TARGET_OBJECTS:${tool}>)
    # Linked after the dynamic one, so that an older static tool is out of date.
    add_dependencies(${tool}-static ${tool})
    set_target_properties(${tool}-static PROPERTIES LINKER_LANGUAGE CXX)
    add_dependencies(static-tools ${tool}-static)
  endforeach()
  # A test makes a wheel.
  add_dependencies(static-tools rondo-wheel)
endif()
