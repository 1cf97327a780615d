#include "largo/measures/planted_token.hpp"

#include <cmath>

#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"

namespace largo {

double log_weight(const PlantedToken& token, const ConstVectorRef& direction) {
  return numerics::portable_log(token.count) + token.score.value_or(token.token.dot(direction));
}

void check_planted_token(std::string_view function, const PlantedToken& token, std::ptrdiff_t d) {
  constexpr double kMostCopies = 1e300;
  check_size(function, "planted token", token.token.size(), d);
  check_finite(function, "planted token", token.token);
  if (token.score && !std::isfinite(*token.score)) {
    fail(function, "score of a planted token", *token.score, "finite");
  }
  if (!(token.count >= 1 && token.count <= kMostCopies)) {
    fail(function, "number of copies of a planted token", token.count, "between 1 and 1e300");
  }
}

}  // namespace largo
