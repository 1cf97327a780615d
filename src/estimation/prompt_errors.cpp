#include "estimation/prompt_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "exact/attention_forms.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/device.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/portable_math.hpp"
#include "prompts/full_prompt.hpp"
#include "prompts/score_prompt.hpp"

namespace largo::estimation {
namespace {

class SamplingKernel : public PromptErrorKernel {
 protected:
  SamplingKernel(const Matrix& V, const ErrorSampling& sampling, const Execution& execution)
      : V_(V), sampling_(sampling), execution_(execution) {}

  const Matrix& V_;
  const ErrorSampling& sampling_;
  const Execution& execution_;
};

// Adds planted tokens to the tilt of a prompt of L drawn ones; V is null if no covariance is wanted.
void plant(const std::vector<PlantedToken>& tokens, const Vector& direction, std::int64_t L, const Matrix* V,
           prompts::PromptTilt& tilt) {
  const double log_length = numerics::portable_log(static_cast<double>(L));
  std::vector<double> scores{log_length + tilt.log_partition};  // the first is the whole crowd's
  for (const PlantedToken& token : tokens) scores.push_back(log_weight(token, direction));
  const Vector shares = numerics::softmax(scores);
  const Vector crowd_mean = tilt.mean;
  tilt.log_partition = numerics::log_sum_exp(scores) - log_length;
  tilt.mean *= shares[0];
  tilt.p2 *= shares[0] * shares[0];
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    const double share = shares[static_cast<Eigen::Index>(j) + 1];
    tilt.mean += share * tokens[j].token;
    tilt.p2 += share * share / tokens[j].count;
  }
  if (V == nullptr) return;
  const auto spread = [&](double share, const Vector& mean) -> Matrix {
    const Vector from_mean = mean - tilt.mean;
    return share * (*V * from_mean) * from_mean.transpose();
  };
  tilt.value_covariance = shares[0] * tilt.value_covariance + spread(shares[0], crowd_mean);
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    tilt.value_covariance += spread(shares[static_cast<Eigen::Index>(j) + 1], tokens[j].token);
  }
}

template <typename T>
class FullKernelOf final : public SamplingKernel {
 public:
  FullKernelOf(const PromptLaw& law, const ErrorSampling& sampling, const Execution& execution,
               const prompts::PreparedPrompts* prepared)
      : SamplingKernel(law.V, sampling, execution),
        prepared_(prepared),
        prompt_(law.leaves, law.law.dimension(), sampling.gradient_U ? &law.V : nullptr) {}

  void aim(const QueryLimit& limit) override {
    limit_ = &limit;
    if (sampling_.gradient_U) VC_ = V_ * limit.tilt.covariance;
  }

  void draw(std::uint64_t prompt, PromptErrors& errors) override {
    if (prepared_ != nullptr) {
      prompt_.attend_sums(limit_->direction, *prepared_, prompt, sampling_.length, tilt_);
    } else {
      prompt_.attend(limit_->direction, sampling_.seed, prompt, sampling_.length, execution_, tilt_);
    }
    if (!sampling_.planted.empty()) {
      plant(sampling_.planted, limit_->direction, sampling_.length, sampling_.gradient_U ? &V_ : nullptr,
            tilt_);
    }
    shift_ = tilt_.mean - limit_->tilt.mean;
    errors.bias.noalias() = V_ * shift_;
    errors.output = errors.bias.squaredNorm();
    errors.gradient_V = static_cast<double>(V_.rows()) * shift_.squaredNorm();
    if (sampling_.gradient_U) {
      errors.gradient_U = limit_->query.squaredNorm() * (tilt_.value_covariance - VC_).squaredNorm();
    }
    errors.p2 = tilt_.p2;
    errors.log_partition = tilt_.log_partition;
  }

 private:
  const prompts::PreparedPrompts* prepared_;
  const QueryLimit* limit_ = nullptr;
  prompts::FullPrompt<T> prompt_;
  prompts::PromptTilt tilt_;
  Vector shift_;
  Matrix VC_;  // V times the covariance of the limit
};

// Scores of Gaussian tokens are s v with standard v. Sums relative to the likely mean of v lose few digits.
double spread_of(const Vector& along) { return along.norm(); }
double shift_of(double s, std::int64_t L) {
  return std::min(s, std::sqrt(2 * numerics::portable_log(static_cast<double>(L))));
}

prompts::ScoreSums to_sums(std::span<const double> row) {
  return {row[0], row[1], row[2], row[3], row[4], row[5], row[6], static_cast<std::int64_t>(row[7])};
}

// For Gaussian tokens mean + R g the errors, given the scores, are the combinations of softmax statistics
// whose expectations the exact engine computes (exact/attention_forms.hpp).
class GaussianScoreKernel final : public SamplingKernel {
 public:
  GaussianScoreKernel(const TokenLeaf& leaf, const Matrix& V, const ErrorSampling& sampling,
                      const Execution& execution, const prompts::PreparedPrompts* prepared)
      : SamplingKernel(V, sampling, execution),
        prepared_(prepared),
        R_(leaf.scale * leaf.map),
        offset_(leaf.offset),
        forms_(R_, V) {}

  void aim(const QueryLimit& limit) override {
    limit_ = &limit;
    const Vector along = R_.transpose() * limit.direction;
    s_ = spread_of(along);
    const Vector e = s_ > 0 ? Vector(along / s_) : Vector(Vector::Unit(R_.cols(), 0));
    VRe_ = V_ * (R_ * e);
    exact::DirectionValues at;
    at.W = e.dot(forms_.W * e);
    at.G = e.dot(forms_.G * e);
    at.WG = e.dot(forms_.WG * e);
    at.W_G = at.W * at.G;
    output_ = exact::output_combination(forms_, at);
    gradient_V_ = exact::value_gradient_combination(forms_, at);
    gradient_U_ = exact::covariance_combination(forms_, at);
    centre_ = offset_.size() > 0 ? offset_.dot(limit.direction) : 0;
    shift_ = shift_of(s_, sampling_.length);
  }

  void draw(std::uint64_t prompt, PromptErrors& errors) override {
    const prompts::ScoreSums sums =
        prepared_ != nullptr ? to_sums(prepared_->row(0, prompt))
                             : prompts::score_sums({}, {sampling_.seed, prompt, prompts::kScoreLanes}, 0,
                                                   sampling_.length, s_, shift_, execution_);
    const double w = sums.w;
    const double from_shift = sums.wv / w;
    const double A = shift_ + from_shift;
    const double B = sums.wvv / w - from_shift * from_shift;
    SoftmaxStatistics statistics;
    statistics.P2 = sums.ww / (w * w);
    statistics.P3 = sums.www / (w * w * w);
    statistics.P2P2 = statistics.P2 * statistics.P2;
    statistics.mse = (A - s_) * (A - s_);
    statistics.variance_mse = (B - 1) * (B - 1);
    statistics.variance_P2 = (B - 1) * statistics.P2;
    statistics.squared_spread = (sums.wwvv - from_shift * (2 * sums.wwv - from_shift * sums.ww)) / (w * w);
    errors.output = output_.of(statistics);
    errors.gradient_V = gradient_V_.of(statistics);
    if (sampling_.gradient_U) errors.gradient_U = limit_->query.squaredNorm() * gradient_U_.of(statistics);
    errors.p2 = statistics.P2;
    errors.log_partition = centre_ + static_cast<double>(sums.top) * std::numbers::ln2 +
                           numerics::portable_log(w / static_cast<double>(sampling_.length));
    errors.bias = (A - s_) * VRe_;
  }

 private:
  const prompts::PreparedPrompts* prepared_;
  const QueryLimit* limit_ = nullptr;
  Matrix R_;
  Vector offset_;
  exact::AttentionForms forms_;
  double s_ = 0, centre_ = 0, shift_ = 0;
  Vector VRe_;
  exact::MomentCombination output_, gradient_V_, gradient_U_;
};

class ScoreLawKernel final : public SamplingKernel {
 public:
  ScoreLawKernel(const Measure& law, const Matrix& V, const ErrorSampling& sampling,
                 const Execution& execution)
      : SamplingKernel(V, sampling, execution), law_(law) {}

  void aim(const QueryLimit& limit) override {
    prompt_.emplace(law_.score_law(limit.direction), V_, limit.tilt.mean);
  }

  void draw(std::uint64_t prompt, PromptErrors& errors) override {
    const prompts::ScorePrompt::Errors found =
        prompt_->attend(sampling_.seed, prompt, sampling_.length, execution_);
    errors.output = found.output;
    errors.gradient_V = static_cast<double>(V_.rows()) * found.mean;
    errors.p2 = found.p2;
    errors.log_partition = found.log_partition;
    errors.bias = found.bias;
  }

 private:
  const Measure& law_;
  std::optional<prompts::ScorePrompt> prompt_;
};

constexpr const char* kPromptErrors = "sample_attention_errors";

enum class KernelKind : std::uint8_t { full_float, full_double, gaussian_scores, score_law };

KernelKind kind_of(const PromptLaw& law, const ErrorSampling& sampling) {
  const TokenLeaf& first = law.leaves.front();
  const bool gaussian = law.leaves.size() == 1 && std::holds_alternative<NormalTokens>(first.base) &&
                        !first.squared_radius.has_value();
  const bool point = gaussian && first.map.cols() == 0;  // nothing to collapse
  if (sampling.kernel == PromptKernel::collapsed && sampling.precision == TokenPrecision::float64) {
    fail(kPromptErrors, "precision", "float64", "float32 with the collapsed kernel: ask for the full one");
  }
  if (sampling.kernel == PromptKernel::full || point) {
    return sampling.precision == TokenPrecision::float32 ? KernelKind::full_float : KernelKind::full_double;
  }
  if (!sampling.planted.empty()) {
    fail(kPromptErrors, "kernel", "collapsed", "full for prompts with planted tokens");
  }
  if (gaussian) return KernelKind::gaussian_scores;
  if (sampling.gradient_U) {
    fail(kPromptErrors, "kernel", "collapsed", "full for gradients in U over tokens that are not Gaussian");
  }
  return KernelKind::score_law;
}

prompts::SumOrder order_of(const ErrorSampling& sampling) {
  return sampling.gradient_U ? prompts::SumOrder::covariance : prompts::SumOrder::mean;
}

// Length of the row of a prompt that a device has summed: the sums, and their top.
std::size_t row_width(const TokenLeaf& leaf, const ErrorSampling& sampling) {
  return prompts::sum_count(static_cast<std::size_t>(leaf.base_dimension()), order_of(sampling)) + 1;
}

}  // namespace

std::unique_ptr<PromptErrorKernel> make_prompt_error_kernel(const PromptLaw& law,
                                                            const ErrorSampling& sampling,
                                                            const Execution& execution,
                                                            const prompts::PreparedPrompts* prepared) {
  switch (kind_of(law, sampling)) {
    case KernelKind::full_float:
      return std::make_unique<FullKernelOf<float>>(law, sampling, execution, prepared);
    case KernelKind::full_double:
      return std::make_unique<FullKernelOf<double>>(law, sampling, execution, prepared);
    case KernelKind::gaussian_scores:
      return std::make_unique<GaussianScoreKernel>(law.leaves.front(), law.V, sampling, execution, prepared);
    case KernelKind::score_law: return std::make_unique<ScoreLawKernel>(law.law, law.V, sampling, execution);
  }
  return nullptr;
}

std::size_t prepared_numbers(const PromptLaw& law, const ErrorSampling& sampling) {
  if (kind_of(law, sampling) == KernelKind::gaussian_scores) return prompts::PromptEngine::kScoreRow;
  std::size_t numbers = 0;
  for (const TokenLeaf& leaf : law.leaves) numbers += row_width(leaf, sampling);
  return numbers;
}

void prepare_prompts(const PromptLaw& law, const ErrorSampling& sampling, const Matrix& directions,
                     std::uint64_t first, std::int64_t count, const Execution& execution,
                     prompts::PreparedPrompts& prepared) {
  const KernelKind kind = kind_of(law, sampling);
  if (kind == KernelKind::full_double) {
    fail(kPromptErrors, "precision on a GPU", "float64", "float32, or sample on the CPU");
  }
  if (kind == KernelKind::score_law) {
    fail(kPromptErrors, "scores of other laws than Gaussian ones are not drawn on a GPU: sample on the CPU");
  }
  const prompts::PromptRange range{sampling.seed, first, count, sampling.length};
  prepared.first = first;
  if (kind == KernelKind::gaussian_scores) {
    const Matrix R = law.leaves.front().scale * law.leaves.front().map;
    std::vector<double> rates, shifts;
    for (Eigen::Index q = 0; q < directions.cols(); ++q) {
      const Vector along = R.transpose() * directions.col(q);
      rates.push_back(spread_of(along));
      prompts::check_score_rate(rates.back());
      shifts.push_back(shift_of(rates.back(), sampling.length));
    }
    prepared.leaves.resize(1);
    engine_of<prompts::PromptEngine>(*execution.device)
        .sum_scores(prompts::kScoreLanes, rates, shifts, range, execution,
                    prepared.room(0, count, prompts::PromptEngine::kScoreRow));
    return;
  }
  const std::vector<std::uint64_t> lanes = prompts::leaf_lanes(law.leaves);
  std::vector<std::vector<double>> pulled(law.leaves.size());
  std::vector<prompts::LeafSums> leaves;
  prepared.leaves.resize(law.leaves.size());
  for (std::size_t k = 0; k < law.leaves.size(); ++k) {
    const TokenLeaf& leaf = law.leaves[k];
    for (Eigen::Index q = 0; q < directions.cols(); ++q) {
      const Vector direction = leaf.pull_back(directions.col(q));
      pulled[k].insert(pulled[k].end(), direction.begin(), direction.end());
    }
    leaves.push_back({&leaf, lanes[k], pulled[k], prepared.room(k, count, row_width(leaf, sampling))});
  }
  engine_of<prompts::PromptEngine>(*execution.device)
      .sum_tokens(leaves, order_of(sampling), range, execution);
}

}  // namespace largo::estimation
