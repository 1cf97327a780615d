// The exact errors against simulated prompts in R³, with attention and its Jacobians by their definitions:
// always 20,000 prompts, and a million when LARGO_LONG_TESTS is set. Each law is tested at six spreads s of
// the score and lengths L, with U, V and the query drawn anew for each. The U-gradient has a formula for
// Gaussian tokens alone, so four of the laws are Gaussian, one of them in a plane.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "largo/exact/gaussian_error.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace largo::million_prompts_test {
namespace {

// Seeds are fixed. There are 216 distances at either number of prompts, each beyond 4 with probability 6.3e-5
// for a new seed: one seed in 40 gives a false alarm.
constexpr double kMaxZ = 4;
constexpr std::uint64_t kSeed = 3;
constexpr std::ptrdiff_t kDimension = 3;
constexpr std::ptrdiff_t kOutputs = 2;
constexpr std::ptrdiff_t kBlock = 200;  // prompts per block; sums are added in order, whatever the threads

using Token = Eigen::Matrix<double, kDimension, 1>;
using TokenMatrix = Eigen::Matrix<double, kDimension, kDimension>;
using ValueMap = Eigen::Matrix<double, kOutputs, kDimension>;

struct Setting {
  double s;
  std::ptrdiff_t L;
};
constexpr std::array<Setting, 6> kSettings = {{{0.3, 2}, {1, 5}, {0.7, 60}, {1.5, 20}, {2, 100}, {3, 30}}};

Matrix random_matrix(const Stream& stream, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  Matrix values(rows, columns);
  stream.normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

struct TokenLaw {
  std::string name;
  std::uint64_t id;
  MeasurePtr law;
  bool gaussian;
};

std::vector<TokenLaw> token_laws() {
  const auto matrix = [](std::uint64_t id, std::ptrdiff_t columns) {
    return random_matrix(Stream(kSeed, id), kDimension, columns);
  };
  const auto gaussian = [&](std::uint64_t id, std::ptrdiff_t rank) {
    const Matrix root = matrix(id, rank);
    return std::make_shared<GaussianMeasure>(matrix(id + 1, 1), root * root.transpose());
  };
  const auto image = [&](std::uint64_t id, MeasurePtr base) {
    return std::make_shared<AffineMeasure>(matrix(id, kDimension), matrix(id + 1, 1), std::move(base));
  };
  const Matrix shape = matrix(30, kDimension);
  return {{"Gaussian", 100, gaussian(10, 3), true},
          {"AnotherGaussian", 101, gaussian(12, 3), true},
          {"ThirdGaussian", 102, gaussian(14, 3), true},
          {"GaussianInAPlane", 103, gaussian(16, 2), true},
          {"GaussianMixture", 104,
           std::make_shared<MixtureMeasure>(Vector{{1, 2}},
                                            std::vector<MeasurePtr>{gaussian(18, 3), gaussian(20, 3)}),
           false},
          {"ImageOfASphere", 105, image(22, std::make_shared<SphereMeasure>(kDimension, 1)), false},
          {"Elliptical", 106,
           std::make_shared<EllipticalMeasure>(shape * shape.transpose(), EllipticalBase::sphere,
                                               RadialLaw::uniform(0.2, 2)),
           false},
          {"ImageOfRademacher", 107, image(24, std::make_shared<ProductMeasure>(kDimension, rademacher())),
           false}};
}

// A law, a length and a layer whose scores have standard deviation s under the law.
struct Problem {
  Problem(const TokenLaw& tokens, std::size_t setting)
      : law(tokens.law),
        L(kSettings[setting].L),
        stream(Stream(kSeed, tokens.id).substream(setting)),
        U(random_matrix(stream.substream(0), kDimension, kDimension)),
        V(random_matrix(stream.substream(1), kOutputs, kDimension)),
        query(random_matrix(stream.substream(2), kDimension, 1)) {
    const Vector direction = U * query;
    U *= kSettings[setting].s / std::sqrt(direction.dot(law->covariance() * direction));
    a = U * query;
    const Tilt tilt = law->tilt(a, TiltOrder::covariance);
    limit_mean = tilt.mean;
    limit_covariance = tilt.covariance;
  }

  MeasurePtr law;
  std::ptrdiff_t L;
  Stream stream;
  Matrix U;
  ValueMap V;
  Token query, a, limit_mean;  // the limits are those of the tokens under softmax weights
  TokenMatrix limit_covariance;
};

enum Quantity : std::uint8_t { kOutput, kGradientV, kGradientU, kBias, kQuantities = kBias + kOutputs };
constexpr std::array<const char*, kBias + 1> kNames = {"output", "gradient_V", "gradient_U", "bias"};

struct Sums {
  std::array<double, kQuantities> value{};
  std::array<double, kQuantities> square{};

  void add(std::size_t quantity, double x) {
    value[quantity] += x;
    square[quantity] += x * x;
  }
  void add(const Sums& other) {
    for (std::size_t i = 0; i < kQuantities; ++i) {
      value[i] += other.value[i];
      square[i] += other.square[i];
    }
  }
  double z_score(std::size_t quantity, double truth, double count) const {
    const double mean = value[quantity] / count;
    return (mean - truth) / std::sqrt((square[quantity] / count - mean * mean) / count);
  }
};

// Adds one prompt, with a token in each row; `weights` is scratch space of the same length.
void add_prompt(const Problem& problem, Eigen::Ref<const RowMatrix> tokens, Vector& weights, Sums& sums) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::ptrdiff_t l = 0; l < problem.L; ++l) {
    weights[l] = Token(tokens.row(l)).dot(problem.a);
    largest = std::max(largest, weights[l]);
  }
  double total = 0;
  Token mean = Token::Zero();
  for (std::ptrdiff_t l = 0; l < problem.L; ++l) {
    weights[l] = std::exp(weights[l] - largest);
    total += weights[l];
    mean += weights[l] * Token(tokens.row(l));
  }
  mean /= total;
  TokenMatrix covariance = TokenMatrix::Zero();
  for (std::ptrdiff_t l = 0; l < problem.L; ++l) {
    const Token centred = Token(tokens.row(l)) - mean;
    covariance += (weights[l] / total) * centred * centred.transpose();
  }
  const Token shift = mean - problem.limit_mean;
  const Eigen::Matrix<double, kOutputs, 1> output = problem.V * shift;
  sums.add(kOutput, output.squaredNorm());
  // ∂T_k/∂V_ij = δ_ki mean_j and ∂T_k/∂U_ij = (V covariance)_ki query_j, over all k, i, j.
  sums.add(kGradientV, kOutputs * shift.squaredNorm());
  sums.add(kGradientU,
           problem.query.squaredNorm() * (problem.V * (covariance - problem.limit_covariance)).squaredNorm());
  for (std::size_t k = 0; k < kOutputs; ++k) sums.add(kBias + k, output[k]);
}

Sums simulate(const Problem& problem, std::ptrdiff_t prompts) {
  std::vector<Sums> blocks(static_cast<std::size_t>(prompts / kBlock));
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> workers;
    for (std::size_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        RowMatrix tokens(kBlock * problem.L, kDimension);
        Vector weights(problem.L);
        for (std::size_t block = worker; block < blocks.size(); block += threads) {
          problem.law->sample(problem.stream.substream(3), block * static_cast<std::uint64_t>(tokens.rows()),
                              tokens);
          for (std::ptrdiff_t i = 0; i < kBlock; ++i) {
            add_prompt(problem, tokens.middleRows(i * problem.L, problem.L), weights, blocks[block]);
          }
        }
      });
    }
  }
  Sums sums;
  for (const Sums& block : blocks) sums.add(block);
  return sums;
}

struct Expected {
  std::size_t quantity;
  double value;
};

std::vector<Expected> exact_errors(const Problem& problem, bool gaussian) {
  const auto L = static_cast<double>(problem.L);
  const OutputError error = score_law_error(*problem.law, problem.V, problem.a, L);
  const OutputError mean = score_law_error(*problem.law, TokenMatrix::Identity(), problem.a, L);
  std::vector<Expected> values = {{kOutput, error.mse}, {kGradientV, kOutputs * mean.mse}};
  const auto add_bias = [&values](const Vector& bias) {
    for (std::size_t k = 0; k < kOutputs; ++k) values.push_back({kBias + k, bias[k]});
  };
  add_bias(error.bias);
  if (!gaussian) return values;
  const AttentionError formula =
      gaussian_attention_error(problem.law->covariance(), problem.U, problem.V, problem.query, L);
  values.push_back({kOutput, formula.output.value});
  values.push_back({kGradientV, formula.gradient_V.value});
  values.push_back({kGradientU, formula.gradient_U.value});
  add_bias(formula.bias);
  return values;
}

class SimulatedLaw : public ::testing::TestWithParam<TokenLaw> {
 protected:
  void expect_agreement(std::ptrdiff_t prompts) {
    std::array<double, kNames.size()> worst{};
    for (std::size_t setting = 0; setting < kSettings.size(); ++setting) {
      const Problem problem(GetParam(), setting);
      const Sums sums = simulate(problem, prompts);
      for (const auto& [quantity, value] : exact_errors(problem, GetParam().gaussian)) {
        const double z = sums.z_score(quantity, value, static_cast<double>(prompts));
        const std::size_t name = std::min(quantity, kNames.size() - 1);
        EXPECT_LE(std::abs(z), kMaxZ)
            << kNames[name] << " at s = " << kSettings[setting].s << ", L = " << problem.L << ": " << value;
        worst[name] = std::max(worst[name], std::abs(z));
      }
    }
    for (std::size_t i = 0; i < worst.size(); ++i) {
      if (worst[i] > 0) RecordProperty(kNames[i], std::to_string(worst[i]));  // what was compared
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Laws, SimulatedLaw, ::testing::ValuesIn(token_laws()),
                         [](const auto& entry) { return entry.param.name; });

TEST_P(SimulatedLaw, TwentyThousandPrompts) { expect_agreement(20000); }

TEST_P(SimulatedLaw, AMillionPrompts) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "set LARGO_LONG_TESTS=1";
  expect_agreement(1000000);
}

}  // namespace
}  // namespace largo::million_prompts_test
