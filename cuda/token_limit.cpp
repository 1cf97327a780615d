#include "token_limit.hpp"

#include <fmt/format.h>

#include "chunk_layout.hpp"
#include "largo/runtime/check.hpp"
#include "runtime.hpp"

namespace largo::cuda {

namespace {

int shared_bytes() {
  int device = 0, room = 0;
  check(cudaGetDevice(&device), "choice of the GPU");
  check(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory");
  return room;
}

}  // namespace

int most_token_numbers() { return most_token_numbers(shared_bytes()); }

void check_token_numbers(const char* name, long long numbers) {
  if (numbers <= most_token_numbers()) return;
  fail(name, "dimension of the tokens", static_cast<double>(numbers),
       fmt::format("between 1 and {} on this GPU, whose blocks have {} KiB of shared memory; or run on "
                   "the CPU",
                   most_token_numbers(), shared_bytes() / 1024));
}

}  // namespace largo::cuda
