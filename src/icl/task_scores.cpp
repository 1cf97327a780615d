#include "icl/task_scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "exact/form_contour.hpp"
#include "numerics/factor.hpp"
#include "numerics/simd_math.hpp"

namespace largo::icl {
namespace {

// λ_j below this share of the largest, or below kNoSpread, count as zero.
constexpr double kNegligible = 1e-26;
constexpr double kNoSpread = 1e-200;
constexpr double kContourStep = 0.1;  // the rule on the contour has an error of 2e-11
constexpr double kEndOfContour = 1e-13;
constexpr int kLanes = 8;  // nodes of a contour that are computed together
constexpr int kMostGroups = 32;

using Lane = Eigen::Array<double, kLanes, 1>;

struct Complex {
  Lane re, im;
};
EIGEN_STRONG_INLINE Complex operator+(const Complex& x, const Complex& y) {
  return {x.re + y.re, x.im + y.im};
}
EIGEN_STRONG_INLINE Complex operator*(const Complex& x, const Complex& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
EIGEN_STRONG_INLINE Complex operator*(double x, const Complex& y) { return {x * y.re, x * y.im}; }
EIGEN_STRONG_INLINE Complex& operator+=(Complex& x, const Complex& y) {
  x.re += y.re;
  x.im += y.im;
  return x;
}
EIGEN_STRONG_INLINE Complex number(double x) { return {Lane::Constant(x), Lane::Zero()}; }
EIGEN_STRONG_INLINE double real_sum(const Complex& x, const Complex& y) {
  return (x.re * y.re - x.im * y.im).sum();
}

using ComplexVector = std::vector<Complex>;

Matrix symmetric(const Matrix& A) { return 0.5 * (A + A.transpose()); }

}  // namespace

// Nodes of a contour: the variances and means of ζ at them, and the weight of each.
struct TaskScores::Tilt {
  ComplexVector D, mean;
  Complex weight, coarse;
};

// A form under a tilt: its mean and the mean of its gradient.
struct TaskScores::TiltedForm {
  TiltedForm(const Form& form, const Tilt& tilt, Eigen::Index rank)
      : average(number(form.c)), gradient(tilt.D.size()) {
    const auto n = static_cast<Eigen::Index>(tilt.D.size());
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Complex half = number(form.b[i]);
      for (Eigen::Index j = 0; j < rank; ++j) half += form.A(i, j) * tilt.mean[static_cast<std::size_t>(j)];
      average += tilt.mean[at] * (half + number(form.b[i])) + form.A(i, i) * tilt.D[at];
      gradient[at] = 2 * half;
    }
  }
  Complex average;
  ComplexVector gradient;
};

TaskScores::TaskScores(const TurnedHead& head, double xi) : head_(head), xi_(xi) {
  const Eigen::Index r = head.hidden.rows(), q = head.hidden.cols(), k = head.tasks.cols(), n = q - 1 + k;
  const double label = head.label * xi;
  Matrix N(r, n);
  N << head.hidden.rightCols(q - 1), label * head.tasks;
  Vector m = xi * head.hidden.col(0);
  scores_ = Matrix::Zero(r, n + 1);
  scores_.col(0) = m;
  ratio_ = distance_ = shift_ = Vector::Zero(n);
  Matrix basis = Matrix::Identity(n, n);
  if (N.size() > 0) {
    const numerics::SingularValues svd = numerics::singular_values(N);
    basis = svd.right;
    largest_ = svd.values[0] * svd.values[0];
    if (!(largest_ > kNoSpread)) largest_ = 0;
    for (Eigen::Index j = 0; j < svd.values.size(); ++j) {
      const double sigma = svd.values[j], square = sigma * sigma;
      if (!(square > std::max(kNoSpread, kNegligible * largest_))) break;
      const double along = svd.left.col(j).dot(m);
      m -= along * svd.left.col(j);
      scores_.col(1 + j) = sigma * svd.left.col(j);
      ratio_[j] = square / largest_;
      distance_[j] = along * along / largest_;
      shift_[j] = sigma * along / largest_;
      ++rank_;
    }
  }
  smallest_square_ = m.squaredNorm() + head.noise * label * label;

  queries_ = Matrix::Zero(q, n + 1);
  queries_(0, 0) = xi;
  queries_.bottomRightCorner(q - 1, n) = basis.topRows(q - 1);
  omegas_ = Matrix::Zero(k, n + 1);
  omegas_.rightCols(n) = basis.bottomRows(k);
  tasks_ = head.tasks * omegas_;
  const auto form = [&](const Matrix& all, double constant) {
    const Matrix both = symmetric(all);
    return Form{both.bottomRightCorner(n, n), both.col(0).tail(n), both(0, 0) + constant};
  };
  Matrix values = head.v_y * tasks_;
  values.col(0) += head.v_hat;
  c_ = form(scores_.transpose() * values, head.noise * label * head.v_y);
  kappa_ = form(values.transpose() * values, head.noise * head.v_y * head.v_y);
  y_ = form(omegas_.transpose() * head.targets * queries_, 0);
  cc_ = c_.A.cwiseProduct(c_.A);
  cy_ = c_.A.cwiseProduct(y_.A);
  rest_cc_ = cc_.rightCols(n - rank_).rowwise().sum();
  rest_cy_ = cy_.rightCols(n - rank_).rowwise().sum();
}

TaskScores::Place TaskScores::place(double w) const {
  // A share of the deviance: log(1 + a) - a/(1 + a), without cancellation near zero.
  const auto share = [](double a) {
    return std::abs(a) > 1e-3 ? std::log1p(a) - a / (1 + a)
                              : a * a * (0.5 - a * (2.0 / 3 - a * (0.75 - 0.8 * a)));
  };
  // The deviance rises with x from zero to infinity, and its logarithm is nearly linear in log x. It is
  // solved by Newton's method in these logarithms, or by bisection where that would leave the bracket.
  constexpr double kFirst = -230, kLast = 230, kClose = 1e-14;
  constexpr int kMostSteps = 100;
  Place place;
  double low = kFirst, high = kLast, at = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double x = std::exp(at), tilt = place.tilt = w < 0 ? x : -x / (1 + x);
    double deviance = 0, slope = 0;
    for (Eigen::Index j = 0; j < rank_; ++j) {
      const double a = ratio_[j] * tilt, inverse = 1 / (1 + a), moved = tilt * inverse;
      const double by_mean = distance_[j] * ratio_[j] * moved;
      deviance += 0.5 * (share(a) + by_mean * moved);
      slope += inverse * (0.5 * ratio_[j] * a * inverse + by_mean * inverse);
    }
    const double excess = std::log(deviance / (0.5 * w * w));
    (excess < 0 ? low : high) = at;
    const double step = excess * deviance / (slope * tilt * (w < 0 ? 1 : 1 + tilt));
    const double next = at - step;
    if (std::abs(step) < kClose || high - low < kClose * std::abs(at)) break;
    at = next > low && next < high ? next : 0.5 * (low + high);
  }
  double decay = 0;
  for (Eigen::Index j = 0; j < rank_; ++j) {
    const double inverse = 1 + ratio_[j] * place.tilt;
    decay += 0.5 / inverse * (ratio_[j] + distance_[j] / inverse);
  }
  place.q = 2 * largest_ * decay;
  place.slope = -2 * largest_ * w / place.tilt;
  place.log_density = -0.5 * w * w - std::log(place.slope);  // a standard normal density in w
  return place;
}

void TaskScoreSums::operator+=(const TaskScoreSums& other) {
  value += other.value;
  coarse += other.coarse;
  size += other.size;
  doubt += other.doubt;
  if (scores.size() == 0) return;
  scores += other.scores;
  squares += other.squares;
  values += other.values;
  targets += other.targets;
}

void TaskScoreSums::operator*=(double factor) {
  for (double* number : {&value, &coarse, &size, &doubt}) *number *= factor;
  for (Matrix* matrix : {&scores, &squares, &values, &targets}) *matrix *= factor;
}

TaskScoreSums TaskScores::no_sums() const { return {}; }

TaskScoreSums TaskScores::no_sums_with_slopes() const {
  TaskScoreSums sums;
  const Eigen::Index n = ratio_.size() + 1;
  sums.scores = sums.squares = sums.values = sums.targets = Matrix::Zero(n, n);
  return sums;
}

void TaskScores::add_constant(double weight, const ScoreFactors& factors, TaskScoreSums& sums) const {
  Tilt tilt;
  const auto n = static_cast<std::size_t>(ratio_.size());
  tilt.D.assign(n, number(1));
  tilt.mean.assign(n, number(0));
  tilt.weight = number(0);
  tilt.weight.re[0] = weight;
  tilt.coarse = tilt.weight;
  add_tilt(tilt, factors, sums);
}

void TaskScores::add(const Place& place, double weight, const ScoreFactors& factors,
                     TaskScoreSums& sums) const {
  const double decay = place.q / (2 * largest_);
  // The saddle point, or a point to its right, in ζ - 1.
  const double crossing = std::max(place.tilt, exact::kLeastCrossing / decay - 1);
  double curvature = 0, log_top = decay * crossing;
  for (Eigen::Index j = 0; j < rank_; ++j) {
    const double inverse = 1 + ratio_[j] * crossing, D = 1 / inverse;
    curvature += D * D * ratio_[j] * (0.5 * ratio_[j] + distance_[j] * D);
    log_top -= 0.5 * (std::log(inverse) + crossing * distance_[j] * D);
  }
  const auto [height, depth] = exact::FormContour(1 + crossing, curvature);
  const double scale = weight * std::exp(log_top) / (2 * largest_) * kContourStep / std::numbers::pi;
  Tilt tilt;
  const auto n = static_cast<std::size_t>(ratio_.size());
  tilt.D.assign(n, number(1));
  tilt.mean.assign(n, number(0));
  for (int group = 0; group < kMostGroups; ++group) {
    Lane cosh, sinh;
    for (int i = 0; i < kLanes; ++i) {
      cosh[i] = std::cosh(kContourStep * (group * kLanes + i));
      sinh[i] = std::sinh(kContourStep * (group * kLanes + i));
    }
    const Complex away{depth * (1 - cosh), height * sinh};  // distance from the crossing
    const Complex u{-crossing - away.re, -away.im};         // 2λ times u
    Complex exponent = decay * away;
    Complex product = number(1);
    for (Eigen::Index j = 0; j < rank_; ++j) {
      const double ratio = ratio_[j], centre = 1 + ratio * crossing;
      const Lane x = centre + ratio * away.re, y = ratio * away.im;
      const Lane inverse = 1 / (x * x + y * y);
      const Complex D{x * inverse, -y * inverse};
      // √(centre D), which never comes near the negative axis
      const Lane root = (0.5 * centre * (inverse.sqrt() + D.re)).sqrt();
      product = product * Complex{root, 0.5 * centre * D.im / root};
      const Complex moved = u * D;
      exponent += 0.5 * distance_[j] * Complex{moved.re + crossing / centre, moved.im};
      tilt.D[static_cast<std::size_t>(j)] = D;
      tilt.mean[static_cast<std::size_t>(j)] = shift_[j] * moved;
    }
    Lane size, sine, cosine;
    numerics::exp({exponent.re.data(), kLanes}, {size.data(), kLanes});
    numerics::sincos({exponent.im.data(), kLanes}, {sine.data(), kLanes}, {cosine.data(), kLanes});
    product = product * Complex{size * cosine, size * sine};
    const double last = std::hypot(product.re[kLanes - 1], product.im[kLanes - 1]);
    tilt.weight = scale * (product * Complex{height * cosh, depth * sinh});
    if (group == 0) {
      tilt.weight.re[0] *= 0.5;
      tilt.weight.im[0] *= 0.5;
    }
    tilt.coarse = 2 * tilt.weight;
    for (int i = 1; i < kLanes; i += 2) tilt.coarse.re[i] = tilt.coarse.im[i] = 0;
    add_tilt(tilt, factors, sums);
    if (last < kEndOfContour) break;
  }
}

void TaskScores::add_tilt(const Tilt& tilt, const ScoreFactors& factors, TaskScoreSums& sums) const {
  const TiltedForm c(c_, tilt, rank_), y(y_, tilt, rank_), kappa(kappa_, tilt, rank_);
  Complex cc = c.average * c.average, cy = c.average * y.average;
  const Eigen::Index n = ratio_.size();
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Complex with_c = number(rest_cc_[i]), with_y = number(rest_cy_[i]);
    for (Eigen::Index j = 0; j < rank_; ++j) {
      const Complex& D = tilt.D[static_cast<std::size_t>(j)];
      with_c += cc_(i, j) * D;
      with_y += cy_(i, j) * D;
    }
    const Complex slope = tilt.D[at] * c.gradient[at];
    cc += 2 * (tilt.D[at] * with_c) + slope * c.gradient[at];
    cy += 2 * (tilt.D[at] * with_y) + slope * y.gradient[at];
  }
  const Complex whole = 0.5 * (factors.square * cc + 2 * factors.cross * cy + factors.noise * kappa.average);
  const double value = real_sum(tilt.weight, whole);
  sums.value += value;
  sums.coarse += real_sum(tilt.coarse, whole);
  sums.size += std::abs(value);
  sums.doubt += 0.5 * factors.doubt * std::abs(real_sum(tilt.weight, cc));
  if (sums.scores.size() > 0) add_slopes(tilt, c, y, kappa, factors, sums);
}

namespace {

// Adds E[f ζ̃ζ̃ᵀ], ζ̃ = (1, ζ), from the means of f, of D ∇f and of ∇∇f under the tilts, times their weights.
template <typename Hessian>
void add_moments(const ComplexVector& D, const ComplexVector& mean, const Complex& weight, const Complex& f,
                 const ComplexVector& slope, const Hessian& hessian, Matrix& moments) {
  const auto n = D.size();
  const Complex weighted = weight * f;
  const auto entry = [&](std::size_t i, std::size_t j) -> double& {
    return moments(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  };
  entry(0, 0) += weighted.re.sum();
  for (std::size_t i = 0; i < n; ++i) {
    const Complex to_slope = weight * mean[i], to_mean = weighted * mean[i] + weight * slope[i];
    const Complex to_hessian = weight * D[i];
    const double first = to_mean.re.sum();
    entry(i + 1, 0) += first;
    entry(0, i + 1) += first;
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = real_sum(to_mean, mean[j]) + real_sum(to_slope, slope[j]) +
                   real_sum(to_hessian * D[j], hessian(i, j));
      if (i == j) sum += real_sum(weighted, D[i]);
      entry(i + 1, j + 1) += sum;
      if (i != j) entry(j + 1, i + 1) += sum;
    }
  }
}

}  // namespace

void TaskScores::add_slopes(const Tilt& tilt, const TiltedForm& c, const TiltedForm& y,
                            const TiltedForm& kappa, const ScoreFactors& factors, TaskScoreSums& sums) const {
  const auto n = tilt.D.size();
  const auto at = [](const Matrix& A, std::size_t i, std::size_t j) {
    return A(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  };
  ComplexVector Dc(n), Dy(n), slope(n);
  for (std::size_t i = 0; i < n; ++i) {
    Dc[i] = tilt.D[i] * c.gradient[i];
    Dy[i] = tilt.D[i] * y.gradient[i];
  }
  const auto add = [&](const Complex& f, const auto& hessian, Matrix& moments) {
    add_moments(tilt.D, tilt.mean, tilt.weight, f, slope, hessian, moments);
  };
  // twice the coefficient of dκ: noise
  slope.assign(n, number(0));
  add(
      number(factors.noise), [&](std::size_t, std::size_t) { return number(0); }, sums.values);
  // the coefficient of dy: cross c
  for (std::size_t i = 0; i < n; ++i) slope[i] = factors.cross * Dc[i];
  add(
      factors.cross * c.average,
      [&](std::size_t i, std::size_t j) { return number(2 * factors.cross * at(c_.A, i, j)); }, sums.targets);
  // the coefficient of dc: square c + cross y
  for (std::size_t i = 0; i < n; ++i) slope[i] = factors.square * Dc[i] + factors.cross * Dy[i];
  add(
      factors.square * c.average + factors.cross * y.average,
      [&](std::size_t i, std::size_t j) {
        return number(2 * (factors.square * at(c_.A, i, j) + factors.cross * at(y_.A, i, j)));
      },
      sums.scores);
  // twice the coefficient of ds²: α c² + β (2 c y + κ)
  const double alpha = factors.square_slope, beta = factors.slope;
  Complex cc = c.average * c.average, cy = c.average * y.average;
  const Complex to_c = 2 * alpha * c.average + 2 * beta * y.average, to_y = 2 * beta * c.average;
  for (std::size_t i = 0; i < n; ++i) {
    Complex c_c = number(0), c_y = number(0), y_c = number(0), with_c = number(0), with_y = number(0);
    for (std::size_t j = 0; j < n; ++j) {
      c_c += at(c_.A, i, j) * Dc[j];
      c_y += at(c_.A, i, j) * Dy[j];
      y_c += at(y_.A, i, j) * Dc[j];
      with_c += at(cc_, i, j) * tilt.D[j];
      with_y += at(cy_, i, j) * tilt.D[j];
    }
    cc += 2 * (tilt.D[i] * with_c) + Dc[i] * c.gradient[i];
    cy += 2 * (tilt.D[i] * with_y) + Dc[i] * y.gradient[i];
    slope[i] = tilt.D[i] * (to_c * c.gradient[i] + to_y * y.gradient[i] + beta * kappa.gradient[i] +
                            4 * alpha * c_c + 4 * beta * (c_y + y_c));
  }
  add(
      alpha * cc + 2 * beta * cy + beta * kappa.average,
      [&](std::size_t i, std::size_t j) {
        Complex sum = 2 * alpha * (c.gradient[i] * c.gradient[j]);
        sum += 2 * beta * (c.gradient[i] * y.gradient[j] + y.gradient[i] * c.gradient[j]);
        sum += 2 * at(c_.A, i, j) * to_c + 2 * at(y_.A, i, j) * to_y + number(2 * beta * at(kappa_.A, i, j));
        for (std::size_t k = 0; k < n; ++k) {
          const double both = at(c_.A, i, k) * at(y_.A, k, j) + at(y_.A, i, k) * at(c_.A, k, j);
          sum += 8 * (alpha * at(c_.A, i, k) * at(c_.A, k, j) + beta * both) * tilt.D[k];
        }
        return sum;
      },
      sums.squares);
}

TurnedSlope TaskScores::slope(const TaskScoreSums& sums) const {
  const double u_y = head_.label * xi_;
  Matrix values = head_.v_y * tasks_;
  values.col(0) += head_.v_hat;
  const Matrix value_scores = values * sums.scores, score_scores = scores_ * sums.scores;
  const Matrix score_squares = scores_ * sums.squares, value_values = values * sums.values;
  const auto with_tasks = [&](const Matrix& rows) { return rows.cwiseProduct(tasks_).sum(); };
  TurnedSlope slope;
  slope.hidden = (value_scores + score_squares) * queries_.transpose();
  slope.targets = omegas_ * sums.targets * queries_.transpose();
  slope.v_hat = score_scores.col(0) + value_values.col(0);
  slope.v_y = with_tasks(score_scores) + with_tasks(value_values) +
              head_.noise * (u_y * sums.scores(0, 0) + head_.v_y * sums.values(0, 0));
  slope.label = xi_ * (with_tasks(value_scores) + with_tasks(score_squares) +
                       head_.noise * (head_.v_y * sums.scores(0, 0) + u_y * sums.squares(0, 0)));
  return slope;
}

}  // namespace largo::icl
