#include "label_kernel.hpp"

#include <cuda_runtime.h>

#include "chunk_launch.cuh"
#include "labels.cuh"

namespace largo::cuda {
namespace {

constexpr int kThreads = 256;

// One block for each span of a prompt. Counts are whole numbers, so the order of additions does not matter.
__global__ void __launch_bounds__(kThreads) count_labels(const __grid_constant__ LabelJob job) {
  __shared__ std::int32_t counts[kMostComponents];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t item = blockIdx.x; item < job.prompts * job.spans; item += gridDim.x) {
    for (int k = thread; k < job.components; k += kThreads) counts[k] = 0;
    __syncthreads();
    const std::int64_t prompt = item / job.spans, span = job.first_span + item % job.spans;
    const std::int64_t first = span * prompts::kLabelSpan, left = job.length - first;
    const int size = static_cast<int>(left < prompts::kLabelSpan ? left : prompts::kLabelSpan);
    const Address at = lane_of(job.seed, job.first_prompt + static_cast<std::uint64_t>(prompt),
                               prompts::kLabelLane, static_cast<std::uint64_t>(first));
    for (int pair = thread; 2 * pair < size; pair += kThreads) {  // a counter has the words of two tokens
      const Words words = philox(at, static_cast<std::uint64_t>(pair));
      atomicAdd(&counts[label_of(words.word[0], words.word[1], job.cumulative, job.components)], 1);
      if (2 * pair + 1 < size) {
        atomicAdd(&counts[label_of(words.word[2], words.word[3], job.cumulative, job.components)], 1);
      }
    }
    __syncthreads();
    for (int k = thread; k < job.components; k += kThreads) job.counts[item * job.components + k] = counts[k];
    __syncthreads();
  }
}

}  // namespace

const char* launch_labels(const LabelJob& job, void* stream) {
  count_labels<<<blocks_for(job.prompts * job.spans, 1, std::int64_t{16} * processors()), kThreads, 0,
                 static_cast<cudaStream_t>(stream)>>>(job);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace largo::cuda
