#include "largo/icl/bayes_risk.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>

#include "estimation/central_moments.hpp"
#include "icl/prompt_forms.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/density.hpp"
#include "numerics/log_sum_exp.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

using measures::Edges;
using measures::FinitePoints;
using measures::LawDensity;
using measures::ScalarDensity;

constexpr const char* kBayesRisk = "bayes_risk";
constexpr std::uint64_t kPosteriorStream = 3;  // after those of prompt_forms.cpp
constexpr std::size_t kMostPoints = 4096;      // of a finite prior
constexpr Eigen::Index kFewestSamples = 512, kSamplesPerDimension = 64;
constexpr Eigen::Index kMoreSamples = 4, kMostSamples = 16384;
constexpr double kPoor = 50, kWellSampled = 400;  // effective samples
constexpr double kFittedShare = 0.2;              // effective share of the samples that a fit goes by
constexpr int kMostFits = 12;
constexpr int kBisections = 60;

bool is_gaussian(const Measure& law) {
  const std::vector<TokenLeaf> leaves = law.token_leaves();
  return leaves.size() == 1 && !leaves[0].squared_radius &&
         std::holds_alternative<NormalTokens>(leaves[0].base);
}

std::vector<ScoreComponent> pieces_on_the_line(const Measure& law) {
  try {
    return law.score_law(Vector::Ones(1)).components;
  } catch (const InputError&) {
    return {};  // not known
  }
}

// The values of the factor of the noise, with the logarithms of their probabilities.
struct Scales {
  std::vector<double> values, log_probabilities;
};

std::optional<Scales> scales_of(const MeasurePtr& law) {
  if (!law) return Scales{{1}, {0}};
  Scales scales;
  for (const ScoreComponent& piece : pieces_on_the_line(*law)) {
    if (piece.shape != ScoreShape::atom || piece.centre <= 0) return std::nullopt;
    scales.values.push_back(piece.centre);
    scales.log_probabilities.push_back(std::log(piece.weight));
  }
  if (scales.values.empty()) return std::nullopt;
  return scales;
}

// Prior and noise, as the posterior needs them.
struct Model {
  std::optional<LawDensity> prior;
  std::optional<FinitePoints> points;  // instead of a density
  ScalarDensity noise;
  Scales scales;
  Vector prior_mean;
  Matrix prior_root;
  double noise_mean = 0, noise_variance = 0;  // of s ε
};

std::optional<Model> model_of(const RegressionLaws& laws) {
  if (laws.outputs != 1 || !laws.noise) return std::nullopt;
  if (is_gaussian(*laws.prior) && is_gaussian(*laws.noise) && !laws.noise_scale) return std::nullopt;
  std::optional<ScalarDensity> noise = ScalarDensity::of(pieces_on_the_line(*laws.noise));
  std::optional<Scales> scales = scales_of(laws.noise_scale);
  if (!noise || !scales) return std::nullopt;
  Model model{LawDensity::of(*laws.prior), {}, std::move(*noise), std::move(*scales), {}, {}};
  if (!model.prior) {
    model.points = measures::finite_points(*laws.prior, kMostPoints);
    if (!model.points) return std::nullopt;
    return model;
  }
  model.prior_mean = laws.prior->mean();
  model.prior_root = laws.prior->covariance().llt().matrixL();
  double first = 0, second = 0;
  for (std::size_t j = 0; j < model.scales.values.size(); ++j) {
    const double p = std::exp(model.scales.log_probabilities[j]), s = model.scales.values[j];
    first += p * s;
    second += p * s * s;
  }
  const double mean = laws.noise->mean()[0];
  model.noise_mean = first * mean;
  model.noise_variance =
      second * (laws.noise->covariance()(0, 0) + mean * mean) - model.noise_mean * model.noise_mean;
  return model;
}

// log E_s ∏_i f((y_i - <w, x_i>)/s)/s for each column w of `tasks`.
Vector log_likelihoods(const Model& model, const Matrix& tokens, const Matrix& tasks, Edges edges) {
  constexpr Eigen::Index kTogether = 64;  // tokens
  const Eigen::Index L = tokens.rows(), d = tasks.rows(), n = tasks.cols();
  const auto count = std::ssize(model.scales.values);
  Matrix sums = Matrix::Zero(n, count);
  Matrix residuals, logs;
  for (Eigen::Index first = 0; first < L; first += kTogether) {
    const Eigen::Index some = std::min(kTogether, L - first);
    residuals.noalias() = -tokens.middleRows(first, some).leftCols(d) * tasks;
    residuals.colwise() += tokens.col(d).segment(first, some);
    for (Eigen::Index j = 0; j < count; ++j) {
      logs = residuals / model.scales.values[static_cast<std::size_t>(j)];
      const std::span<double> values(logs.data(), static_cast<std::size_t>(logs.size()));
      model.noise.log(values, values, edges);
      sums.col(j) += logs.colwise().sum().transpose();
    }
  }
  std::vector<double> terms(static_cast<std::size_t>(count));
  Vector result(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(j);
      terms[k] = model.scales.log_probabilities[k] + sums(i, j) -
                 static_cast<double>(L) * std::log(model.scales.values[k]);
    }
    result[i] = numerics::log_sum_exp(terms);
  }
  return result;
}

// Weights that sum to one, for logarithms not all of which are -∞.
Vector normalised(const Vector& logs) {
  const Vector weights = (logs.array() - logs.maxCoeff()).exp();
  return weights / weights.sum();
}

double effective_number(const Vector& weights) { return 1 / weights.squaredNorm(); }

// Samples of tasks, and the logarithms of their weights.
struct Samples {
  Matrix tasks;  // d x n
  Vector logs;
};

// A multivariate t: mean + root z √(ν/χ²_ν).
class Proposal {
 public:
  Proposal(Vector mean, Matrix root)
      : mean_(std::move(mean)), root_(std::move(root)), degrees_(std::max<Eigen::Index>(8, mean_.size())) {}

  // Samples, with minus the logarithms of the density, up to a constant.
  Samples draw(const Stream& stream, Eigen::Index count) const {
    const Eigen::Index d = mean_.size();
    Matrix normals(d + degrees_, count);
    stream.normals(0, {normals.data(), static_cast<std::size_t>(normals.size())});
    const Eigen::ArrayXd chi = normals.bottomRows(degrees_).colwise().squaredNorm().transpose();
    const auto nu = static_cast<double>(degrees_);
    const Matrix z = normals.topRows(d) * (nu / chi).sqrt().matrix().asDiagonal();
    Samples samples{(root_ * z).colwise() + mean_, {}};
    samples.logs = 0.5 * (nu + static_cast<double>(d)) *
                   (1 + z.colwise().squaredNorm().transpose().array() / nu).log().matrix();
    return samples;
  }

  // The t with the mean and the covariance of weighted samples, a little wider. None if they lie in a plane.
  std::optional<Proposal> fitted(const Matrix& tasks, const Vector& weights) const {
    constexpr double kWider = 1.15;
    const Vector mean = tasks * weights;
    const Matrix centred = tasks.colwise() - mean;
    const auto nu = static_cast<double>(degrees_);
    const Eigen::LLT<Matrix> factor(kWider * (nu - 2) / nu *
                                    (centred * weights.asDiagonal() * centred.transpose()));
    if (factor.info() != Eigen::Success) return std::nullopt;
    return Proposal(mean, factor.matrixL());
  }

 private:
  Vector mean_;
  Matrix root_;
  Eigen::Index degrees_;
};

// The posterior if prior and noise were Gaussian, with the same moments.
Proposal gaussian_guess(const Model& model, const Matrix& tokens) {
  const Eigen::Index d = model.prior_mean.size();
  const auto X = tokens.leftCols(d);
  const Matrix seen = X * model.prior_root;
  const Vector left =
      (tokens.col(d) - X * model.prior_mean).array() - model.noise_mean;  // what the prior does not explain
  const Eigen::LLT<Matrix> precision(Matrix::Identity(d, d) + seen.transpose() * seen / model.noise_variance);
  const Vector shift = precision.solve(seen.transpose() * left / model.noise_variance);
  const Matrix root = precision.matrixU().solve(Matrix::Identity(d, d));
  return {model.prior_mean + model.prior_root * shift, model.prior_root * root};
}

void weigh(const Model& model, const Matrix& tokens, Edges edges, Samples& samples) {
  samples.logs +=
      model.prior->log(samples.tasks, edges) + log_likelihoods(model, tokens, samples.tasks, edges);
}

// The largest power β <= 1 of the weights that leaves a share of the samples effective.
double flattening(const Vector& logs, double effective) {
  if (effective_number(normalised(logs)) >= effective) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < kBisections / 2; ++i) {
    const double middle = (low + high) / 2;
    (effective_number(normalised(middle * logs)) >= effective ? low : high) = middle;
  }
  return low;
}

Samples sample_posterior(const Model& model, const Matrix& tokens, const Stream& stream) {
  const Eigen::Index d = model.prior_mean.size();
  const Eigen::Index count = std::max(kFewestSamples, kSamplesPerDimension * d);
  Proposal proposal = gaussian_guess(model, tokens);
  for (int fit = 1; fit <= kMostFits; ++fit) {
    Samples samples = proposal.draw(stream.substream(static_cast<std::uint64_t>(fit)), count);
    weigh(model, tokens, Edges::soft, samples);
    const double beta = flattening(samples.logs, kFittedShare * static_cast<double>(count));
    const std::optional<Proposal> next = proposal.fitted(samples.tasks, normalised(beta * samples.logs));
    if (!next) break;
    proposal = *next;
    if (beta == 1) break;
  }
  // Fresh samples: those above have chosen the proposal. More of them where the t fits badly.
  for (Eigen::Index more = count;; more *= kMoreSamples) {
    Samples samples = proposal.draw(stream.substream(0), more);
    Samples soft = samples;
    weigh(model, tokens, Edges::sharp, samples);
    const bool is_seen = std::isfinite(samples.logs.maxCoeff());
    if (is_seen && effective_number(normalised(samples.logs)) >= kWellSampled) return samples;
    if (more < kMostSamples) continue;
    if (is_seen) return samples;
    weigh(model, tokens, Edges::soft, soft);
    return soft;
  }
}

// The output that minimises the weighted mean of the loss.
double best_output(const Loss& loss, const Vector& targets, const Vector& weights) {
  if (loss.quadratic_factor()) return weights.dot(targets);
  double low = targets.minCoeff(), high = targets.maxCoeff();
  const RowMatrix rows = targets;
  for (int i = 0; i < kBisections && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    const LossRows losses = loss.rows(RowMatrix::Constant(rows.rows(), 1, middle), rows);
    (weights.dot(losses.slopes.col(0)) < 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// The columns of a row of results.
enum Column : std::uint8_t { kOutput, kFirstHalf, kSecondHalf, kEffective, kTarget, kColumns };

class Predictor {
 public:
  Predictor(const PromptSetting& setting, const Model& model) : setting_(setting), model_(model) {}

  void predict(std::int64_t index, const Execution& execution, std::span<double> row) const {
    const icl::PreparedPrompt prompt = icl::prepare_prompt(setting_, index, icl::KeepTokens::yes, execution);
    const Matrix& tokens = prompt.matrix;
    row[kTarget] = prompt.target[0];
    if (model_.points) {
      const FinitePoints& prior = *model_.points;
      const Vector logs = prior.probabilities.array().log().matrix() +
                          log_likelihoods(model_, tokens, prior.points, Edges::sharp);
      row[kOutput] = output(prior.points, logs, prompt.query);
      row[kFirstHalf] = row[kSecondHalf] = row[kOutput];
      row[kEffective] = kPoor;
      return;
    }
    const Stream stream =
        Stream(setting_.seed, static_cast<std::uint64_t>(index)).substream(kPosteriorStream);
    const Samples samples = sample_posterior(model_, tokens, stream);
    const Eigen::Index half = samples.logs.size() / 2;
    row[kOutput] = output(samples.tasks, samples.logs, prompt.query);
    row[kFirstHalf] = output(samples.tasks.leftCols(half), samples.logs.head(half), prompt.query);
    row[kSecondHalf] = output(samples.tasks.rightCols(half), samples.logs.tail(half), prompt.query);
    row[kEffective] = effective_number(normalised(samples.logs));
  }

 private:
  double output(const ConstMatrixRef& tasks, const Vector& logs, const Vector& query) const {
    const Vector targets = tasks.transpose() * query.head(tasks.rows());
    // Half of few good samples may have none.
    if (!std::isfinite(logs.maxCoeff())) return targets.mean();
    return best_output(*setting_.loss, targets, normalised(logs));
  }

  const PromptSetting& setting_;
  const Model& model_;
};

}  // namespace

std::optional<BayesRisk> bayes_risk(const PromptSetting& setting, std::int64_t prompts,
                                    const Execution& execution) {
  icl::check(setting, kBayesRisk);
  if (prompts < 2) fail(kBayesRisk, "prompts", static_cast<double>(prompts), "at least 2");
  const auto* regression = dynamic_cast<const LawRegression*>(setting.task.get());
  if (regression == nullptr || setting.length.is_infinite()) return std::nullopt;
  const std::optional<Model> model = model_of(regression->laws());
  if (!model) return std::nullopt;

  PromptSetting drawn = setting;
  drawn.attention = AttentionKind::softmax;
  drawn.sampling = PromptSampling::always;
  const Predictor predictor(drawn, *model);
  const runtime::AlignedVector<double> rows = runtime::distribute_rows(
      prompts, kColumns, execution,
      [&](std::ptrdiff_t i, std::span<double> row) { predictor.predict(i, execution, row); });
  const Eigen::Map<const RowMatrix> found(rows.data(), prompts, kColumns);
  const auto losses_of = [&](Column column) {
    return setting.loss->rows(found.col(column), found.col(kTarget)).values;
  };
  const Vector losses = losses_of(kOutput);
  check_finite(kBayesRisk, "the loss", losses);
  estimation::CentralMoments values;
  for (const double loss : losses) values.add(loss);
  BayesRisk risk;
  risk.value = values.mean;
  risk.error = std::sqrt(values.variance() / values.n);
  // What sampling adds falls like one over the number of samples: halves have twice as much.
  risk.excess = (0.5 * (losses_of(kFirstHalf) + losses_of(kSecondHalf)) - losses).mean();
  risk.poor =
      static_cast<double>((found.col(kEffective).array() < kPoor).count()) / static_cast<double>(prompts);
  risk.prompts = prompts;
  return risk;
}

}  // namespace largo
