// The assumptions about the laws of tokens and queries alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "concentration/assumption_rows.hpp"
#include "concentration/layer_average.hpp"
#include "concentration/tilted_moments.hpp"
#include "numerics/factor.hpp"

namespace largo::concentration {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kRoundedOne = 1 + 1e-12;     // a constant of 1, as far as rounding allows
constexpr double kCentred = 1e-12;            // of the spread: the rounding of a mean
constexpr double kCentredDifferences = 1e-9;  // the same for means from differences of Λ

// The length of a mean beside the spread of its law, the square root of the trace of the covariance.
struct Centre {
  double distance = 0;
  bool is_zero = true;  // as far as rounding tells
  std::string note;     // which tolerance took it for zero; empty if it is exactly zero
};

Centre centre_of(const Measure& law, const Vector& mean) {
  const bool proved = law.sub_gaussian_kind() != SubGaussianKind::at_least;
  const double rounding = proved ? kCentred : kCentredDifferences;
  const double spread = std::sqrt(law.covariance().trace());
  Centre centre{mean.norm(), true, ""};
  centre.is_zero = centre.distance <= rounding * spread;
  if (centre.is_zero && centre.distance > 0) {
    centre.note =
        fmt::format("taken for zero: the mean is below {:g} of the spread {:.4g} of the law, {}", rounding,
                    spread, proved ? "which is its rounding" : "the error of a mean from differences of Λ");
  }
  return centre;
}

}  // namespace

Assumption sub_gaussian_tokens(const Question& ask) {
  Assumption row{.name = "sub_gaussian_tokens",
                 .statement = "tokens are σ-sub-Gaussian: Λ(a) - <a, mean> <= σ²|a|²/2 for every a",
                 .needed_by = kPropositions};
  if (ask.anywhere.is_infinite_somewhere()) {
    row.value = kUnbounded;
    row.holds = Holds::no;
    row.where = fmt::format("Λ is infinite from {} on", shown_direction(ask.anywhere.where));
    return row;
  }
  row.value = ask.law.sub_gaussian_constant();
  const SubGaussianKind kind = ask.law.sub_gaussian_kind();
  if (kind == SubGaussianKind::at_least) {
    row.kind = ValueKind::at_least;
    if (std::isinf(*row.value)) {
      row.holds = Holds::no;
      row.note = "a search found values of Λ for which no σ is enough";
    } else {
      row.note =
          fmt::format("{}: a search up to |a| = {:.3g} needed this σ", kOnlyValues, ask.anywhere.searched);
    }
    return row;
  }
  row.kind = kind == SubGaussianKind::smallest ? ValueKind::exact : ValueKind::at_most;
  row.holds = Holds::yes;
  return row;
}

Assumption large_sigma(const Assumption& tokens) {
  Assumption row{.name = "large_sigma",
                 .statement = "σ is much larger than 1, as the paper states its bounds",
                 .value = tokens.value,
                 .kind = tokens.kind,
                 .holds = tokens.holds,
                 .needed_by = "Prop. 3.1, Prop. 3.4"};
  row.note = tokens.holds == Holds::no
                 ? "there is no σ"
                 : "the paper gives no number; a law that is σ-sub-Gaussian is so for every larger σ";
  return row;
}

Assumption sub_gaussian_queries(const Queries& queries) {
  Assumption row{.name = "sub_gaussian_queries",
                 .statement = "queries are 1-sub-Gaussian, with mean zero",
                 .needed_by = "Prop. 3.1, Prop. 3.4"};
  const Measure* const law = law_of(queries);
  // The constants of the paper do not depend on the queries, so these must not be arbitrarily far out.
  const auto far_from_zero = [&](double distance) {
    row.holds = Holds::unknown;
    row.note = fmt::format(
        "σ is that around the mean, which is at a distance of {:.4g} from zero; no constants serve queries "
        "arbitrarily far out, and the paper does not say how far they may be",
        distance);
  };
  if (law == nullptr) {
    row.value = 0;
    row.holds = Holds::yes;
    const double distance = std::get<Vector>(queries).norm();
    if (distance > 0) far_from_zero(distance);
    return row;
  }
  const Eigen::Index e = law->dimension();
  const PartitionDomain domain = partition_domain(*law, search_directions(Matrix::Identity(e, e)));
  if (domain.is_infinite_somewhere()) {
    row.value = kUnbounded;
    row.holds = Holds::no;
    row.where = fmt::format("Λ of the queries is infinite from {} on", shown_direction(domain.where));
    return row;
  }
  const double sigma = law->sub_gaussian_constant();
  const SubGaussianKind kind = law->sub_gaussian_kind();
  const bool small = sigma <= kRoundedOne;
  row.value = sigma;
  row.kind = kind == SubGaussianKind::smallest  ? ValueKind::exact
             : kind == SubGaussianKind::at_most ? ValueKind::at_most
                                                : ValueKind::at_least;
  if (kind == SubGaussianKind::at_least) {
    row.holds = small ? Holds::unknown : Holds::no;
    if (small) row.note = kOnlyValues;
  } else {
    row.holds = small ? Holds::yes : kind == SubGaussianKind::smallest ? Holds::no : Holds::unknown;
  }
  if (row.holds == Holds::unknown) {  // σ² is at least the variance along every direction
    const double variance = numerics::symmetric_eigenvalues(law->covariance()).values.maxCoeff();
    const double rounded = kind == SubGaussianKind::at_least ? 1 + kCentredDifferences : kRoundedOne;
    if (variance > rounded) {
      row.holds = Holds::no;
      row.where = fmt::format(
          "the largest variance of a query along a direction is {:.6g} > 1, and σ² is not below it",
          variance);
    }
  }
  if (!small && std::isfinite(sigma)) {
    row.note = fmt::format(
        "{}the paper's statement applies to queries divided by {:.4g} and U multiplied by it, which leave "
        "every "
        "score as it is",
        row.holds == Holds::unknown ? "only a bound above 1 is known; " : "", sigma);
  }
  const Centre centre = centre_of(*law, law->mean());
  if (row.holds == Holds::yes && !centre.is_zero) far_from_zero(centre.distance);
  if (row.note.empty()) row.note = centre.note;
  return row;
}

Assumption centred_tokens(const Question& ask) {
  Assumption row{.name = "centred_tokens",
                 .statement = "tokens have mean zero",
                 .needed_by = "the limit of softmax attention is linear attention (after the Lemma)"};
  const Vector& mean = ask.tokens.mean;
  if (mean.size() == 0) {
    row.note = "Λ is not finite around zero, so it does not tell the mean";
    return row;
  }
  const Centre centre = centre_of(ask.law, mean);
  row.value = centre.distance;
  row.holds = centre.is_zero ? Holds::yes : Holds::no;
  row.note = centre.note;
  if (!centre.is_zero) row.where = fmt::format("mean {}", shown(mean));
  return row;
}

Assumption gaussian_tokens(const Question& ask) {
  Assumption row{.name = "gaussian_tokens",
                 .statement = "tokens are Gaussian",
                 .needed_by = "Lemma, Thm 5.1, Thm 5.2 (given the task)"};
  const bool known = std::none_of(ask.tokens.pieces.begin(), ask.tokens.pieces.end(),
                                  [](const LawPiece& piece) { return piece.kind == PieceKind::unknown; });
  if (known) {
    row.holds = ask.tokens.is_gaussian() ? Holds::yes : Holds::no;
  } else if (ask.anywhere.is_infinite_somewhere()) {
    row.holds = Holds::no;
    row.where = fmt::format("Λ is infinite from {} on", shown_direction(ask.anywhere.where));
  } else {
    row.note = "largo does not know what this law is made of";
  }
  return row;
}

Assumption bounded_tokens(const Question& ask) {
  Assumption row{.name = "bounded_tokens",
                 .statement = "tokens lie in a ball around zero",
                 .kind = ValueKind::at_most,
                 .needed_by = "no proposition; certified bounds are sharper and serve more laws of queries"};
  const Eigen::Index d = ask.law.dimension();
  const Matrix I = Matrix::Identity(d, d);
  double farthest = 0;
  bool known = true;
  for (const LawPiece& piece : ask.tokens.pieces) {
    if (piece.kind == PieceKind::normal) {
      row.value = kUnbounded;
      row.kind = ValueKind::exact;
      row.holds = Holds::no;
      return row;
    }
    known = known && piece.kind == PieceKind::bounded;
    if (known) farthest = std::max(farthest, *reach(*piece.bounded, I, Vector::Zero(d)));
  }
  if (ask.anywhere.is_infinite_somewhere()) {  // a bounded law has a finite Λ
    row.value = kUnbounded;
    row.kind = ValueKind::exact;
    row.holds = Holds::no;
    row.where = fmt::format("Λ is infinite from {} on", shown_direction(ask.anywhere.where));
  } else if (known) {
    row.value = farthest;
    row.holds = Holds::yes;
  } else {
    row.note = "largo does not know the support of this law";
  }
  return row;
}

}  // namespace largo::concentration
