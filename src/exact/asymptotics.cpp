#include "largo/exact/asymptotics.hpp"

#include <algorithm>
#include <cmath>

#include "largo/exact/domain.hpp"

namespace largo {

double condensation_line(double L) {
  check_prompt_length("condensation_line", L);
  return std::sqrt(2 * std::log(L));
}

double concentration_exponent(double s, double L) {
  check_score_spread("concentration_exponent", s);
  const double line = condensation_line(L);
  if (s >= line) return 0;
  const double x = s / line;
  if (3 * x * x <= 1) return 1 - 2 * x * x;
  const double gap = 1 / x - x;
  return 0.25 * gap * gap;
}

double bulk_P2(double s, double L) {
  check_score_spread("bulk_P2", s);
  check_prompt_length("bulk_P2", L);
  return std::exp(std::min(0.0, s * s - std::log(L)));
}

double averaged_exponent(double sigma) {
  check_positive("averaged_exponent", "sigma", sigma);
  const double variance = sigma * sigma;
  return variance <= 0.5 ? 1 : 0.5 * (std::sqrt(1 + 4 / variance) - 1);
}

}  // namespace largo
