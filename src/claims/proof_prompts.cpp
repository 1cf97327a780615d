#include "claims/proof_prompts.hpp"

#include <algorithm>

#include "largo/random/streams.hpp"
#include "numerics/simd_math.hpp"
#include "runtime/distribute.hpp"

namespace largo::claims {
namespace {

constexpr std::uint64_t kProofStream = 7101;

PromptRow attend_scores(const std::vector<double>& g, double s, double M, std::vector<double>& w) {
  const auto L = static_cast<double>(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) w[i] = s * g[i];
  numerics::exp(w, w);
  double sum = 0, first = 0, squares = 0, below = 0, largest = 0, reach = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    sum += w[i];
    first += w[i] * g[i];
    squares += w[i] * w[i];
    below += w[i] <= M ? w[i] : 0;
    largest = std::max(largest, w[i]);
    reach = std::max(reach, std::abs(g[i]));
  }
  const double A = first / sum, scale = L * std::exp(s * s / 2);
  PromptRow row{};
  row[kDenominator] = sum / scale;
  row[kNumerator] = first / scale;
  row[kTruncated] = below / L;
  row[kSquaredError] = (A - s) * (A - s) + (kProofDimension - 1) * squares / (sum * sum);
  row[kFirstRegime] = largest <= M ? 1 : 0;
  row[kOutside] = std::abs(A) > reach * (1 + 1e-12) ? 1 : 0;
  return row;
}

}  // namespace

std::array<Prompts, kProofSpreads.size()> draw_proof_prompts(std::int64_t L, std::ptrdiff_t count,
                                                             const ClaimOptions& options) {
  const Stream stream = Stream(options.seed, kProofStream).substream(static_cast<std::uint64_t>(L));
  const double M = largest_allowed(static_cast<double>(L));
  constexpr std::size_t kWidth = kProofSpreads.size() * kPromptNumbers;
  const auto rows = runtime::distribute_rows(
      count, kWidth, options.execution, [&](std::ptrdiff_t k, std::span<double> row) {
        std::vector<double> g(static_cast<std::size_t>(L)), w(g.size());
        stream.normals(static_cast<std::uint64_t>(k * L), g);
        for (std::size_t i = 0; i < kProofSpreads.size(); ++i) {
          const PromptRow prompt = attend_scores(g, kProofSpreads[i], M, w);
          std::copy(prompt.begin(), prompt.end(), row.data() + i * kPromptNumbers);
        }
      });
  std::array<Prompts, kProofSpreads.size()> prompts;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    for (std::size_t i = 0; i < kProofSpreads.size(); ++i) {
      std::copy_n(rows.data() + k * kWidth + i * kPromptNumbers, kPromptNumbers,
                  prompts[i].emplace_back().begin());
    }
  }
  return prompts;
}

}  // namespace largo::claims
