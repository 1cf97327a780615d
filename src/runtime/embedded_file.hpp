// A file of the source tree as bytes of the program, so that the program needs no files beside it.
#pragma once

/// Defines the symbols NAME and NAME_end, to be declared as `extern "C" const char NAME[], NAME_end[];`. PATH
/// is a literal, which largo_embed in src/CMakeLists.txt defines. A zero byte follows the file.
#define LARGO_EMBED_FILE(NAME, PATH)                                                                    \
  __asm__(".section .rodata\n.balign 16\n.global " #NAME ", " #NAME "_end\n" #NAME ":\n.incbin \"" PATH \
          "\"\n" #NAME "_end:\n.byte 0\n.previous\n")
