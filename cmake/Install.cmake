# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tools, and under RONDO_INSTALLED_RUNTIME what `rondo compile` and `rondo
# bundle` use, in the layout of RONDO_RUNTIME_DIR. No file names its own place,
# so an installation can be moved. The component runtime is what a wheel has too:
# all but the parts that depend on the machine's MPI or CUDA.

install(TARGETS rondo rondo-opt rondo-translate rondo-lsp-server RUNTIME DESTINATION bin)
install(TARGETS RondoRuntime ARCHIVE DESTINATION ${RONDO_INSTALLED_RUNTIME}/lib COMPONENT runtime)
if(TARGET RondoSearch)
  install(TARGETS RondoSearch ARCHIVE DESTINATION ${RONDO_INSTALLED_RUNTIME}/lib COMPONENT runtime OPTIONAL)
endif()
foreach(part IN ITEMS RondoMpi RondoCuda)
  if(TARGET ${part})
    # The parts that were built.
    install(TARGETS ${part} ARCHIVE DESTINATION ${RONDO_INSTALLED_RUNTIME}/lib OPTIONAL)
  endif()
endforeach()
install(DIRECTORY runtime DESTINATION ${RONDO_INSTALLED_RUNTIME}/include COMPONENT runtime
  FILES_MATCHING PATTERN CMakeLists.txt PATTERN *.h PATTERN *.cpp PATTERN *.cu PATTERN *.cuh)
# For bundles: the simulator, which is part of the runtime, and the search.
install(DIRECTORY schedule lowering DESTINATION ${RONDO_INSTALLED_RUNTIME}/include COMPONENT runtime
  FILES_MATCHING PATTERN CMakeLists.txt PATTERN *.h PATTERN *.cpp PATTERN *.def)
install(DIRECTORY planning/gathers DESTINATION ${RONDO_INSTALLED_RUNTIME}/include/planning COMPONENT runtime
  FILES_MATCHING PATTERN *.h PATTERN *.cpp)
install(FILES planning/FittingSearch.h planning/FittingSearch.cpp planning/ShardedSearch.h
  planning/ShardedSearch.cpp planning/Tightening.h planning/Tightening.cpp
  planning/PlanArenas.h planning/PlanArenas.cpp planning/FitLoop.h planning/Deadline.h
  DESTINATION ${RONDO_INSTALLED_RUNTIME}/include/planning COMPONENT runtime)
# The header of custom layers.
install(FILES runtime/bodies/rondo_body.h DESTINATION include)
install(DIRECTORY kinds DESTINATION ${RONDO_INSTALLED_RUNTIME}/include COMPONENT runtime FILES_MATCHING PATTERN *.h)
# The Python package finds bin/rondo from where it is: python/rondo/command.py.
install(DIRECTORY python/rondo DESTINATION ${RONDO_INSTALLED_RUNTIME}/python
  FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)
install(FILES cmake/Cuda.cmake DESTINATION ${RONDO_INSTALLED_RUNTIME}/include/cmake COMPONENT runtime)
install(DIRECTORY cmake/CudaRuntime DESTINATION ${RONDO_INSTALLED_RUNTIME}/include/cmake COMPONENT runtime)
install(DIRECTORY ${RONDO_MANUAL_DIR}/man1 DESTINATION share/man)
install(FILES ${RONDO_MANUAL_DIR}/rondo.bash DESTINATION share/bash-completion/completions RENAME rondo)
