#include "prompts/chi_squared.hpp"

namespace largo {

void ChiSquaredDraws::draw() {
  token_normals(normal_draws_, 1, normals_, normals_ + kTokensAtOnce);
  token_words(uniform_draws_, 1, words_, words_ + kTokensAtOnce);
  normal_draws_.first += kBlockCounters;
  uniform_draws_.first += kCountersAtOnce;
  used_ = 0;
}

Candidate ChiSquaredDraws::operator()() {
  if (used_ == kDrawn) draw();
  const Candidate candidate{double{normals_[used_]}, (static_cast<double>(words_[used_]) + 0.5) * 0x1p-32};
  ++used_;
  return candidate;
}

}  // namespace largo
