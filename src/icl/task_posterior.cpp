#include "icl/task_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include <Eigen/Cholesky>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/sphere_functions.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {
namespace {

using measures::Edges;
using measures::LawDensity;
using measures::ScalarDensity;

constexpr std::size_t kMostPoints = 4096;  // of a finite prior
constexpr Eigen::Index kFewestSamples = 512, kSamplesPerDimension = 64, kMoreSamples = 4,
                       kMostSamples = 16384;
constexpr double kWellSampled = 400;  // effective samples
constexpr double kFittedShare = 0.2;  // effective share of the samples that a fit goes by
constexpr int kFewestFits = 2, kMostFits = 12;
constexpr std::size_t kMostPriorParts = 16;
constexpr double kUnequal = 9;  // ratio of variances from which on parts of the noise are told apart
constexpr int kFewStarts = 3, kManyStarts = 16, kRobustSteps = 10;
constexpr Eigen::Index kManyTokens = 10;  // for each dimension: few starts are enough
constexpr double kLeastShare = 0.01;      // of a component of the mixture
constexpr double kWholeShare = 0.4, kFixedShare = 0.1;

std::vector<ScoreComponent> pieces_on_the_line(const Measure& law) {
  try {
    return law.score_law(Vector::Ones(1)).components;
  } catch (const InputError&) {
    return {};  // not known
  }
}

// Weights that sum to one, for finite logarithms or -∞, not all of which are -∞.
Vector normalised(const Vector& logs) {
  const Vector weights = (logs.array() - logs.maxCoeff()).exp();
  return weights / weights.sum();
}

double effective_number(const Vector& weights) { return 1 / weights.squaredNorm(); }

// The largest power β <= 1 of the weights that leaves this number of samples effective.
double flattening(const Vector& logs, double effective) {
  constexpr int kBisections = 30;
  if (effective_number(normalised(logs)) >= effective) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (effective_number(normalised(middle * logs)) >= effective ? low : high) = middle;
  }
  return low;
}

}  // namespace

// A multivariate t: mean + root z √(ν/χ²_ν), with a triangular root.
struct TaskPosterior::Component {
  Vector mean;
  Matrix root;
  double share = 1;
  enum class Role : std::uint8_t {
    local,  // fitted to the samples that are its own
    whole,  // fitted to all samples, as far as the flattened weights go: it finds what no guess was near to
    fixed,  // as it is, so that no part of the first guess is forgotten
  } role = Role::local;
};

namespace {

int degrees_of(Eigen::Index d) { return static_cast<int>(std::max<Eigen::Index>(8, d)); }

}  // namespace

class TaskPosterior::Mixture {
 public:
  explicit Mixture(std::vector<Component> components)
      : components_(std::move(components)), degrees_(degrees_of(components_.front().mean.size())) {
    Component whole = components_.front(), fixed = components_.front();
    whole.role = Component::Role::whole;
    fixed.role = Component::Role::fixed;
    components_.push_back(std::move(whole));
    components_.push_back(std::move(fixed));
    for (Component& component : components_) component.share = 1;
    share_out();
  }

  // `count` samples, one in each column. The n-th comes from the component that the n-th multiple of the
  // golden ratio points to, so that every part of the samples has its share of each.
  Matrix draw(const Stream& stream, Eigen::Index count) const {
    constexpr double kGolden = 0.6180339887498949;
    const Eigen::Index d = components_.front().mean.size();
    Matrix normals(d + degrees_, count), tasks(d, count);
    stream.normals(0, {normals.data(), static_cast<std::size_t>(normals.size())});
    for (Eigen::Index i = 0; i < count; ++i) {
      double place = std::fmod(static_cast<double>(i + 1) * kGolden, 1.0);
      std::size_t k = 0;
      while (k + 1 < components_.size() && place >= components_[k].share) place -= components_[k++].share;
      const double chi = normals.col(i).tail(degrees_).squaredNorm();
      const Component& from = components_[k];
      tasks.col(i) = from.mean + from.root * (normals.col(i).head(d) * std::sqrt(degrees_ / chi));
    }
    return tasks;
  }

  // Logarithms of the density up to a constant, and those of the components with their shares, n x k.
  Vector log_density(const Matrix& tasks, Matrix& by_component) const {
    const auto d = static_cast<double>(tasks.rows());
    by_component.resize(tasks.cols(), std::ssize(components_));
    for (Eigen::Index k = 0; k < by_component.cols(); ++k) {
      const Component& from = components_[static_cast<std::size_t>(k)];
      const Matrix z = from.root.triangularView<Eigen::Lower>().solve(tasks.colwise() - from.mean);
      const double log_height = std::log(from.share) - from.root.diagonal().array().abs().log().sum();
      by_component.col(k) =
          log_height -
          0.5 * (degrees_ + d) * (1 + z.colwise().squaredNorm().transpose().array() / degrees_).log();
    }
    const Vector largest = by_component.rowwise().maxCoeff();
    return largest.array() + (by_component.colwise() - largest).array().exp().rowwise().sum().log();
  }

  // Components with the means and covariances of the weighted samples that are theirs, a little wider.
  void fit(const Matrix& tasks, const Vector& weights, const Matrix& by_component,
           const Vector& log_density) {
    constexpr double kWider = 1.15;
    const Matrix theirs = (by_component.colwise() - log_density).array().exp();
    std::vector<Component> fitted;
    for (Eigen::Index k = 0; k < theirs.cols(); ++k) {
      Component component = components_[static_cast<std::size_t>(k)];
      Vector w = theirs.col(k).cwiseProduct(weights);
      component.share = w.sum();
      if (component.role == Component::Role::local && !(component.share >= kLeastShare)) continue;
      if (component.role == Component::Role::fixed) {
        fitted.push_back(std::move(component));
        continue;
      }
      if (component.role == Component::Role::whole) w = weights;
      w /= w.sum();
      // Too few samples say nothing about a covariance.
      if (effective_number(w) > 2 * static_cast<double>(tasks.rows()) + 10) {
        const Vector mean = tasks * w;
        const Matrix centred = tasks.colwise() - mean;
        const double nu = degrees_;
        const Eigen::LLT<Matrix> factor(kWider * (nu - 2) / nu *
                                        (centred * w.asDiagonal() * centred.transpose()));
        const Matrix root = factor.matrixL();
        if (factor.info() == Eigen::Success && root.allFinite() && root.diagonal().minCoeff() > 0) {
          component.mean = mean;
          component.root = root;
        }
      }
      fitted.push_back(std::move(component));
    }
    components_ = std::move(fitted);
    share_out();
  }

 private:
  // Makes the shares sum to one, with fixed ones for the components that guard against a bad fit.
  void share_out() {
    double sum = 0;
    for (const Component& component : components_)
      sum += component.role == Component::Role::local ? component.share : 0;
    const double rest = sum > 0 ? 1 - kWholeShare - kFixedShare : 0;
    for (Component& component : components_) {
      if (component.role == Component::Role::local) component.share *= rest / sum;
      if (component.role == Component::Role::whole) component.share = sum > 0 ? kWholeShare : 1 - kFixedShare;
      if (component.role == Component::Role::fixed) component.share = kFixedShare;
    }
  }

  std::vector<Component> components_;
  int degrees_;
};

std::optional<TaskPosterior> TaskPosterior::of(const RegressionLaws& laws) {
  if (laws.outputs != 1 || !laws.noise) return std::nullopt;
  const std::vector<ScoreComponent> pieces = pieces_on_the_line(*laws.noise);
  std::optional<ScalarDensity> noise = ScalarDensity::of(pieces);
  if (!noise) return std::nullopt;
  TaskPosterior posterior(std::move(*noise));
  posterior.scales_ = {1};
  posterior.log_scale_probabilities_ = {0};
  if (laws.noise_scale) {
    posterior.scales_.clear();
    posterior.log_scale_probabilities_.clear();
    for (const ScoreComponent& piece : pieces_on_the_line(*laws.noise_scale)) {
      if (piece.shape != ScoreShape::atom || piece.centre <= 0) return std::nullopt;
      posterior.scales_.push_back(piece.centre);
      posterior.log_scale_probabilities_.push_back(std::log(piece.weight));
    }
    if (posterior.scales_.empty()) return std::nullopt;
  }
  posterior.prior_ = LawDensity::of(*laws.prior);
  if (!posterior.prior_) {
    posterior.points_ = measures::finite_points(*laws.prior, kMostPoints);
    if (!posterior.points_) return std::nullopt;
    return posterior;
  }
  posterior.prior_moments_ = {laws.prior->mean(), laws.prior->covariance().llt().matrixL()};

  const double mean = laws.noise->mean()[0], variance = laws.noise->covariance()(0, 0);
  double first = 0, second = 0;  // moments of the scale
  for (std::size_t j = 0; j < posterior.scales_.size(); ++j) {
    const double s = posterior.scales_[j], log_p = posterior.log_scale_probabilities_[j];
    first += std::exp(log_p) * s;
    second += std::exp(log_p) * s * s;
    posterior.noise_by_scale_.push_back({log_p, s * mean, s * s * variance});
    for (const ScoreComponent& piece : pieces) {
      double shift = 0, spread = 1;
      if (piece.shape == ScoreShape::bounded) {
        const numerics::SphereTilt tilt = numerics::sphere_tilt(piece.order, std::abs(piece.rate));
        shift = std::copysign(tilt.derivative, piece.rate);
        spread = tilt.second_derivative;
      }
      posterior.noise_parts_.push_back({log_p + std::log(piece.weight),
                                        s * (piece.centre + piece.scale * shift),
                                        s * s * piece.scale * piece.scale * spread});
    }
  }
  posterior.whole_noise_ = {0, first * mean,
                            second * variance + std::max(0.0, second - first * first) * mean * mean};
  return posterior;
}

// log E_s ∏_i f((y_i - <w, x_i>)/s)/s for each column w of `tasks`
Vector TaskPosterior::log_likelihoods(const Matrix& tokens, const Matrix& tasks, Edges edges,
                                      const Execution& execution) const {
  constexpr Eigen::Index kTogether = 64;  // tokens
  const Eigen::Index L = tokens.rows(), d = tasks.rows(), n = tasks.cols();
  const auto count = std::ssize(scales_);
  Matrix sums = Matrix::Zero(n, count);
  Matrix residuals, logs;
  for (Eigen::Index first = 0; first < L; first += kTogether) {
    runtime::check_stop(execution);
    const Eigen::Index some = std::min(kTogether, L - first);
    residuals.noalias() = -tokens.middleRows(first, some).leftCols(d) * tasks;
    residuals.colwise() += tokens.col(d).segment(first, some);
    for (Eigen::Index j = 0; j < count; ++j) {
      logs = residuals / scales_[static_cast<std::size_t>(j)];
      const std::span<double> values(logs.data(), static_cast<std::size_t>(logs.size()));
      noise_.log(values, values, edges);
      sums.col(j) += logs.colwise().sum().transpose();
    }
  }
  std::vector<double> terms(scales_.size());
  Vector result(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(j);
      terms[k] = log_scale_probabilities_[k] + sums(i, j) - static_cast<double>(L) * std::log(scales_[k]);
    }
    result[i] = numerics::log_sum_exp(terms);
  }
  return result;
}

// The posterior if prior and noise were Gaussian, with these means and deviations of the noise of each token.
TaskPosterior::Component TaskPosterior::gaussian(const LawDensity::Moments& prior, const Matrix& tokens,
                                                 const Vector& means, const Vector& deviations) const {
  const Eigen::Index d = prior.mean.size(), L = tokens.rows();
  const Vector inverse = deviations.cwiseInverse();
  const Matrix seen = inverse.asDiagonal() * (tokens.leftCols(d) * prior.root);
  const Vector left =
      inverse.cwiseProduct(tokens.col(d) - tokens.leftCols(d) * prior.mean - means);  // not yet explained
  Matrix axes;
  Vector values = Vector::Zero(d), along = Vector::Zero(d);  // values² + 1 is the precision along an axis
  if (L > 4 * d) {
    const numerics::SymmetricEigenvalues gram = numerics::symmetric_eigenvalues(seen.transpose() * seen);
    axes = gram.vectors;
    values = gram.values.cwiseMax(0).cwiseSqrt();
    along = axes.transpose() * (seen.transpose() * left);
  } else {  // short prompts with little noise leave some directions open: a Gram matrix would not know which
    const numerics::SingularValues svd = numerics::singular_values(seen);
    axes = svd.right;
    values.head(svd.values.size()) = svd.values;
    along.head(svd.values.size()) = svd.values.cwiseProduct(svd.left.transpose() * left);
  }
  const Eigen::ArrayXd precision = 1 + values.array().square();
  const Matrix root = prior.root * axes * precision.sqrt().inverse().matrix().asDiagonal();
  Component guess;
  guess.mean = prior.mean + prior.root * (axes * (along.array() / precision).matrix());
  // A triangular root with the same square.
  const Matrix upper = root.transpose().householderQr().matrixQR().topRows(d).triangularView<Eigen::Upper>();
  guess.root = upper.transpose();
  return guess;
}

TaskPosterior::Component TaskPosterior::same_noise(const LawDensity::Moments& prior, const Matrix& tokens,
                                                   const NoisePart& noise) const {
  const Eigen::Index L = tokens.rows();
  return gaussian(prior, tokens, Vector::Constant(L, noise.mean),
                  Vector::Constant(L, std::sqrt(noise.variance)));
}

// A few steps of the EM algorithm: which part of the noise has each token, and the posterior given that.
TaskPosterior::Component TaskPosterior::robust(const LawDensity::Moments& prior, const Matrix& tokens,
                                               Component start) const {
  const Eigen::Index d = prior.mean.size(), L = tokens.rows();
  for (int step = 0; step < kRobustSteps; ++step) {
    const Vector residuals = tokens.col(d) - tokens.leftCols(d) * start.mean;
    const Vector doubt = (tokens.leftCols(d) * start.root).rowwise().squaredNorm();
    Vector means(L), deviations(L);
    std::vector<double> logs(noise_parts_.size());
    for (Eigen::Index i = 0; i < L; ++i) {
      for (std::size_t k = 0; k < noise_parts_.size(); ++k) {
        const NoisePart& part = noise_parts_[k];
        const double variance = part.variance + doubt[i], r = residuals[i] - part.mean;
        logs[k] = part.log_weight - 0.5 * std::log(variance) - 0.5 * r * r / variance;
      }
      const double total = numerics::log_sum_exp(logs);
      double precision = 0, mean = 0;
      for (std::size_t k = 0; k < noise_parts_.size(); ++k) {
        const double share = std::exp(logs[k] - total) / noise_parts_[k].variance;
        precision += share;
        mean += share * noise_parts_[k].mean;
      }
      means[i] = mean / precision;
      deviations[i] = 1 / std::sqrt(precision);
    }
    start = gaussian(prior, tokens, means, deviations);
  }
  return start;
}

std::vector<TaskPosterior::Component> TaskPosterior::guesses(const Matrix& tokens,
                                                             const Stream& stream) const {
  std::vector<Component> all;
  const auto add = [&](Component guess) {
    const bool is_usable =
        guess.mean.allFinite() && guess.root.allFinite() && guess.root.diagonal().cwiseAbs().minCoeff() > 0;
    if (is_usable) all.push_back(std::move(guess));
  };
  std::vector<LawDensity::Moments> priors = {prior_moments_};
  const std::vector<LawDensity::Moments>& parts = prior_->moments();
  if (parts.size() > 1 && parts.size() <= kMostPriorParts)
    priors.insert(priors.end(), parts.begin(), parts.end());
  const auto [least, most] =
      std::minmax_element(noise_parts_.begin(), noise_parts_.end(),
                          [](const NoisePart& a, const NoisePart& b) { return a.variance < b.variance; });
  const bool is_unequal = most->variance > kUnequal * least->variance;
  for (const LawDensity::Moments& prior : priors) {
    const Component guess = same_noise(prior, tokens, whole_noise_);
    add(guess);
    if (is_unequal) add(robust(prior, tokens, guess));
    if (scales_.size() == 1) continue;
    for (const NoisePart& noise : noise_by_scale_) add(same_noise(prior, tokens, noise));
  }
  // A few tokens alone, as if they had little noise: if they do, the others follow.
  const Eigen::Index d = prior_moments_.mean.size(), L = tokens.rows();
  if (!is_unequal || L < d) return all;
  const int starts = L > kManyTokens * d ? kFewStarts : kManyStarts;
  std::vector<Eigen::Index> order(static_cast<std::size_t>(L));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  for (int k = 0; k < starts; ++k) {
    std::vector<double> uniforms(static_cast<std::size_t>(d));
    stream.uniforms(static_cast<std::uint64_t>(k * d), uniforms);
    Matrix some(d, tokens.cols());
    for (Eigen::Index i = 0; i < d; ++i) {  // the first steps of a random permutation
      const auto left = static_cast<double>(L - i);
      const auto chosen = i + static_cast<Eigen::Index>(left * uniforms[static_cast<std::size_t>(i)]);
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(chosen)]);
      some.row(i) = tokens.row(order[static_cast<std::size_t>(i)]);
    }
    add(robust(prior_moments_, tokens, same_noise(prior_moments_, some, *least)));
  }
  return all;
}

TaskPosterior::Samples TaskPosterior::sample(const Matrix& tokens, const Stream& stream,
                                             const Execution& execution) const {
  if (points_) {
    const Vector prior = points_->probabilities.array().log();
    Vector logs = prior + log_likelihoods(tokens, points_->points, Edges::sharp, execution);
    double effective = std::numeric_limits<double>::infinity();
    if (!std::isfinite(logs.maxCoeff())) {
      logs = prior + log_likelihoods(tokens, points_->points, Edges::soft, execution);
      effective = 0;
    }
    return {points_->points, normalised(logs), effective};
  }
  const Eigen::Index d = prior_moments_.mean.size();
  const Eigen::Index count = std::max(kFewestSamples, kSamplesPerDimension * d);
  std::vector<Component> starts = guesses(tokens, stream.substream(kMostFits + 1));
  if (starts.empty()) return {prior_moments_.mean, Vector::Ones(1), 0};
  Mixture mixture(std::move(starts));
  Matrix by_component;
  const auto log_weights = [&](const Matrix& tasks, const Vector& log_density, Edges edges) {
    const Vector logs =
        prior_->log(tasks, edges) + log_likelihoods(tokens, tasks, edges, execution) - log_density;
    return Vector(logs.array().isNaN().select(-std::numeric_limits<double>::infinity(), logs));
  };
  for (int fit = 1; fit <= kMostFits; ++fit) {
    const Matrix tasks = mixture.draw(stream.substream(static_cast<std::uint64_t>(fit)), count);
    const Vector log_density = mixture.log_density(tasks, by_component);
    const Vector logs = log_weights(tasks, log_density, Edges::soft);
    if (!std::isfinite(logs.maxCoeff())) break;
    const double beta = flattening(logs, kFittedShare * static_cast<double>(count));
    mixture.fit(tasks, normalised(beta * logs), by_component, log_density);
    if (beta == 1 && fit >= kFewestFits) break;
  }
  // Fresh samples: those above have chosen the mixture. More of them where it fits badly.
  for (Eigen::Index more = count;; more = std::min(kMostSamples, kMoreSamples * more)) {
    Matrix tasks = mixture.draw(stream.substream(0), more);
    const Vector log_density = mixture.log_density(tasks, by_component);
    Vector logs = log_weights(tasks, log_density, Edges::sharp);
    const bool is_inside = std::isfinite(logs.maxCoeff());
    const double effective = is_inside ? effective_number(normalised(logs)) : 0;
    if (effective < kWellSampled && more < kMostSamples) continue;
    if (!is_inside) logs = log_weights(tasks, log_density, Edges::soft);
    if (!std::isfinite(logs.maxCoeff())) logs.setZero();
    return {std::move(tasks), normalised(logs), effective};
  }
}

}  // namespace largo::icl
