// The functions of cuda/*.cuh, compiled for the host, have the bits of the CPU's vector kernels. They have
// the same bits on a GPU whose arithmetic is IEEE's, which device_draws_test.cpp checks.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "host_prompts.hpp"
#include "labels.cuh"
#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/elliptical.hpp"
#include "numerics/portable_math.hpp"
#include "prompts/chi_squared.hpp"
#include "prompts/collapsed_kernel.hpp"
#include "prompts/labels.hpp"
#include "prompts/linear_prompt.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_transforms.hpp"
#include "radius.cuh"
#include "random/float_draws.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo {
namespace {

const random::DrawAddress kAddresses[] = {
    {1, 0, 0},
    {0x123456789abcdef0, 77, 16 * 12345},
    {42, std::uint64_t{3} << 40, (std::uint64_t{1} << 62) + 32},
    {~std::uint64_t{0}, ~std::uint64_t{0}, (std::uint64_t{1} << 32) - 64}};

cuda::Address at(const random::DrawAddress& address) { return {address.seed, address.stream, address.first}; }

template <typename T>
auto bits(T x) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(x);
  } else {
    return std::bit_cast<std::uint64_t>(x);
  }
}

TEST(HostDraws, HaveTheWordsOfTheCpu) {
  constexpr std::size_t kGroups = 37;
  for (const random::DrawAddress& address : kAddresses) {
    runtime::AlignedVector<std::uint32_t> first(8 * kGroups), second(8 * kGroups);
    random::token_words(address, kGroups, first.data(), second.data());
    for (std::size_t t = 0; t < 8 * kGroups; ++t) {
      const auto words = cuda::token_words(at(address), t);
      ASSERT_EQ(words.first, first[t]) << t;
      ASSERT_EQ(words.second, second[t]) << t;
    }
  }
}

TEST(HostDraws, HaveTheLabelsOfTheCpu) {
  const std::vector<double> cumulative = {0.25, 0.25, 0.9, 0.95};  // below 1, and one without tokens
  for (const std::int64_t first : {std::int64_t{0}, 3 * prompts::kLabelSpan}) {
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{257}, prompts::kLabelSpan}) {
      std::vector<std::int64_t> counts(cumulative.size());
      const cuda::Address from = cuda::lane_of(7, 11, prompts::kLabelLane, static_cast<std::uint64_t>(first));
      for (std::int64_t t = 0; t < size; ++t) {
        const auto words = cuda::token_words(from, static_cast<std::uint64_t>(t));
        ++counts[static_cast<std::size_t>(cuda::label_of(words.first, words.second, cumulative.data(),
                                                         static_cast<int>(cumulative.size())))];
      }
      EXPECT_EQ(counts, prompts::count_labels(cumulative, 7, 11, first, size)) << first << ", " << size;
    }
  }
}

TEST(HostDraws, HaveTheNormalsOfTheCpu) {
  constexpr std::size_t kGroups = 2003;
  for (const random::DrawAddress& address : kAddresses) {
    runtime::AlignedVector<float> first(8 * kGroups), second(8 * kGroups);
    random::token_normals(address, kGroups, first.data(), second.data());
    for (std::size_t t = 0; t < 8 * kGroups; ++t) {
      const auto x = cuda::token_normals(at(address), t);
      ASSERT_EQ(bits(x.first), bits(first[t])) << t;
      ASSERT_EQ(bits(x.second), bits(second[t])) << t;
    }
  }
}

TEST(HostDraws, HaveTheTokensOfEachLaw) {
  constexpr std::size_t kCount = 512, kAll = 5, kKept = 4;
  runtime::AlignedVector<std::uint32_t> words(kCount), other(kCount);
  random::token_words(kAddresses[1], kCount / 8, words.data(), other.data());
  words[0] = 0;
  words[1] = ~std::uint32_t{0};
  words[2] = 0x80000000U;
  runtime::AlignedVector<float> tokens(kCount);
  prompts::coins(words.data(), kCount, 17, -0.5F, 2.5F, tokens.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(bits(cuda::coin(words[i], 17, -0.5F, 2.5F)), bits(tokens[i]));
  }
  prompts::interval(words.data(), kCount, 0.3F, 1.7F, tokens.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(bits(cuda::interval(words[i], 0.3F, 1.7F)), bits(tokens[i]));
  }
  const prompts::Atoms few{{-1.5F, 0.25F, 3, 7}, {0x20000000U, 0x90000000U, 0xf0000000U}};
  prompts::atoms(words.data(), kCount, few, tokens.data());
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(bits(cuda::atom(words[i], few)), bits(tokens[i]));
  for (const auto& [scale, bound] : {std::pair(0.7, 2.5), std::pair(50.0, 0.06), std::pair(0.01, 3.0)}) {
    const CoordinateLawPtr law = truncated_laplace(scale, bound);
    const auto recipe = std::get<prompts::TwoSided>(prompts::recipe_of(law));
    prompts::two_sided(words.data(), kCount, recipe, tokens.data());
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(bits(cuda::two_sided(words[i], recipe)), bits(tokens[i]));
      const double exact = law->quantile((words[i] + 0.5) * 0x1p-32);
      ASSERT_NEAR(tokens[i], exact, 6e-8 * std::abs(exact) + 1e-13 * scale) << words[i];
    }
  }

  runtime::AlignedVector<float> normals(kAll * kCount);
  for (std::size_t j = 0; j + 1 < kAll; j += 2) {
    random::token_normals({1, j, 0}, kCount / 8, normals.data() + j * kCount,
                          normals.data() + (j + 1) * kCount);
  }
  for (std::size_t j = 0; j < kAll; ++j) normals[j * kCount + 3] = 0;  // a token without a direction
  const runtime::AlignedVector<float> before = normals;
  prompts::normalise(normals.data(), kCount, kCount, kAll, kKept);
  for (std::size_t i = 0; i < kCount; ++i) {
    float square = 0;
    for (std::size_t j = 0; j < kAll; ++j) square = square + before[j * kCount + i] * before[j * kCount + i];
    for (std::size_t j = 0; j < kKept; ++j) {
      ASSERT_EQ(bits(before[j * kCount + i] * cuda::to_sphere(square)), bits(normals[j * kCount + i]));
    }
  }
}

TEST(HostDraws, HaveTheRadiiOfTheCpu) {
  const Vector values{{0.25, 1, 3, 0.5, 7}}, weights{{0.2, 0, 0.5, 0.3, 0}};
  for (const RadialLaw& law : {RadialLaw::discrete(values, weights), RadialLaw::uniform(0.1, 2)}) {
    cuda::RadiusLaw same;
    same.low = law.values()[0];
    same.high = law.values()[1];
    same.values = law.values().data();
    same.cumulative = law.cumulative().data();
    same.count = static_cast<std::int32_t>(law.cumulative().size());
    for (std::uint32_t i = 0; i < 4000; ++i) {
      const std::uint32_t high = i == 0 ? 0 : i == 1 ? ~0U : i * 0x9E3779B9U, low = i == 1 ? ~0U : i * 77777U;
      const double exact = std::sqrt(law.quantile(prompts::open_uniform(high, low)));
      ASSERT_EQ(bits(cuda::radius_of(high, low, same)), bits(static_cast<float>(exact))) << i;
    }
  }
}

TEST(HostDraws, HaveTheExponentialsAndLogarithmsOfTheCpu) {
  for (int i = -20000; i <= 20000; ++i) {
    const double x = i * 0.0371 + i * i * 1e-9;
    ASSERT_EQ(bits(cuda::exponential(x)), bits(numerics::portable_exp(x))) << x;
    const double y = std::ldexp(1 + std::abs(i) / 20001.0, i / 20);
    ASSERT_EQ(bits(cuda::logarithm(y)), bits(numerics::portable_log(y))) << y;
    if (i <= 1000) {
      ASSERT_EQ(bits(cuda::power_of_two(std::int64_t{i})), bits(numerics::power_of_two(std::int64_t{i})))
          << i;
    }
  }
}

TEST(HostDraws, SumCollapsedPromptsAsTheCpuDoes) {
  const struct {
    double s, alpha, beta;
  } kFrames[] = {{0, 1, 0.5}, {1.3, -0.2, 0.9}, {5.15, 3, 0}, {5.25, 1e-3, 40}, {60, 0.3, 0.7}, {1e6, 1, 1}};
  for (const auto& [s, alpha, beta] : kFrames) {
    for (const std::int64_t L : {1, 2, 7, 8, 33, 100, 511, 512, 513, 1000, 2049}) {
      const random::DrawAddress address{9, static_cast<std::uint64_t>(L), 0};
      const prompts::CollapsedSums cpu = prompts::collapsed_sums(address, L, s, alpha, beta, {});
      const prompts::CollapsedSums ours = cuda::host_collapsed_sums(at(address), L, s, alpha, beta);
      const double theirs[] = {cpu.g, cpu.h, cpu.vg, cpu.vh, cpu.p2, cpu.p2v, cpu.p2vv};
      const double same[] = {ours.g, ours.h, ours.vg, ours.vh, ours.p2, ours.p2v, ours.p2vv};
      for (int k = 0; k < 7; ++k)
        ASSERT_EQ(bits(theirs[k]), bits(same[k])) << "s " << s << " L " << L << " sum " << k;
    }
  }
}

TEST(HostDraws, HaveTheChiSquaredVariablesOfTheCpu) {
  for (const std::int64_t degrees : {0, 1, 2, 3, 10, 1000, 1000000007}) {
    prompts::ChiSquaredDraws cpu({3, 5, 1024}, {3, 5, 1024 + prompts::kUniforms});
    cuda::HostCandidates ours{{3, 5, 1024}, {3, 5, 1024 + prompts::kUniforms}};
    for (int i = 0; i < 3000; ++i) {
      ASSERT_EQ(bits(cpu.chi_squared(degrees)), bits(prompts::chi_squared(degrees, ours)))
          << degrees << " " << i;
    }
  }
  for (const std::int64_t L : {1, 2, 5, 1000}) {
    const random::DrawAddress address{8, static_cast<std::uint64_t>(L), std::uint64_t{1} << 63};
    const prompts::CollapsedSums cpu = prompts::linear_sums(address, L, 0.7, -1.1);
    cuda::HostCandidates next{at(address), {8, address.stream, address.first + prompts::kUniforms}};
    const prompts::CollapsedSums ours = prompts::linear_sums(L, 0.7, -1.1, next);
    EXPECT_EQ(bits(cpu.g), bits(ours.g));
    EXPECT_EQ(bits(cpu.h), bits(ours.h));
    EXPECT_EQ(bits(cpu.vg), bits(ours.vg));
    EXPECT_EQ(bits(cpu.vh), bits(ours.vh));
    EXPECT_EQ(bits(cpu.p2vv), bits(ours.p2vv));
  }
}

}  // namespace
}  // namespace largo
