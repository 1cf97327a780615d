// Checks that the threads asked for can be started.
#pragma once

namespace largo {

/// Throws InputError unless this process can run this many threads, including its own; 0 means one per core.
/// Without this check, oneTBB would meet a limit (ulimit -u) in the middle of the work, and end the program.
/// Cost: about 20 µs per thread.
void check_threads(int threads);

/// Throws InputError if Pango's threads that look for fonts cannot be started: it would end the program.
void check_threads_of_fonts(const char* function);

}  // namespace largo
