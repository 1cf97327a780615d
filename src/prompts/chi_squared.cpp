#include "prompts/chi_squared.hpp"

namespace largo::prompts {

void ChiSquaredDraws::draw() {
  random::token_normals(normal_draws_, 1, normals_, normals_ + random::kTokensAtOnce);
  random::token_words(uniform_draws_, 1, words_, words_ + random::kTokensAtOnce);
  normal_draws_.first += random::kBlockCounters;
  uniform_draws_.first += random::kCountersAtOnce;
  used_ = 0;
}

Candidate ChiSquaredDraws::operator()() {
  if (used_ == kDrawn) draw();
  const Candidate candidate{double{normals_[used_]}, (static_cast<double>(words_[used_]) + 0.5) * 0x1p-32};
  ++used_;
  return candidate;
}

}  // namespace largo::prompts
