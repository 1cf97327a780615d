// Random matrices for tests, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::test {

/// Matrices of independent standard normals. Each test file has its own family, given by a seed:
///
///   constexpr RandomMatrices normals(7);
///   const Matrix U = normals(3, 3, 1);
class RandomMatrices {
 public:
  explicit constexpr RandomMatrices(std::uint64_t seed) : seed_(seed) {}

  /// Matrix `number` of the family, from draw `first` of its stream on.
  Matrix operator()(Eigen::Index rows, Eigen::Index columns, std::uint64_t number,
                    std::uint64_t first = 0) const {
    Matrix values(rows, columns);
    Stream(seed_, number).normals(first, {values.data(), static_cast<std::size_t>(values.size())});
    return values;
  }

 private:
  std::uint64_t seed_;
};

}  // namespace largo::test
