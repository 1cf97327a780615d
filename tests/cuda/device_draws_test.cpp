// The draws and functions of host_draws_test.cpp have the same bits on a GPU as on the host.
#include <cstring>

#include "gpu.hpp"
#include "shared_draws.cuh"

namespace largo {
namespace {

class DeviceDraws : public GpuTest {};

TEST_F(DeviceDraws, AreThoseOfTheHost) {
  constexpr std::size_t kCount = 1 << 20;
  for (const cuda::Address& at :
       {cuda::Address{1, 0, 0}, cuda::Address{~std::uint64_t{0}, 5, std::uint64_t{1} << 62}}) {
    const std::vector<cuda::TokenDraws> draws = cuda::draws_on_device(at, kCount);
    for (std::size_t t = 0; t < kCount; ++t) {
      const cuda::TokenDraws here = cuda::token_draws(at, t);
      ASSERT_EQ(std::memcmp(&here, &draws[t], sizeof here), 0) << "token " << t;
    }
  }
}

TEST_F(DeviceDraws, RootsAreCorrectlyRoundedWithoutABranch) { EXPECT_EQ(cuda::wrong_roots_on_device(), 0U); }

TEST_F(DeviceDraws, FunctionsAreThoseOfTheHost) {
  std::vector<double> arguments;
  for (int i = 0; i < 100000; ++i) arguments.push_back(i * 0.0123 - (i % 3 == 0 ? 700 : 0));
  const std::vector<cuda::Functions> values = cuda::functions_on_device(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const cuda::Functions here = cuda::functions(arguments[i]);
    ASSERT_EQ(std::memcmp(&here, &values[i], sizeof here), 0) << arguments[i];
  }
}

}  // namespace
}  // namespace largo
