#include "sampling/chi_squared.hpp"

#include <cmath>

#include "numerics/portable_math.hpp"

namespace largo {

void ChiSquaredDraws::draw() {
  token_normals(normal_draws_, 1, normals_, normals_ + kTokensAtOnce);
  token_words(uniform_draws_, 1, words_, words_ + kTokensAtOnce);
  normal_draws_.first += kBlockCounters;
  uniform_draws_.first += kCountersAtOnce;
  used_ = 0;
}

ChiSquaredDraws::Candidate ChiSquaredDraws::next() {
  if (used_ == kDrawn) draw();
  const Candidate candidate{double{normals_[used_]}, (static_cast<double>(words_[used_]) + 0.5) * 0x1p-32};
  ++used_;
  return candidate;
}

double ChiSquaredDraws::chi_squared(std::int64_t degrees) {
  if (degrees == 0) return 0;
  if (degrees == 1) {
    const double x = normal();
    return x * x;
  }
  const double delta = static_cast<double>(degrees) / 2 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * delta);
  for (;;) {
    const auto [x, u] = next();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double w = root * root * root;
    const double xx = x * x;
    // A bound of the logarithms, which decides 49 times in 50.
    if (u < 1 - 0.0331 * xx * xx) return 2 * delta * w;
    if (portable_log(u) < xx / 2 + delta * (1 - w + portable_log(w))) return 2 * delta * w;
  }
}

}  // namespace largo
