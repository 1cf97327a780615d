// Whether the threads that are asked for can be had.
#pragma once

namespace largo {

/// InputError unless this process can start so many threads, its own included; 0 means one per core. A limit
/// (ulimit -u) would otherwise be met in the middle of the work, by oneTBB, which ends the program. Cost:
/// some 20 µs a thread.
void check_threads(int threads);

/// InputError where the threads cannot be started on which Pango looks for fonts: it would end the program.
void check_threads_of_fonts(const char* function);

}  // namespace largo
