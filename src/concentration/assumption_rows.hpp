// One layer and its queries, as the rows of assumptions() ask about them, and the rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "concentration/law_pieces.hpp"
#include "concentration/partition_domain.hpp"
#include "concentration/tilted_norms.hpp"
#include "largo/concentration/assumption.hpp"
#include "largo/concentration/attention_layer.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::concentration {

inline constexpr const char* kPropositions = "Prop. 3.1, Prop. 3.4, Thm 4.3";
inline constexpr const char* kOnlyValues =
    "largo knows this law only through values of its log-partition, and values at points prove nothing";

/// What is asked of a layer, computed once for all assumptions.
struct Question {
  const Measure& law;
  const Matrix& U;
  const Queries& queries;
  LawPieces tokens;
  FiniteQueries given;              // no rows: a law of queries
  std::optional<LawPieces> spread;  // the pieces of that law
  PartitionDomain anywhere;         // of Λ, in all directions
  PartitionDomain along_queries;    // in the directions that queries can have
  std::string reached;              // why queries of the law get where Λ is infinite; empty if not known
};

/// What is known at one query.
struct AtOneQuery {
  double log_partition = 0;
  double log_rho = 0;
  std::optional<TiltedNorms> norms;
};

Question question_about(const AttentionLayer& layer);

/// The values at each of finitely many queries; empty for a law of queries.
std::vector<AtOneQuery> at_all_queries(const Question& ask, const Execution& execution);

/// "(1, 0.5, …)" and "a = (1, 0.5), |a| = 1.118"
std::string shown(const ConstVectorRef& vector);
std::string shown_direction(const Vector& a);

// Rows about the laws alone (law_assumptions.cpp).
Assumption sub_gaussian_tokens(const Question& ask);
Assumption large_sigma(const Assumption& tokens);
Assumption sub_gaussian_queries(const Queries& queries);
Assumption centred_tokens(const Question& ask);
Assumption gaussian_tokens(const Question& ask);
Assumption bounded_tokens(const Question& ask);

// Rows about the tilted law at the queries (tilt_assumptions.cpp).
Assumption finite_log_partition(const Question& ask, const std::vector<AtOneQuery>& at);
using Norm = BoundedValue TiltedNorms::*;
/// `mean` is the average over a law of queries, if it is known.
Assumption tilted_moment(const Question& ask, const std::vector<AtOneQuery>& at,
                         const std::optional<TiltedNorms>& mean, Norm norm, int order);
Assumption finite_rho(const Question& ask, const std::vector<AtOneQuery>& at);

}  // namespace largo::concentration
