#include "largo/icl/exact_risk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "icl/polynomial_risk.hpp"
#include "icl/risk_statistics.hpp"
#include "icl/standard_coordinates.hpp"
#include "icl/task_scores.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

// How far and how fine the rules go. Steps over s² are the first ones, before halving; those over ξ are for
// short lengths. The statistics change at s of about √(2 ln L), within about 1 of s: there the rule over s²
// has a fixed number of nodes.
struct Rules {
  double depth;        // parts below e^-depth of an average are left out
  double step;         // first step over s²
  double steps_of_xi;  // steps per unit of v, ξ = exp(v - e^-v)
  double change;       // steps over s² are halved until every other node gives the same up to this
  double left_out;     // error from the parts left out, relative to the average of absolute values
};
constexpr Rules kFine{34, 0.2, 12, 1e-7, 0};
constexpr Rules kRough{16, 0.4, 6, 1e-5, 1e-6};
constexpr double kRounding = 1e-14;
constexpr double kLeastLength = 1e12;
constexpr double kShift = 0.3;  // first node, in steps: none is at zero, however often steps are halved
constexpr double kStepsPerScore = 0.5;  // more steps over ξ for each unit of √(2 ln L)
constexpr double kFirstXi = -3.4;
// If R_∞ is this many times the risk of predicting zero, R_L is not computed as R_∞ and the rest.
constexpr double kLargeLimit = 100;

// A rule over ξ > 0 with the weights of a standard normal, counting both signs: it is equally spaced in v,
// ξ = exp(v - e^-v).
struct XiNode {
  double xi, weight;
};
std::vector<XiNode> xi_rule(double L, const Rules& rules) {
  const double step = 1 / (rules.steps_of_xi + kStepsPerScore * std::sqrt(2 * std::log(L)));
  const double last = std::sqrt(2 * (rules.depth + std::log(std::max(L, kLeastLength))));
  std::vector<XiNode> nodes;
  for (int i = 0;; ++i) {
    const double v = kFirstXi + step * i, xi = std::exp(v - std::exp(-v));
    if (xi > last) return nodes;
    const double density = 2 * std::exp(-xi * xi / 2) / std::sqrt(2 * std::numbers::pi);
    nodes.push_back({xi, step * density * xi * (1 + std::exp(-v))});
  }
}

// R_L is computed as R_∞ and the rest, or as ½ E y² and the rest.
enum class Rest { of_limit, of_null };

struct HalfSums {  // over even nodes and over odd ones
  icl::TaskScoreSums even, odd;
};

class GivenXi {
 public:
  GivenXi(const icl::TaskScores& law, const SoftmaxTable& table, Rest rest, const Rules& rules)
      : law_(law), table_(table), rest_(rest), rules_(rules) {}

  icl::ScoreFactors factors(double square) {
    if (!(square < kLargestScoreSpread * kLargestScoreSpread)) {
      fail("exact_risk", "the scores overflow: scale down the parameters");
    }
    const icl::RiskStatistics f = icl::risk_statistics(table_, square);
    error_ = std::max(error_, f.relative_error);
    if (rest_ == Rest::of_limit) {
      return {f.phi, f.p, f.p, f.phi_slope, f.p_slope, f.relative_error * std::abs(f.phi)};
    }
    // The table has p + (1 + s²) F, to which its relative error refers.
    return {f.F, -f.rest, f.p, f.phi_slope, f.p_slope, f.relative_error * (f.F + 2 * f.p / (1 + square))};
  }

  void add_to(HalfSums& sums) {
    if (law_.rank() == 0) {
      const icl::ScoreFactors here = factors(law_.smallest_square());
      law_.add_constant(0.5, here, sums.even);
      law_.add_constant(0.5, here, sums.odd);
      return;
    }
    const double first = kShift * rules_.step;
    double step = rules_.step;
    add_nodes(first, 2 * step, step, sums.even);
    add_nodes(first + step, 2 * step, step, sums.odd);
    for (int i = 0; i < kMostHalvings && change(sums) > rules_.change; ++i) {
      sums.even += sums.odd;
      sums.even *= 0.5;
      sums.odd = sums.odd.scores.size() > 0 ? law_.no_sums_with_slopes() : law_.no_sums();
      add_nodes(first + step / 2, step, step / 2, sums.odd);
      step /= 2;
    }
  }

  double error() const { return error_; }  // relative error of the statistics

 private:
  static constexpr int kMostHalvings = 5;

  // Relative to the sum of all absolute values.
  static double change(const HalfSums& sums) {
    return std::abs(sums.even.value - sums.odd.value) / (sums.even.size + sums.odd.size);
  }

  // Adds nodes at w = first + i spacing. In w the law of s² is nearly standard normal (TaskScores::place()),
  // and the statistics rise from 1/L to 1.
  void add_nodes(double first, double spacing, double weight, icl::TaskScoreSums& sums) {
    constexpr double kMostSquare = 0.99 * kLargestScoreSpread * kLargestScoreSpread;
    const double last =
        std::sqrt(2 * (rules_.depth + std::log(std::max(table_.lengths().longest(), kLeastLength))));
    struct Node {
      icl::TaskScores::Place place;
      double size;
    };
    std::vector<Node> nodes;
    double top = -std::numeric_limits<double>::infinity();
    for (auto i = static_cast<int>(-(std::sqrt(2 * rules_.depth) + first) / spacing);
         first + spacing * i < last; ++i) {
      Node node{law_.place(first + spacing * i), 0};
      const double square = law_.smallest_square() + node.place.q;
      const icl::ScoreFactors f = factors(std::min(square, kMostSquare));
      // c² is at most κ s²
      node.size = node.place.log_density + std::log(node.place.slope) +
                  std::log(std::abs(f.square) * square + f.noise + std::abs(f.cross) * std::sqrt(square));
      top = std::max(top, node.size);
      nodes.push_back(node);
    }
    for (const auto& [place, size] : nodes) {
      if (size < top - rules_.depth) continue;
      law_.add(place, weight * place.slope, factors(law_.smallest_square() + place.q), sums);
    }
  }

  const icl::TaskScores& law_;
  const SoftmaxTable& table_;
  Rest rest_;
  const Rules& rules_;
  double error_ = 0;
};

Matrix with_a_column(const Matrix& given) {
  return given.cols() > 0 ? given : Matrix(Matrix::Zero(given.rows(), 1));
}

// The reflection that takes the first axis to the direction of `vector`, or to the opposite one.
Matrix reflection_to(const Vector& vector) {
  const Eigen::Index n = vector.size();
  const double norm = vector.norm();
  Matrix turn = Matrix::Identity(n, n);
  if (!(norm > 0)) return turn;
  Vector axis = vector / norm;
  axis[0] += axis[0] < 0 ? -1 : 1;
  turn -= (2 / axis.squaredNorm()) * axis * axis.transpose();
  return turn;
}

enum class Wanted { value, gradient };

class ExactRisk {
 public:
  ExactRisk(const RegressionProblem& problem, const LengthLaw& L, const RegressionParameters& given,
            const Rules& rules)
      : coordinates_(problem), table_(SoftmaxTable::shared(L)), parameters_(to_vector(given)), rules_(rules) {
    const icl::StandardParameters standard = coordinates_.from(parameters_);
    limit_ = icl::PolynomialRisk(problem, 0).at(parameters_);
    null_ = problem.null_risk();
    rest_ = limit_.value > kLargeLimit * null_ ? Rest::of_null : Rest::of_limit;
    const Vector label = coordinates_.queries().cols() > 0 ? standard.label : Vector(Vector::Zero(1));
    turn_ = reflection_to(label);
    head_.hidden = with_a_column(standard.hidden) * turn_;
    head_.tasks = coordinates_.tokens().transpose() * coordinates_.tasks();
    head_.targets = with_a_column(coordinates_.tasks().transpose() * coordinates_.queries()) * turn_;
    head_.v_hat = standard.v_hat;
    head_.label = (turn_ * label)[0];
    head_.v_y = standard.v_y;
    head_.noise = coordinates_.noise();
  }

  /// Whether the turn is not known well enough for the part of the gradient that needs it (gradient_of()).
  bool has_small_label() const {
    return head_.hidden.cols() > 1 && std::abs(head_.label) < kSmallLabel * label_unit();
  }

  /// Computes the gradient in U_21 in this case from gradients on both sides along the label. The term of
  /// second order in their distance is extrapolated: the remaining error is a small share of it.
  void mend_label(RiskAndGradient& found, const Execution& execution) const {
    const Eigen::Index d = coordinates_.dimension();
    const auto around = [&](double size) {
      RegressionParameters mean{Matrix::Zero(d + 1, d + 1), Vector::Zero(d + 1)};
      for (const double sign : {1.0, -1.0}) {
        ExactRisk moved = *this;
        moved.head_.label += sign * size * label_unit();
        const RiskAndGradient there = moved.compute(Wanted::gradient, execution);
        mean.U += 0.5 * to_parameters(there.gradient, d).U;
        found.gradient_error += there.gradient_error;
      }
      return Vector(mean.U.row(d).head(d));
    };
    const Vector near = around(kLabelStep), far = around(2 * kLabelStep);
    RegressionParameters mended = to_parameters(found.gradient, d);
    mended.U.row(d).head(d) = (4 * near - far) / 3;
    found.gradient = to_vector(mended);
    found.gradient_error += kShareOfChange * (far - near).norm();
  }

  RiskAndGradient compute(Wanted wanted, const Execution& execution) const {
    const std::vector<XiNode> rule = xi_rule(table_->lengths().longest(), rules_);
    const std::size_t slopes = wanted == Wanted::gradient ? slope_size() : 0;
    const std::size_t width = kScalars + 2 * slopes;
    const auto rows = runtime::distribute_rows(static_cast<std::ptrdiff_t>(rule.size()), width, execution,
                                               [&](std::ptrdiff_t i, std::span<double> row) {
                                                 fill(rule[static_cast<std::size_t>(i)], wanted, row);
                                               });
    // Sums over even and over odd nodes of the rule over ξ; the rows have the same for the other rules.
    Vector even = Vector::Zero(static_cast<Eigen::Index>(width)), odd = even;
    for (std::size_t i = 0; i < rule.size(); ++i) {
      (i % 2 == 0 ? even : odd) += Eigen::Map<const Vector>(rows.data() + i * width, even.size());
    }
    return result(even, odd, wanted);
  }

 private:
  static constexpr double kSmallLabel = 1e-3, kLabelStep = 1e-2, kShareOfChange = 0.1;

  // A label of this size changes scores as much as everything else together, or by one.
  double label_unit() const {
    const double tasks = std::sqrt(head_.tasks.squaredNorm() + head_.noise);
    return std::max(head_.hidden.norm(), 1.0) / (tasks > 0 ? tasks : 1);
  }

  enum : Eigen::Index { kEven, kOdd, kChange, kContour, kSize, kTable, kRelative, kScalars };

  std::size_t slope_size() const {
    return static_cast<std::size_t>(head_.hidden.size() + head_.targets.size() + head_.v_hat.size() + 2);
  }

  static void place(const icl::TurnedSlope& slope, double weight, std::span<double> row) {
    Eigen::Map<Vector> all(row.data(), static_cast<Eigen::Index>(row.size()));
    all << slope.hidden.reshaped(), slope.targets.reshaped(), slope.v_hat, slope.label, slope.v_y;
    all *= weight;
  }

  void fill(const XiNode& node, Wanted wanted, std::span<double> row) const {
    const icl::TaskScores law(head_, node.xi);
    GivenXi given(law, *table_, rest_, rules_);
    HalfSums sums;
    sums.even = sums.odd = wanted == Wanted::gradient ? law.no_sums_with_slopes() : law.no_sums();
    given.add_to(sums);
    row[kEven] = node.weight * sums.even.value;
    row[kOdd] = node.weight * sums.odd.value;
    row[kChange] = std::abs(row[kEven] - row[kOdd]);
    row[kContour] = node.weight * (sums.even.coarse + sums.odd.coarse);
    row[kSize] = node.weight * (sums.even.size + sums.odd.size);
    row[kTable] = row[kSize] * given.error() + node.weight * (sums.even.doubt + sums.odd.doubt);
    row[kRelative] = node.weight * given.error();
    if (wanted == Wanted::value) return;
    const std::size_t slopes = slope_size();
    place(law.slope(sums.even), node.weight, row.subspan(kScalars, slopes));
    place(law.slope(sums.odd), node.weight, row.subspan(kScalars + slopes, slopes));
  }

  // On a contour the relative error of a rule is the square of that with every other node; to be on the safe
  // side, the power 3/2 is taken. The other rules may meet narrow features, so their whole change is taken.
  static double error_of(double change, double size) {
    return size > 0 ? std::abs(change) * std::min(1.0, std::sqrt(std::abs(change) / size)) : 0;
  }

  Vector gradient_of(const ConstVectorRef& all) const {
    const Eigen::Index r = head_.hidden.rows(), q = head_.hidden.cols(), k = head_.targets.rows();
    const Matrix hidden = all.head(r * q).reshaped(r, q);
    const Matrix targets = all.segment(r * q, k * q).reshaped(k, q);
    // The risk does not change if hidden, targets and label turn together: this gives the part that is not
    // along the label.
    const Matrix moments = head_.hidden.transpose() * hidden + head_.targets.transpose() * targets;
    Vector label = Vector::Zero(q);
    if (!has_small_label()) label = (moments - moments.transpose()).col(0) / head_.label;
    label[0] = all[r * q + k * q + r];
    icl::StandardParameters slope;
    const Eigen::Index known = coordinates_.queries().cols();  // without the added column of zeros
    slope.hidden = (hidden * turn_).leftCols(known);
    slope.label = (turn_ * label).head(known);
    slope.v_hat = all.segment(r * q + k * q, r);
    slope.v_y = all[all.size() - 1];
    return coordinates_.gradient(slope);
  }

  RiskAndGradient result(const Vector& even, const Vector& odd, Wanted wanted) const {
    const Vector all = even + odd;
    const double value = all[kEven] + all[kOdd], size = all[kSize];
    const double base = rest_ == Rest::of_limit ? limit_.value : null_;
    RiskAndGradient found;
    found.risk.value = base + value;
    const double rules = all[kChange] + std::abs(value - 2 * (even[kEven] + even[kOdd])) +
                         error_of(value - all[kContour], size) + 10 * all[kTable] + rules_.left_out * size;
    found.risk.error = rules + kRounding * (base + size);
    if (wanted == Wanted::value) return found;
    const auto slopes = static_cast<Eigen::Index>(slope_size());
    const auto part = [&](const Vector& sums, Eigen::Index half) {
      return Vector(sums.segment(kScalars + half * slopes, slopes));
    };
    const Vector rest = gradient_of(part(all, 0) + part(all, 1));
    const Vector coarse = gradient_of(2 * part(all, 0)),
                 coarse_xi = gradient_of(2 * (part(even, 0) + part(even, 1)));
    found.gradient = rest;
    if (rest_ == Rest::of_limit) found.gradient += limit_.gradient;
    const double norm = rest.norm();
    found.gradient_error = (rest - coarse).norm() + (rest - coarse_xi).norm() +
                           norm * ((size > 0 ? rules / size : 0) + 10 * all[kRelative]) +
                           kRounding * found.gradient.norm();
    return found;
  }

  icl::StandardCoordinates coordinates_;
  std::shared_ptr<const SoftmaxTable> table_;
  Vector parameters_;
  Rules rules_;
  RiskPoint limit_;
  double null_ = 0;
  Rest rest_ = Rest::of_limit;
  Matrix turn_;
  icl::TurnedHead head_;
};

ExactRisk make(const RegressionProblem& problem, const LengthLaw& L, const RegressionParameters& parameters,
               const Rules& rules = kFine) {
  check(problem);
  refuse_sink(problem);
  if (L.is_infinite()) fail("exact_risk", "length", L.longest(), "finite");
  const Eigen::Index d = problem.dimension();
  check_shape("exact_risk", "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size("exact_risk", "v", parameters.v.size(), d + 1);
  return {problem, L, parameters, rules};
}

}  // namespace

Estimate exact_risk(const RegressionProblem& problem, const LengthLaw& L,
                    const RegressionParameters& parameters, const Execution& execution) {
  return make(problem, L, parameters).compute(Wanted::value, execution).risk;
}

Estimate rough_risk(const RegressionProblem& problem, const LengthLaw& L,
                    const RegressionParameters& parameters, const Execution& execution) {
  return make(problem, L, parameters, kRough).compute(Wanted::value, execution).risk;
}

RiskAndGradient exact_risk_and_gradient(const RegressionProblem& problem, const LengthLaw& L,
                                        const RegressionParameters& parameters, const Execution& execution) {
  const ExactRisk risk = make(problem, L, parameters);
  RiskAndGradient found = risk.compute(Wanted::gradient, execution);
  if (risk.has_small_label()) risk.mend_label(found, execution);
  return found;
}

}  // namespace largo
