// Stochastic descent with whole runs inside one kernel: a cluster of blocks of threads draws the prompts of a
// batch, with eight or more threads for each, sums their gradients and moves the parameters, step after step.
//
// Every number is computed by the operations of the CPU's code, in its order
// (src/prompts/regression_gradient.cpp and src/training/stochastic_descent.cpp), so runs are bit-identical to
// the CPU's: partial sums over tokens by lane and chunk, gradients over blocks of eight prompts, and these
// one after another. With other laws (law_prompt.cuh) gradients are summed over all prompts in order.
#include "descent_kernel.hpp"

#include <algorithm>

#include <cuda_runtime.h>

#include "descent_step.cuh"

namespace largo::cuda {
namespace {

template <int kParts, bool kLaws>
__global__ void __launch_bounds__(kThreads, 2)
    descend(const __grid_constant__ DescentSetting setting, DescentRun* runs, int cluster, int octets) {
  extern __shared__ double memory[];
  __shared__ DescentRun run;
  if (kLaws) octets = kWarp / kLanes;
  const int d = setting.dimension;
  const int rank = static_cast<int>(blockIdx.x) % cluster;
  DescentRun& saved = runs[static_cast<int>(blockIdx.x) / cluster];
  if (threadIdx.x == 0) run = saved;
  __syncthreads();
  const auto count = static_cast<std::int64_t>(parameter_count(d, setting.parameters));
  double* const values = setting.values + run.place * 3 * count;
  double* const rows = setting.rows + run.place * static_cast<std::int64_t>(2 * step_numbers(setting));
  const Shared s = lay_out(memory, d, setting.parameters, kLaws);
  for (int e = static_cast<int>(threadIdx.x); e < d * d && !kLaws; e += kThreads) {
    s.token_root[e] = setting.token_root[e];
    s.query_root[e] = setting.query_root[e];
    s.prior_root[e] = setting.prior_root[e];
  }
  for (std::int64_t e = threadIdx.x; e < 3 * count; e += kThreads) s.parameters[e] = values[e];
  const int in_warp = static_cast<int>(threadIdx.x) % kWarp, size = kLanes * octets;
  const unsigned all = octets == kWarp / kLanes ? 0xffffffffu : (1u << size) - 1;
  const Team team{all << (in_warp / size * size), 0xffu << (in_warp / kLanes * kLanes), octets,
                  in_warp % size / kLanes, in_warp % kLanes};
  wait_for_cluster(cluster);  // all have read what one of them writes at the end
  Place place{run.step, 0};
  Ending ending = Ending::in_order;
  while (place.step < run.until && ending == Ending::in_order) {
    ending = make_step<kParts, kLaws>(setting, run, s, team, cluster, rank, rows, place);
  }
  __syncthreads();
  if (rank != 0) return;
  for (std::int64_t e = threadIdx.x; e < 3 * count; e += kThreads) values[e] = s.parameters[e];
  if (threadIdx.x != 0) return;
  run.step = place.step;
  run.records = place.records;
  run.ending = ending;
  saved = run;
}

constexpr std::size_t kMoreThanHalf = 116 * 1024;
constexpr int kStaticBytes = 1024;  // an upper bound on the static shared memory

using Kernel = void (*)(DescentSetting, DescentRun*, int, int);
template <bool kLaws>
Kernel kernel_for(int numbers) {
  const int parts = (numbers + kLanes - 1) / kLanes;  // groups of eight
  return parts == 1 ? descend<1, kLaws> : parts == 2 ? descend<2, kLaws> : descend<4, kLaws>;
}

Kernel kernel_of(const DescentSetting& setting) {
  int numbers = setting.dimension + 1;
  if (!setting.has_laws) return kernel_for<false>(numbers);
  for (const DescentLaw* law : {&setting.laws.covariates, &setting.laws.queries, &setting.laws.prior}) {
    numbers = std::max({numbers, law->tokens.drawn, law->tokens.dimension + 1});
  }
  return kernel_for<true>(numbers);
}

std::size_t bytes_of(const DescentSetting& setting, const DescentShape& shape) {
  std::size_t numbers = shared_numbers(setting.dimension, setting.parameters, setting.has_laws);
  if (setting.has_laws)
    numbers += static_cast<std::size_t>(setting.laws.warps) * law_chunk_numbers(setting.laws);
  const std::size_t bytes = numbers * sizeof(double);
  // With more than half of the memory for each, no two blocks share a multiprocessor.
  return shape.apart && bytes < kMoreThanHalf ? kMoreThanHalf : bytes;
}

// Configures a launch; `config` keeps the address of `attribute`.
void configure(const DescentSetting& setting, const DescentShape& shape, int count,
               cudaLaunchAttribute& attribute, cudaLaunchConfig_t& config) {
  config.gridDim = dim3(static_cast<unsigned>(count * shape.cluster));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes_of(setting, shape);
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(shape.cluster);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = shape.cluster > 1 ? 1 : 0;
}

cudaError_t prepare(Kernel kernel, const DescentSetting& setting, const DescentShape& shape) {
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(bytes_of(setting, shape)));
  if (error != cudaSuccess || shape.cluster <= 8) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

constexpr int kLargestCluster = 16;

int largest_cluster(Kernel kernel, const DescentSetting& setting) {
  // Only code for compute capability 9.0 and up has the barrier of clusters.
  cudaFuncAttributes attributes = {};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess || attributes.ptxVersion < 90) return 1;
  for (int cluster = kLargestCluster; cluster > 1; cluster /= 2) {
    const DescentShape shape{cluster, 1, true};
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    configure(setting, shape, 1, attribute, config);
    int clusters = 0;
    if (prepare(kernel, setting, shape) == cudaSuccess &&
        cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess && clusters > 0) {
      return cluster;
    }
    cudaGetLastError();
  }
  return 1;
}

}  // namespace

const char* launch_descents(const DescentSetting& setting, DescentRun* runs, int count, DescentShape shape,
                            void* stream) {
  const Kernel kernel = kernel_of(setting);
  cudaError_t error = prepare(kernel, setting, shape);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
  configure(setting, shape, count, attribute, config);
  config.stream = static_cast<cudaStream_t>(stream);
  error = cudaLaunchKernelEx(&config, kernel, setting, runs, shape.cluster, shape.octets);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

int law_warps(const DescentSetting& setting) {
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const auto shared = static_cast<int>(shared_numbers(setting.dimension, setting.parameters, true));
  const int left = (most - kStaticBytes) / static_cast<int>(sizeof(double)) - shared;
  return std::clamp(left / static_cast<int>(law_chunk_numbers(setting.laws)), 0, kThreads / kWarp);
}

Residents resident_blocks(const DescentSetting& setting) {
  const Kernel kernel = kernel_of(setting);
  prepare(kernel, setting, {});
  int device = 0, processors = 1, blocks = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, bytes_of(setting, {}));
  return {processors, blocks * processors, largest_cluster(kernel, setting)};
}

}  // namespace largo::cuda
