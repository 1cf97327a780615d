# Installs the library, its public headers, the command line and the package that find_package(largo) reads.
include(CMakePackageConfigHelpers)
set(LARGO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/largo)

# Relative, so that an installed tree can be moved; it only matters when largo is a shared library.
set_target_properties(largo PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(largo_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

install(TARGETS largo EXPORT largo-targets COMPONENT dev)
install(TARGETS largo_cli COMPONENT cli)
# Completions and the manual page, by the program itself as it is installed.
set(shell ${PROJECT_BINARY_DIR}/shell)
install(CODE "file(MAKE_DIRECTORY ${shell})
  execute_process(COMMAND ${CMAKE_COMMAND} -DOUT=${shell} -DTOOL=$<TARGET_FILE:largo_cli>
    -P ${PROJECT_SOURCE_DIR}/cmake/LargoShell.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)
install(FILES ${shell}/largo DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT cli)
install(FILES ${shell}/_largo DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT cli)
install(FILES ${shell}/largo.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT cli)
install(FILES ${shell}/largo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli)
if(LARGO_HAS_MPI)
  # In a file of its own: who does not ask for the component does not need MPI.
  set_target_properties(largo_mpi PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS largo_mpi EXPORT largo-mpi-targets COMPONENT dev)
  install(EXPORT largo-mpi-targets NAMESPACE largo:: DESTINATION ${LARGO_PACKAGE_DIR} COMPONENT dev)
else()
  set(without_mpi PATTERN "mpi" EXCLUDE)
endif()
if(LARGO_HAS_CUDA)
  set_target_properties(largo_cuda PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS largo_cuda EXPORT largo-cuda-targets COMPONENT dev)
  install(EXPORT largo-cuda-targets NAMESPACE largo:: DESTINATION ${LARGO_PACKAGE_DIR} COMPONENT dev)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/cuda/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.hpp" ${without_mpi})
install(EXPORT largo-targets NAMESPACE largo:: DESTINATION ${LARGO_PACKAGE_DIR} COMPONENT dev)

get_target_property(LARGO_LIBRARY_TYPE largo TYPE)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/largo-config.cmake.in
  ${PROJECT_BINARY_DIR}/largo-config.cmake INSTALL_DESTINATION ${LARGO_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/largo-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/largo-config.cmake ${PROJECT_BINARY_DIR}/largo-config-version.cmake
        DESTINATION ${LARGO_PACKAGE_DIR} COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT cli)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/liblargo-dev COMPONENT dev)
