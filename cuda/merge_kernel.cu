#include "merge_kernel.hpp"

#include <cuda_runtime.h>

#include "chunk_launch.cuh"
#include "running_sum.cuh"

namespace largo::cuda {
namespace {

__device__ bool is_bounded(double top) {
  return top >= -prompts::kLargestScore && top <= prompts::kLargestScore;
}

// The power of w in sum number k.
__device__ int power_of_weight(MergeJob::Kind kind, std::int64_t k) {
  if (kind == MergeJob::Kind::scores) return k < 3 ? 1 : k < 6 ? 2 : 3;
  return k == 1 ? 2 : 1;
}

// One thread for each sum of a prompt goes through the parts in order.
__global__ void merge(const __grid_constant__ MergeJob job) {
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item >= job.prompts * job.width) return;
  const std::int64_t prompt = item / job.width, k = item % job.width;
  const int power = power_of_weight(job.kind, k);
  const bool refuses = job.kind == MergeJob::Kind::bounded_tokens;
  RunningSum all;
  if (job.before != nullptr && job.before[(prompt + 1) * job.width - 1] != kNoTokens) {
    all = {job.before[item], job.before[(prompt + 1) * job.width - 1], false};
  }
  bool refused = refuses && !is_bounded(all.top);
  for_rows_of(job.from + prompt * job.parts * job.width, job.parts, job.width, k,
              [&](double more, double top) {
                if (top == kNoTokens) return;
                if (refuses && !refused && !is_bounded(top)) {
                  all.top = top;
                  refused = true;
                }
                if (!refused) all.add(more, top, power);
              });
  job.rows[item] = k < job.width - 1 ? all.sum : all.empty ? kNoTokens : all.top;
}

constexpr unsigned kThreads = 128;

}  // namespace

const char* launch_merge(const MergeJob& job, void* stream) {
  merge<<<blocks_for(job.prompts * job.width, kThreads, kMostBlocks), kThreads, 0,
          static_cast<cudaStream_t>(stream)>>>(job);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace largo::cuda
