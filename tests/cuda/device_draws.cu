#include <cuda_runtime.h>

#include <stdexcept>

#include "shared_draws.cuh"

namespace largo::cuda {
namespace {

__global__ void draw(Address at, std::size_t count, TokenDraws* draws) {
  const std::size_t t = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (t < count) draws[t] = token_draws(at, t);
}

__global__ void evaluate(const double* x, std::size_t count, Functions* y) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = functions(x[i]);
}

constexpr std::uint32_t kFirstRoot = (127u - 40) << 23, kLastRoot = (127u + 40) << 23;

__global__ void count_wrong_roots(unsigned long long* count) {
  const std::uint32_t stride = gridDim.x * blockDim.x;
  unsigned long long mine = 0;
  for (std::uint32_t bits = kFirstRoot + blockIdx.x * blockDim.x + threadIdx.x; bits < kLastRoot;
       bits += stride) {
    const float x = bits_as<float>(bits);
    if (root_of_squared_radius(x) != root(x)) ++mine;
  }
  if (mine > 0) atomicAdd(count, mine);
}

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

constexpr unsigned kThreads = 128;
unsigned blocks(std::size_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

}  // namespace

std::vector<TokenDraws> draws_on_device(const Address& at, std::size_t count) {
  std::vector<TokenDraws> draws(count);
  TokenDraws* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(TokenDraws)));
  draw<<<blocks(count), kThreads>>>(at, count, memory);
  check(cudaGetLastError());
  check(cudaMemcpy(draws.data(), memory, count * sizeof(TokenDraws), cudaMemcpyDeviceToHost));
  check(cudaFree(memory));
  return draws;
}

std::uint64_t wrong_roots_on_device() {
  unsigned long long *memory = nullptr, count = 0;
  check(cudaMalloc(&memory, sizeof count));
  check(cudaMemcpy(memory, &count, sizeof count, cudaMemcpyHostToDevice));
  count_wrong_roots<<<1024, kThreads>>>(memory);
  check(cudaGetLastError());
  check(cudaMemcpy(&count, memory, sizeof count, cudaMemcpyDeviceToHost));
  check(cudaFree(memory));
  return count;
}

std::vector<Functions> functions_on_device(const std::vector<double>& arguments) {
  const std::size_t count = arguments.size();
  std::vector<Functions> values(count);
  double* x = nullptr;
  Functions* y = nullptr;
  check(cudaMalloc(&x, count * sizeof(double)));
  check(cudaMalloc(&y, count * sizeof(Functions)));
  check(cudaMemcpy(x, arguments.data(), count * sizeof(double), cudaMemcpyHostToDevice));
  evaluate<<<blocks(count), kThreads>>>(x, count, y);
  check(cudaGetLastError());
  check(cudaMemcpy(values.data(), y, count * sizeof(Functions), cudaMemcpyDeviceToHost));
  check(cudaFree(x));
  check(cudaFree(y));
  return values;
}

}  // namespace largo::cuda
