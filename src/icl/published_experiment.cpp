#include "largo/icl/published_experiment.hpp"

#include <cmath>

#include "largo/icl/regression_maps.hpp"
#include "largo/random/streams.hpp"

namespace largo {

RegressionProblem published_problem(PublishedData data, Eigen::Index d) {
  Matrix S(d, d);
  for (Eigen::Index i = 0; i < d; ++i) {
    for (Eigen::Index j = 0; j < d; ++j) S(i, j) = std::pow(0.5, static_cast<double>(std::abs(i - j)));
  }
  const Matrix I = Matrix::Identity(d, d);
  const auto size = static_cast<double>(d);
  const bool paper = data == PublishedData::paper;
  return {paper ? S : Matrix(S * S), paper ? S : I, I / size, 0.1, 1 / std::sqrt(size + 1)};
}

std::vector<double> published_lengths() {
  std::vector<double> lengths;
  for (int i = 1; i < 10; ++i) lengths.push_back(10 * i);
  for (int i = 1; i <= 10; ++i) lengths.push_back(100 * i);
  return lengths;
}

Vector random_factored_start(Eigen::Index d, std::uint64_t seed) {
  Vector start(factored_map(d)->size());
  Stream(seed, 0).uniforms(0, {start.data(), static_cast<std::size_t>(start.size())});
  return (2 * start.array() - 1) / std::sqrt(static_cast<double>(d) + 1);
}

}  // namespace largo
