#include "concentration/assumption_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "concentration/layer_average.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"

namespace largo::concentration {
namespace {

// If all queries of a normal piece of full rank are possible, Uz lies with positive probability in the
// half-space that separates a point with Λ = ∞ from the convex set where Λ is finite.
bool fills_the_space(const LawPiece& piece) {
  if (piece.kind != PieceKind::normal) return false;
  const Vector values = numerics::symmetric_eigenvalues(piece.root * piece.root.transpose()).values;
  return values[0] > 1e-12 * values[values.size() - 1];
}

AtOneQuery at_one_query(const Question& ask, const Vector& a) {
  AtOneQuery at;
  at.log_partition = log_partition_at(ask.law, a);
  const double twice = log_partition_at(ask.law, 2 * a);
  if (ask.along_queries.proved && !(std::isfinite(at.log_partition) && std::isfinite(twice)))
    fail("assumptions", "the log-partition overflows float64 at a query: scale down U, the query or the law");
  at.log_rho = std::isinf(twice) ? std::numeric_limits<double>::infinity()
                                 : std::max(0.0, twice - 2 * at.log_partition);
  if (std::isfinite(at.log_partition)) at.norms = tilted_norms(ask.law, ask.tokens, a);
  return at;
}

}  // namespace

std::string shown(const ConstVectorRef& vector) {
  constexpr Eigen::Index kMost = 4;
  const Vector head = vector.head(std::min(vector.size(), kMost));
  return fmt::format("({:.4g}{})", fmt::join(head.begin(), head.end(), ", "),
                     vector.size() > kMost ? ", …" : "");
}

std::string shown_direction(const Vector& a) {
  return fmt::format("a = {}, |a| = {:.6g}", shown(a), a.norm());
}

Question question_about(const AttentionLayer& layer) {
  Question ask{*layer.tokens,
               layer.U,
               layer.queries,
               pieces_of(*layer.tokens),
               finite_queries(layer.queries),
               std::nullopt,
               {},
               {},
               ""};
  const Eigen::Index d = ask.law.dimension();
  ask.anywhere = partition_domain(ask.law, search_directions(Matrix::Identity(d, d)));
  ask.along_queries = partition_domain(ask.law, search_directions(ask.U));
  if (ask.given.rows.rows() > 0) return ask;
  ask.spread = pieces_of(*law_of(layer.queries));
  const auto& pieces = ask.spread->pieces;
  if (ask.along_queries.is_infinite_somewhere() &&
      std::any_of(pieces.begin(), pieces.end(), fills_the_space)) {
    ask.reached = fmt::format("Λ is infinite from {} on, and queries get there with positive probability",
                              shown_direction(ask.along_queries.where));
  }
  return ask;
}

std::vector<AtOneQuery> at_all_queries(const Question& ask, const Execution& execution) {
  std::vector<AtOneQuery> all(static_cast<std::size_t>(ask.given.rows.rows()));
  runtime::parallel_for(ask.given.rows.rows(), execution, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution);
    if (!(ask.given.probabilities[i] > 0)) {
      all[static_cast<std::size_t>(i)].norms.emplace();  // counts for nothing, wherever it is
      return;
    }
    all[static_cast<std::size_t>(i)] = at_one_query(ask, ask.U * ask.given.rows.row(i).transpose());
  });
  return all;
}

}  // namespace largo::concentration
