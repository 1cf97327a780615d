// Layers for the tests.
#pragma once

#include <cmath>
#include <memory>

#include "largo/concentration/attention_layer.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/random/streams.hpp"

namespace largo::test {

/// Independent entries of variance 1/columns.
inline Matrix random_matrix(std::ptrdiff_t rows, std::ptrdiff_t columns, std::uint64_t stream) {
  Matrix values(rows, columns);
  Stream(41, stream).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values / std::sqrt(static_cast<double>(columns));
}

inline Vector random_vector(std::ptrdiff_t size, std::uint64_t stream) {
  return random_matrix(size, 1, stream);
}

inline MeasurePtr standard_gaussian(std::ptrdiff_t d) {
  return std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
}

inline MeasurePtr centred_gaussian(const Matrix& root) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(root.rows()), root * root.transpose());
}

}  // namespace largo::test
