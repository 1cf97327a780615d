# Run by ctest; any step that fails fails the test.
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    -DLARGO_PREFIX=${prefix} -DLARGO_VERSION=${VERSION} -DLARGO_MPI=${MPI})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer ${VERSION})
run(${WORK}/build/whole_library ${VERSION})
if(MPI)
  run(${WORK}/build/mpi_consumer)
endif()
if(EXISTS ${WORK}/build/avx2_consumer)
  file(READ /proc/cpuinfo cpu)
  if(cpu MATCHES " avx2 ")
    run(${WORK}/build/avx2_consumer ${VERSION})
  endif()
endif()

execute_process(COMMAND ${prefix}/${BINDIR}/largo --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${said}" "${VERSION}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the installed largo --version says '${said}', without ${VERSION}")
endif()

# Shells and man find what the program says of itself.
foreach(file bash-completion/completions/largo zsh/site-functions/_largo fish/vendor_completions.d/largo.fish man/man1/largo.1)
  file(READ ${prefix}/share/${file} text)
  if(NOT text MATCHES "needle")
    message(FATAL_ERROR "${file} does not know --needle")
  endif()
endforeach()
