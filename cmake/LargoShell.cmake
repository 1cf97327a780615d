# What the program says of itself for shells and for man, in files that are installed.
#   OUT   the folder
#   TOOL  the program
foreach(pair "completion;bash;largo" "completion;zsh;_largo" "completion;fish;largo.fish" "manual;;largo.1")
  list(GET pair 0 command)
  list(GET pair 1 shell)
  list(GET pair 2 file)
  execute_process(COMMAND ${TOOL} ${command} ${shell} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
