# Flags for our own code: C++20, strict warnings, and no silent contraction of a*b+c into an FMA,
# because results must not depend on what the compiler chose to fuse.
add_library(largo_flags INTERFACE)
target_compile_features(largo_flags INTERFACE cxx_std_20)
# No machine of the last fifteen years stops at SSSE3: one level less to compile and to test.
target_compile_definitions(largo_flags INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
set(LARGO_CXX_FLAGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -ffp-contract=off $<$<BOOL:${LARGO_WERROR}>:-Werror>)
target_compile_options(largo_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${LARGO_CXX_FLAGS}>")

# largo_precompile(TARGET HEADERS...): headers that most sources of the target include; reading them is a third of the
# time of a build. The preset clang does without, and finds out a source that forgets an include.
function(largo_precompile target)
  if(LARGO_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# largo_unity(TARGET SIZE FOLDERS...): compiles up to SIZE sources of a folder at a time, so that what they instantiate of
# Eigen, CLI11 and the JSON library is compiled once. Names in their unnamed namespaces must differ; folders that are not
# listed, and kernels that are compiled for every instruction set, stay one by one.
function(largo_unity target size)
  if(NOT LARGO_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(root ${target} SOURCE_DIR)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    file(STRINGS ${root}/${source} for_every_instruction_set REGEX "hwy/foreach_target|simd-inl.hpp")
    if(NOT "${folder}" IN_LIST ARGN OR for_every_instruction_set)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${target}_${folder}" name)
    list(LENGTH ${name}_sources count)
    list(APPEND ${name}_sources ${source})
    math(EXPR batch "${count} / ${size}")
    set_source_files_properties(${root}/${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${name}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes a source that another one includes for a header, where such types would be a mistake.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# largo_add_test(NAME SOURCES...): one GoogleTest binary per folder, one ctest entry per test.
function(largo_add_test name)
  add_executable(test_${name} ${ARGN})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)  # private headers are tested, too
  target_link_libraries(test_${name} PRIVATE largo::largo largo_flags largo_test_support GTest::gtest_main)
  # What is tested is the library: the tests compile in two thirds of the time like this.
  target_compile_options(test_${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(LARGO_PRECOMPILE)
    target_precompile_headers(test_${name} REUSE_FROM largo_test_headers)
    # g++ 12 takes the standard library's headers for ours when they are precompiled, and is wrong about its strings.
    target_compile_options(test_${name} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds$<SEMICOLON>-Wno-restrict$<SEMICOLON>-Wno-stringop-overflow$<SEMICOLON>-Wno-stringop-overread>)
  endif()
  if(LARGO_UNITY)
    # Each source has a namespace of its own, so that names may be the same. Kernels stay one by one.
    foreach(source ${ARGN})
      file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} for_every_instruction_set REGEX "hwy/foreach_target|simd-inl.hpp")
      if(for_every_instruction_set)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(test_${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  math(EXPR limit "600 * ${LARGO_PATIENCE}")
  # Values of parameters that nobody prints are bytes and addresses: they would be part of the names.
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${limit})
endfunction()
