// The assumptions about the tilted law at the queries.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "concentration/assumption_rows.hpp"
#include "concentration/mean_rho.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::concentration {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// The query with the largest of some values.
std::string largest_query(const std::vector<double>& values) {
  if (values.size() < 2) return "";
  const auto largest = std::max_element(values.begin(), values.end());
  return fmt::format("largest at query {}", largest - values.begin());
}

void describe_overflow(Assumption& row) {
  if (row.value && std::isinf(*row.value) && row.holds == Holds::yes)
    row.note = "finite, but the value, or the bound on it, is above 1.8e308";
}

void describe_mean_rho(const Question& ask, Assumption& row) {
  const MeanRho mean = mean_rho(ask.tokens, *ask.spread, ask.U);
  row.value = mean.log_value;
  row.kind = mean.exact ? ValueKind::exact : ValueKind::at_most;
  const std::string growth = mean.comparison("Σ");
  if (mean.log_value || mean.converges) {
    row.holds = Holds::yes;
    if (mean.norm > 0) row.where = fmt::format("{}, with Σ the covariance of the queries", growth);
    if (!mean.log_value) row.note = "finite, but no bound on it is known that float64 can hold";
  } else if (mean.diverges) {
    row.value = kNoBound;
    row.kind = ValueKind::exact;
    row.holds = Holds::no;
    row.where = fmt::format("{}, with Σ the covariance of the queries", growth);
    row.note = fmt::format(
        "min(1, ρ/L) <= (ρ/L)^θ has an average for every θ < {}, which is what averaged bounds rest on",
        mean.largest_power("Σ"));
  } else if (!ask.reached.empty()) {
    row.value = kNoBound;
    row.kind = ValueKind::exact;
    row.holds = Holds::no;
    row.where = ask.reached;
  } else if (!ask.tokens.sigma) {
    row.note = kOnlyValues;
  } else if (mean.is_borderline()) {
    row.where = growth;
    row.note = "too close to 1 to be decided in float64";
  } else {
    row.note = "no bound that is known is finite, and nothing shows that the average is infinite";
  }
}

}  // namespace

Assumption finite_log_partition(const Question& ask, const std::vector<AtOneQuery>& at) {
  Assumption row{.name = "finite_log_partition",
                 .statement = "Λ(Uz) is finite: attention over the law is defined (tilted moment of order 0)",
                 .needed_by = kPropositions};
  if (ask.along_queries.proved) {
    row.value = kNoBound;
    row.holds = Holds::yes;
    return row;
  }
  if (ask.anywhere.is_infinite_somewhere()) {
    row.value = ask.anywhere.radius;
    row.kind = ValueKind::at_most;
  }
  const auto bad =
      std::find_if(at.begin(), at.end(), [](const AtOneQuery& one) { return std::isinf(one.log_partition); });
  if (bad != at.end()) {
    const auto i = bad - at.begin();
    row.holds = Holds::no;
    row.where = fmt::format("query {}: {}", i, shown_direction(ask.U * ask.given.rows.row(i).transpose()));
  } else if (!at.empty()) {
    row.holds = Holds::yes;
  } else if (!ask.reached.empty()) {
    row.holds = Holds::no;
    row.where = ask.reached;
  } else {
    row.note = kOnlyValues;
  }
  return row;
}

Assumption tilted_moment(const Question& ask, const std::vector<AtOneQuery>& at,
                         const std::optional<TiltedNorms>& mean, Norm norm, int order) {
  Assumption row{.name = fmt::format("tilted_moment_{}", order),
                 .statement = fmt::format(
                     "the moment of order {} of the tilted law at Uz has an average over the queries", order),
                 .needed_by = "Prop. 3.4, Thm 4.3"};
  if (mean) {
    row.value = ((*mean).*norm).value;
    row.kind = ((*mean).*norm).exact ? ValueKind::exact : ValueKind::at_most;
    row.holds = Holds::yes;
    describe_overflow(row);
    return row;
  }
  if (at.empty()) {
    row.holds = ask.reached.empty() ? Holds::unknown : Holds::no;
    row.where = ask.reached;
    if (ask.reached.empty())
      row.note = ask.tokens.sigma ? "the moments of this law of queries are not known" : kOnlyValues;
    return row;
  }
  double sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Vector a = ask.U * ask.given.rows.row(static_cast<Eigen::Index>(i)).transpose();
    if (!at[i].norms) {
      const bool defined = std::isfinite(at[i].log_partition);
      row.at_queries.clear();
      row.holds = defined ? Holds::unknown : Holds::no;
      row.where = fmt::format("query {}: {}", i, shown_direction(a));
      row.note =
          defined ? "Λ is infinite so close to it that its values give no bound" : "Λ is infinite there";
      return row;
    }
    const BoundedValue& one = (*at[i].norms).*norm;
    if (!one.exact) row.kind = ValueKind::at_most;
    row.at_queries.push_back(one.value);
    sum += ask.given.probabilities[static_cast<Eigen::Index>(i)] * one.value;
  }
  row.value = sum;
  row.holds = Holds::yes;
  row.where = largest_query(row.at_queries);
  describe_overflow(row);
  return row;
}

Assumption finite_rho(const Question& ask, const std::vector<AtOneQuery>& at) {
  Assumption row{
      .name = "finite_rho",
      .statement =
          "ρ(Uz), ρ(a) = exp(Λ(2a) - 2Λ(a)), has an average over the queries; the value is its logarithm",
      .needed_by = "certified bounds (docs/bounds.md)"};
  if (at.empty()) {
    describe_mean_rho(ask, row);
    return row;
  }
  numerics::LogSumExp sum;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto query = static_cast<Eigen::Index>(i);
    row.at_queries.push_back(at[i].log_rho);
    if (ask.given.probabilities[query] > 0) sum.add(at[i].log_rho, ask.given.probabilities[query]);
    if (std::isinf(at[i].log_rho) && row.where.empty()) {
      row.where = fmt::format("query {}: Λ(2a) is infinite, {}", i,
                              shown_direction(ask.U * ask.given.rows.row(query).transpose()));
    }
  }
  row.value = sum.value();
  row.holds = std::isinf(*row.value) ? Holds::no : Holds::yes;
  if (row.holds == Holds::yes) row.where = largest_query(row.at_queries);
  return row;
}

}  // namespace largo::concentration
