// The expectations that the risk of single-location regression is made of, with their derivatives.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "exact/needle_sums.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo::icl {

/// In the order in which tables have them; G_1, G_2, H_1, H_2 are defined in single_location.cpp. Only the
/// first four matter where u is along k* and v along v*.
enum class Sum { crowd, crowd_squared, crowd_squares, needle_squared, G1, G2, H1, H2 };
inline constexpr std::size_t kPlanarSums = 4, kAllSums = 8;

struct SumValues {
  Estimate value;
  double by_shift = 0;   ///< the derivative in m <u, k*>
  double by_square = 0;  ///< the derivative in |u|²
};

struct SumPoint {
  Estimate needle;  ///< E q
  std::vector<SumValues> sums;

  double operator()(Sum sum) const { return sums[static_cast<std::size_t>(sum)].value.value; }
};

class SumTable {
 public:
  /// The first `count` sums.
  SumTable(double L, double needle_spread, std::size_t count);

  /// All of them where the needle's shift is m <u, k*> = shift and |u|² = square.
  SumPoint at(double shift, double square) const;

 private:
  struct Row {
    std::size_t product;
    double coefficient;
  };
  using Rows = std::vector<Row>;
  struct Expressions {
    Rows value, by_shift, by_square;
  };
  Rows rows_of(const exact::NeedleExpression& expression);

  double L_, needle_spread_;
  std::vector<exact::NeedleProduct> products_;
  std::map<exact::NeedleProduct, std::size_t> index_;
  std::vector<Expressions> all_;
};

}  // namespace largo::icl
