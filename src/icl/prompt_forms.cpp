#include "icl/prompt_forms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "icl/risk_statistics.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {
namespace {

// Substreams of a draw.
constexpr std::uint64_t kTaskStream = 0;
constexpr std::uint64_t kTokenStream = 1;
constexpr std::uint64_t kLengthStream = 2;

using Rows = Eigen::Map<Matrix>;

Eigen::Map<Vector> part(std::span<double> row, Eigen::Index first, Eigen::Index size) {
  return {row.data() + first, size};
}

// A draw of the task, before its prompt is drawn.
PromptDraw draw_task(const PromptSetting& setting, const Stream& stream) {
  const PromptTask& task = *setting.task;
  PromptDraw draw = task.draw(stream.substream(kTaskStream));
  if (!draw.tokens) fail("PromptTask", "the law of the tokens is null");
  check_size("PromptTask", "each token", draw.tokens->dimension(), task.token_dimension());
  check_size("PromptTask", "query", draw.query.size(), task.query_dimension());
  check_size("PromptTask", "target", draw.target.size(), task.output_dimension());
  check_finite("PromptTask", "query", draw.query);
  check_finite("PromptTask", "target", draw.target);
  return draw;
}

double draw_length(const LengthLaw& law, const Stream& stream) {
  if (law.is_one_length()) return law.longest();
  double uniform = 0;
  stream.substream(kLengthStream).uniforms(0, {&uniform, 1});
  return law.quantile(uniform);
}

void check_drawn_length(const PromptSetting& setting, double L) {
  const auto d = static_cast<double>(setting.task->token_dimension());
  if (L != std::floor(L)) fail("icl", "length", L, "a whole number where prompts are drawn, or infinity");
  if (L * d > kLargestPrompt) {
    fail("icl", "length", L, "at most 2^29 over the dimension of the tokens where prompts are drawn");
  }
}

// One draw is the work of one thread, since many are made at once.
RowMatrix draw_tokens(const PromptSetting& setting, const Measure& law, const Stream& stream, double L) {
  check_drawn_length(setting, L);
  return sample_prompt(law, stream.substream(kTokenStream), static_cast<std::int64_t>(L), {.threads = 1});
}

// (1/L) Σ z zᵀ over tokens that are drawn a chunk at a time.
Matrix second_moment(const Measure& law, const Stream& stream, Eigen::Index L, const Execution& execution) {
  constexpr Eigen::Index kRows = 1024;
  Matrix sum = Matrix::Zero(law.dimension(), law.dimension());
  RowMatrix rows(std::min(kRows, L), law.dimension());
  for (Eigen::Index first = 0; first < L; first += kRows) {
    runtime::check_stop(execution);
    auto some = rows.topRows(std::min(kRows, L - first));
    law.sample(stream, static_cast<std::uint64_t>(first), some);
    sum.noalias() += some.transpose() * some;
  }
  return sum / static_cast<double>(L);
}

// The Gaussian law of the tokens, if it is one.
bool make_gaussian(const PromptDraw& draw, PreparedPrompt& prompt) {
  const std::vector<TokenLeaf> leaves = draw.tokens->token_leaves();
  if (leaves.size() != 1 || leaves[0].squared_radius ||
      !std::holds_alternative<NormalTokens>(leaves[0].base)) {
    return false;
  }
  prompt.form = PromptForm::gaussian;
  prompt.matrix = leaves[0].whole_map();
  prompt.mean = leaves[0].whole_offset();
  return true;
}

}  // namespace

void check(const PromptSetting& setting, const char* function) {
  if (!setting.task) fail(function, "the task is null");
  if (!setting.loss) fail(function, "the loss is null");
  const std::pair<const char*, Eigen::Index> sizes[] = {
      {"token dimension of the task", setting.task->token_dimension()},
      {"query dimension of the task", setting.task->query_dimension()},
      {"output dimension of the task", setting.task->output_dimension()}};
  for (const auto& [name, size] : sizes) {
    if (size < 1) fail(function, name, static_cast<double>(size), "at least 1");
  }
  check_finite(function, "score_scale", setting.score_scale);
}

PreparedPrompt prepare_prompt(const PromptSetting& setting, std::int64_t index, KeepTokens keep,
                              const Execution& execution) {
  const Stream stream(setting.seed, static_cast<std::uint64_t>(index));
  PromptDraw draw = draw_task(setting, stream);
  const bool is_linear = setting.attention == AttentionKind::linear;
  PreparedPrompt prompt;
  prompt.query = std::move(draw.query);
  prompt.target = std::move(draw.target);
  const bool infinite = setting.length.is_infinite();
  const bool averaged =
      setting.sampling == PromptSampling::where_needed && setting.loss->quadratic_factor().has_value();
  if ((infinite || averaged) && make_gaussian(draw, prompt) && (!is_linear || prompt.mean.isZero(0))) {
    prompt.L = infinite ? setting.length.longest() : 0;  // averages over a law of lengths have no L
    return prompt;
  }
  prompt.L = draw_length(setting.length, stream);
  prompt.mean.resize(0);
  if (is_linear) {
    prompt.form = PromptForm::moment;
    if (infinite) {
      const Vector mean = draw.tokens->mean();
      prompt.matrix = draw.tokens->covariance() + mean * mean.transpose();
    } else {
      check_drawn_length(setting, prompt.L);
      prompt.matrix = second_moment(*draw.tokens, stream.substream(kTokenStream),
                                    static_cast<Eigen::Index>(prompt.L), execution);
    }
  } else if (infinite) {
    prompt.form = PromptForm::law;
    prompt.matrix.resize(0, 0);
    prompt.law = std::move(draw.tokens);
  } else if (keep == KeepTokens::yes) {
    prompt.form = PromptForm::tokens;
    prompt.matrix = draw_tokens(setting, *draw.tokens, stream, prompt.L);
  } else {
    check_drawn_length(setting, prompt.L);
    prompt.form = PromptForm::drawn;
    prompt.matrix.resize(0, 0);
    prompt.law = std::move(draw.tokens);
    prompt.stream = stream.substream(kTokenStream);
  }
  return prompt;
}

double drawn_length(const PromptSetting& setting, std::int64_t index) {
  return draw_length(setting.length, Stream(setting.seed, static_cast<std::uint64_t>(index)));
}

PromptAverage average_of(const PreparedPrompt& prompt) {
  if (std::isinf(prompt.L)) return PromptAverage::limit;
  return prompt.form == PromptForm::gaussian ? PromptAverage::exact : PromptAverage::sampled;
}

PromptHead::PromptHead(const PromptSetting& setting, const ConstVectorRef& parameters,
                       const Execution& execution)
    : setting_(setting),
      execution_(execution),
      layout_(*setting.task),
      sums_(static_cast<std::size_t>(layout_.d),
            layout_.m == 1 ? prompts::SumOrder::gradient : prompts::SumOrder::covariance),
      chunk_(static_cast<std::size_t>(layout_.d) * prompts::kChunkTokens) {
  const auto [d, e, m] = layout_;
  check_size("PromptRisk", "parameters", parameters.size(), layout_.parameters());
  check_finite("PromptRisk", "parameters", parameters);
  U_ = parameters.head(d * e).reshaped(d, e);
  V_ = parameters.tail(m * d).reshaped<Eigen::RowMajor>(m, d);
  if (setting.attention == AttentionKind::softmax && !setting.length.is_infinite() &&
      setting.sampling == PromptSampling::where_needed && setting.loss->quadratic_factor()) {
    table_ = SoftmaxTable::shared(setting.length);
  }
}

void PromptHead::respond(const PreparedPrompt& prompt, std::span<double> row) {
  const auto [d, e, m] = layout_;
  part(row, layout_.target(), m) = prompt.target;
  part(row, layout_.query(), e) = prompt.query;
  const Vector a = setting_.score_scale * (U_ * prompt.query);
  if (prompt.form == PromptForm::gaussian && !std::isinf(prompt.L)) {
    if (setting_.attention == AttentionKind::softmax) return average_softmax(prompt, a, row);
    return average_linear(prompt, a, row);
  }
  Eigen::Map<Vector> mean = part(row, layout_.vector(), d);
  Rows spread(row.data() + layout_.matrix(), d, m);
  switch (prompt.form) {
    case PromptForm::tokens:
    case PromptForm::drawn: attend_tokens(prompt, a, row); break;
    case PromptForm::moment:
      mean = prompt.matrix * a;
      spread = prompt.matrix * V_.transpose();
      break;
    case PromptForm::law:
      mean = prompt.law->tilt(a, TiltOrder::mean).mean;
      spread = prompt.law->tilted_covariance_products(a.replicate(1, m), V_.transpose(), {.threads = 1});
      break;
    case PromptForm::gaussian:  // L = ∞; linear attention has a mean of zero here
      mean = prompt.mean + prompt.matrix * (prompt.matrix.transpose() * a);
      spread = prompt.matrix * (prompt.matrix.transpose() * V_.transpose());
      break;
  }
  part(row, layout_.output(), m) = V_ * mean;
}

// Coordinate by coordinate, with zeros up to the next multiple of eight.
void PromptHead::fill_chunk(const PreparedPrompt& prompt, Eigen::Index first, Eigen::Index count) {
  const auto chunk = static_cast<Eigen::Index>(prompts::kChunkTokens);
  const Eigen::Index d = layout_.d, padded = (count + 7) / 8 * 8;
  const bool drawn = prompt.form == PromptForm::drawn;
  if (drawn) {
    runtime::check_stop(execution_);
    rows_.resize(count, d);
    prompt.law->sample(*prompt.stream, static_cast<std::uint64_t>(first), rows_);
    check_finite("PromptTask", "tokens", rows_);
  }
  for (Eigen::Index j = 0; j < d; ++j) {
    Eigen::Map<Vector> to(chunk_.data() + j * chunk, padded);
    if (drawn) {
      to.head(count) = rows_.col(j);
    } else {
      to.head(count) = prompt.matrix.col(j).segment(first, count);
    }
    to.tail(padded - count).setZero();
  }
}

void PromptHead::attend_tokens(const PreparedPrompt& prompt, const Vector& a, std::span<double> row) {
  const auto [d, e, m] = layout_;
  sums_.begin(a, m == 1 ? Vector(V_.row(0).transpose()) : Vector());
  const auto L = static_cast<Eigen::Index>(prompt.L);
  const auto chunk = static_cast<Eigen::Index>(prompts::kChunkTokens);
  for (Eigen::Index first = 0; first < L; first += chunk) {
    const Eigen::Index count = std::min(chunk, L - first);
    fill_chunk(prompt, first, count);
    sums_.add(chunk_.data(), static_cast<std::size_t>(count));
  }
  const double weight = sums_.weight();
  Eigen::Map<Vector> mean = part(row, layout_.vector(), d);
  Rows spread(row.data() + layout_.matrix(), d, m);
  mean = sums_.mean() / weight;
  if (m == 1) {
    spread.col(0) = sums_.gradient() / weight - sums_.value() / weight * mean;
  } else {
    spread = (sums_.second_moment() / weight - mean * mean.transpose()) * V_.transpose();
  }
}

// With Γ = R Rᵀ the covariance and m the mean of the tokens, c = VΓa, r = Vm - y, κ = tr VΓVᵀ, and p, F the
// statistics at s² = aᵀΓa (docs/icl.md), averages over prompts are
//
//   E ‖o - y‖² = ‖r‖² + 2(1 - p) <r, c> + F ‖c‖² + κ p.
void PromptHead::average_softmax(const PreparedPrompt& prompt, const Vector& a, std::span<double> row) const {
  const auto [d, e, m] = layout_;
  const double factor = *setting_.loss->quadratic_factor();
  const Vector along = prompt.matrix.transpose() * a;  // Rᵀa
  const Matrix VR = V_ * prompt.matrix;
  const Vector Gamma_a = prompt.matrix * along, c = VR * along, r = V_ * prompt.mean - prompt.target;
  const double kappa = VR.squaredNorm(), rc = r.dot(c), cc = c.squaredNorm();
  const RiskStatistics f = risk_statistics(*table_, along.squaredNorm());
  row[0] = 1;
  row[1] = factor * (r.squaredNorm() + 2 * f.rest * rc + f.F * cc + kappa * f.p);
  part(row, layout_.output(), m) = V_ * prompt.mean + f.rest * c;
  const Vector slope = f.rest * r + f.F * c;  // half the derivative in c
  part(row, layout_.vector(), d) = 2 * factor *
                                   (prompt.matrix * (VR.transpose() * slope) +
                                    (-2 * f.p_slope * rc + f.phi_slope * cc + f.p_slope * kappa) * Gamma_a);
  Rows in_V(row.data() + layout_.matrix(), d, m);  // column k is the gradient in row k of V
  in_V = 2 * factor *
         (prompt.mean * (r + f.rest * c).transpose() + Gamma_a * slope.transpose() +
          f.p * (prompt.matrix * VR.transpose()));
}

// Linear attention over centred Gaussian tokens, by the second moments of Wishart matrices, with h = E 1/L:
//
//   E ‖o - y‖² = (1 + h) ‖c‖² + h κ s² - 2 <y, c> + ‖y‖².
void PromptHead::average_linear(const PreparedPrompt& prompt, const Vector& a, std::span<double> row) const {
  const auto [d, e, m] = layout_;
  const double factor = *setting_.loss->quadratic_factor();
  const double h = 1 / setting_.length.harmonic_mean();
  const Vector along = prompt.matrix.transpose() * a;
  const Matrix VR = V_ * prompt.matrix;
  const Vector Gamma_a = prompt.matrix * along, c = VR * along, &y = prompt.target;
  const double kappa = VR.squaredNorm(), square = along.squaredNorm();
  row[0] = 1;
  row[1] = factor * ((1 + h) * c.squaredNorm() + h * kappa * square - 2 * y.dot(c) + y.squaredNorm());
  part(row, layout_.output(), m) = c;
  const Vector slope = (1 + h) * c - y;
  part(row, layout_.vector(), d) =
      2 * factor * (prompt.matrix * (VR.transpose() * slope) + h * kappa * Gamma_a);
  Rows in_V(row.data() + layout_.matrix(), d, m);
  in_V = 2 * factor * (Gamma_a * slope.transpose() + h * square * (prompt.matrix * VR.transpose()));
}

}  // namespace largo::icl

namespace largo {

const char* name_of(PromptAverage average) {
  constexpr const char* kNames[] = {"exact", "limit", "sampled"};
  return kNames[static_cast<std::size_t>(average)];
}

PromptDraw draw_prompt(const PromptSetting& setting, std::int64_t index) {
  icl::check(setting, "draw_prompt");
  if (index < 0) fail("draw_prompt", "index", static_cast<double>(index), "at least 0");
  const Stream stream(setting.seed, static_cast<std::uint64_t>(index));
  PromptDraw draw = icl::draw_task(setting, stream);
  if (!setting.length.is_infinite()) {
    const double L = icl::draw_length(setting.length, stream);
    draw.tokens = std::make_shared<EmpiricalMeasure>(icl::draw_tokens(setting, *draw.tokens, stream, L));
  }
  return draw;
}

}  // namespace largo
