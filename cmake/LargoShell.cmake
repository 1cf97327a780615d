# What the program says of itself for shells and for man, in files that are installed.
#   OUT   the folder
#   TOOL  the program
function(written file)
  execute_process(COMMAND ${TOOL} ${ARGN} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
written(largo completion bash)
written(_largo completion zsh)
written(largo.fish completion fish)
written(largo.1 manual)
