#include "estimation/rare_events.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "estimation/query_limit.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo {
namespace {

// Measured (docs/sampling.md): from so many on, intervals of runs without a warning keep their level.
constexpr double kFewCarriers = 25;  // tokens at one query
constexpr double kFewSamples = 3;    // a query and its tokens: an entropy over both, which is more cautious
constexpr double kFewAtoms = 4;
// Queries looked at beforehand: the same for every seed and every number of prompts, so that a warning is
// about the question asked.
constexpr std::uint64_t kProxySeed = 20240817;
constexpr std::uint64_t kProxies = 256;
constexpr double kMostPrompts = 1e9;  // that anybody would draw

double log_length(const SampledLayer& layer) { return std::log(static_cast<double>(layer.length)); }

// A law may refuse tilts that only a diagnosis asks for.
constexpr const char* kNotKnown =
    "the law has no tilt along four times the direction, so that it is not known whether rare tokens carry "
    "the error: intervals may be too short; take a smaller U";

// What a sample needs to know its own spread.
struct Need {
  const char* what = "";
  double log_prompts = 0;  // that have enough of it
  double enough = 0;
};

// Two digits, rounded up: whoever takes the advice has enough.
std::string at_least(double number) {
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(number)) - 1));
  const double rounded = std::ceil(number / unit) * unit;
  return rounded < 1e7 ? fmt::format("{:.0f}", rounded) : fmt::format("{:.1e}", rounded);
}

std::vector<std::string> said_of(const Need& need, std::int64_t prompts) {
  const auto n = static_cast<double>(prompts);
  if (std::log(n) >= need.log_prompts) return {};
  if (need.log_prompts > std::log(kMostPrompts)) {
    return {fmt::format(
        "rare {} carry the spread of the error, and no number of prompts within reach has enough of them: "
        "intervals may be far too short; use the exact method where the law has one, longer prompts or a "
        "smaller U",
        need.what)};
  }
  const double needed = std::exp(need.log_prompts);
  const double count = n * need.enough / needed;
  const std::string held = count < 0.5 ? "are unlikely to have one" : fmt::format("have about {:.2g}", count);
  return {fmt::format(
      "rare {} carry the spread of the error, of which {} prompts {}: intervals may be too short; take at "
      "least {} prompts",
      need.what, prompts, held, at_least(std::max(n + 1, needed)))};
}

// Tokens that make up the moments of the law itself.
Need atoms_needed(const SampledLayer& layer) {
  const TokenKurtosis kurtosis = token_kurtosis(layer.tokens, layer.V);
  const double rarest = layer.gradient_U ? std::max(kurtosis.fourth, kurtosis.eighth) : kurtosis.fourth;
  return {"tokens", std::log(kFewAtoms) + rarest - log_length(layer), kFewAtoms};
}

std::vector<std::string> said_of_both(const Need& carriers, const Need& atoms, std::int64_t prompts) {
  return said_of(carriers.log_prompts >= atoms.log_prompts ? carriers : atoms, prompts);
}

// A query as the proposal draws it. All are logarithms.
struct ProxySample {
  ErrorProxy error;     // with the weight of the query
  double presence = 0;  // the chance that a prompt has a token of those that carry the variance
};

std::vector<ProxySample> proxy_samples(const SampledLayer& layer, const QueryProposal& proposal) {
  const auto L = static_cast<double>(layer.length);
  std::vector<ProxySample> samples;
  for (std::uint64_t i = 0; i < kProxies; ++i) {
    const WeightedQuery drawn = proposal.draw(Stream(kProxySeed, i));
    const QueryLimit limit(layer.tokens, layer.U, drawn.query, TiltOrder::mean);
    const ErrorProxy error = error_proxy(layer.tokens, layer.U, drawn.query, L);
    const double weight = std::log(drawn.weight);
    samples.push_back({{error.output + weight, error.gradient_U + weight},
                       std::min(0.0, log_length(layer) - rare_token_entropy(layer.tokens, limit, L))});
  }
  return samples;
}

struct Carriers {
  double log_mean = 0;   // of the error's proxy
  double log_share = 0;  // of the samples that carry its variance
};

// An error f that is carried by a token present with probability π has the second moment f²/π: the law of
// what carries the variance is ∝ f²/π over queries, and its tokens are there with probability π.
Carriers carriers_of(const std::vector<ProxySample>& samples, double ErrorProxy::*quantity) {
  std::vector<double> errors, squares;
  for (const ProxySample& sample : samples) {
    errors.push_back(sample.error.*quantity);
    squares.push_back(2 * errors.back() - sample.presence);
  }
  const double log_count = std::log(static_cast<double>(samples.size()));
  const double log_squares = log_sum_exp(squares);
  double entropy = log_count;  // of that law relative to the law of the samples
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const double log_share = squares[i] - log_squares;
    entropy += std::exp(log_share) * (log_share - samples[i].presence);
  }
  return {log_sum_exp(errors) - log_count, -entropy};
}

// Samples: a query and its prompt.
Need samples_needed(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal) {
  const std::vector<ProxySample> samples = proxy_samples(layer, proposal);
  const Carriers output = carriers_of(samples, &ErrorProxy::output);
  const Carriers gradient_U = carriers_of(samples, &ErrorProxy::gradient_U);
  double log_share = output.log_share;
  if (layer.gradient_U) log_share = std::min(log_share, gradient_U.log_share);
  const double entropy = rare_query_entropy(layer, queries, proposal, {output.log_mean, gradient_U.log_mean});
  return {"queries and tokens", std::log(kFewSamples) - std::min(log_share, -entropy), kFewSamples};
}

}  // namespace

std::vector<std::string> rare_events(const SampledLayer& layer, const QueryLimit& limit,
                                     std::int64_t prompts) {
  // One token has all of the weight, and its error is seen as often as the token is.
  const bool condensed = layer.length > 1 && limit.entropy > log_length(layer);
  std::vector<std::string> said;
  if (condensed) {
    said.push_back(
        fmt::format("the weights condense on a few tokens: the limit at this query needs some e^{:.1f} "
                    "tokens and the prompt has e^{:.1f}; take longer prompts or a smaller U",
                    limit.entropy, log_length(layer)));
  }
  try {
    if (condensed) {
      const std::vector<std::string> of_atoms = said_of(atoms_needed(layer), prompts);
      said.insert(said.end(), of_atoms.begin(), of_atoms.end());
      return said;
    }
    const double entropy = rare_token_entropy(layer.tokens, limit, static_cast<double>(layer.length));
    const Need carriers{"tokens", std::log(kFewCarriers) + entropy - log_length(layer), kFewCarriers};
    return said_of_both(carriers, atoms_needed(layer), prompts);
  } catch (const InputError&) {
    said.emplace_back(kNotKnown);
    return said;
  }
}

std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts) {
  try {
    return said_of_both(samples_needed(layer, queries, proposal), atoms_needed(layer), prompts);
  } catch (const InputError&) {
    return {kNotKnown};
  }
}

namespace {

// A rare query that adds less than this to the error may stay unseen.
constexpr double kNegligible = 0.05;
// Tilts of a law of queries, from a quarter of a deviation on. Queries of less than the first entropy are
// among those that were looked at one by one; nobody meets those beyond the second.
constexpr int kTilts = 90;
constexpr double kFirstTilt = 0.25, kTiltRatio = 1.2;
constexpr double kLeastEntropy = 3, kMostEntropy = 100;
constexpr double kSettled = 1e-6;  // relative: a bounded law that has come to its end
constexpr double kParallel = 1 - 1e-6;

// A component is looked at along the axes on which it is so many times wider than the law.
constexpr double kWider = 2;

// Unit directions, none twice.
class Directions {
 public:
  void add(const Vector& along) {
    const double norm = along.norm();
    if (!(norm > 0) || !std::isfinite(norm)) return;
    const Vector unit = along / norm;
    for (const Vector& other : all_) {
      if (std::abs(unit.dot(other)) > kParallel) return;
    }
    all_.push_back(unit);
  }
  const std::vector<Vector>& all() const { return all_; }

 private:
  std::vector<Vector> all_;
};

// Components of a Gaussian mixture: what is rare lies towards their means, or where one is wider than most.
void add_components(const SampledLayer& layer, const std::vector<TokenLeaf>& leaves, const Matrix& covariance,
                    Directions& directions) {
  const Vector mean = layer.tokens.mean();
  for (const TokenLeaf& leaf : leaves) {
    const Vector offset = leaf.offset.size() > 0 ? Vector(leaf.offset - mean) : Vector(-mean);
    directions.add(layer.U.transpose() * offset);
    const Eigen::Index d = mean.size();
    const Matrix map = leaf.scale * (leaf.map.rows() > 0 ? leaf.map : Matrix(Matrix::Identity(d, d)));
    const SymmetricEigenvalues own = symmetric_eigenvalues(map * map.transpose());
    for (Eigen::Index k = 0; k < d; ++k) {
      const Vector axis = own.vectors.col(k);
      if (own.values[k] > kWider * axis.dot(covariance * axis)) directions.add(layer.U.transpose() * axis);
    }
  }
}

// Along Uᵀx the queries of given score <x, Uz> are the most frequent ones.
std::vector<Vector> directions_of(const SampledLayer& layer, const Matrix& covariance,
                                  const QueryProposal& proposal) {
  const std::vector<TokenLeaf> leaves = layer.tokens.token_leaves();
  Directions directions;
  if (leaves.size() > 1) add_components(layer, leaves, covariance, directions);
  if (proposal.importance() && all_normal(leaves)) return directions.all();
  const SymmetricEigenvalues scores = symmetric_eigenvalues(layer.U.transpose() * covariance * layer.U);
  for (Eigen::Index k = scores.values.size(); k-- > 0;) directions.add(scores.vectors.col(k));
  for (Eigen::Index i = 0; i < layer.U.rows(); ++i) directions.add(layer.U.row(i).transpose());
  if (proposal.importance()) return directions.all();
  for (Eigen::Index i = 0; i < layer.U.cols(); ++i) directions.add(Vector::Unit(layer.U.cols(), i));
  return directions.all();
}

class Search {
 public:
  Search(const SampledLayer& layer, double spread, const Measure& queries, const QueryProposal& proposal,
         const ErrorProxy& log_means)
      : layer_(layer), spread_(spread), queries_(queries), proposal_(proposal), log_means_(log_means) {}

  void along(const Vector& axis, double first) {
    double last = 0;
    for (int i = 0; i < kTilts; ++i) {
      const Vector tilted = first * std::pow(kTiltRatio, i) * axis;
      try {
        const Tilt tilt = queries_.tilt(tilted, TiltOrder::mean);
        const double entropy = tilted.dot(tilt.mean) - tilt.log_partition;
        if (!(entropy <= kMostEntropy)) return;
        if (entropy > kLeastEntropy) look(tilt.mean, entropy, entropy + proposal_.log_weight(tilted));
        if (entropy > kLeastEntropy / 2 && entropy - last < kSettled * entropy) return;
        last = entropy;
      } catch (const InputError&) {
        return;  // as far as the laws go
      }
    }
  }
  double rarest() const { return rarest_; }

 private:
  // `entropy` is relative to the law, `drawn` to the proposal.
  void look(const Vector& query, double entropy, double drawn) {
    const auto L = static_cast<double>(layer_.length);
    const ErrorProxy error = error_proxy(layer_.tokens, layer_.U, query, L, spread_);
    const double few = entropy + std::log(kNegligible);
    const bool carries = error.output > log_means_.output + few ||
                         (layer_.gradient_U && error.gradient_U > log_means_.gradient_U + few);
    if (!carries) return;
    const QueryLimit limit(layer_.tokens, layer_.U, query, TiltOrder::mean);
    // Where prompts are too short for the limit, the error is that its tokens are not there.
    const bool condensed = limit.entropy > std::log(L);
    const double missing = condensed ? 0 : rare_token_entropy(layer_.tokens, limit, L) - std::log(L);
    rarest_ = std::max(rarest_, drawn + std::max(0.0, missing));
  }

  const SampledLayer& layer_;
  double spread_;  // of the tokens
  const Measure& queries_;
  const QueryProposal& proposal_;
  ErrorProxy log_means_;
  double rarest_ = 0;
};

}  // namespace

double rare_query_entropy(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal,
                          const ErrorProxy& log_means) {
  const Matrix covariance = layer.tokens.covariance();
  const Matrix of_queries = queries.covariance();
  Search search(layer, covariance.trace(), queries, proposal, log_means);
  for (const Vector& axis : directions_of(layer, covariance, proposal)) {
    const double deviation = std::sqrt(axis.dot(of_queries * axis));
    if (!(deviation > 0)) continue;
    search.along(axis, kFirstTilt / deviation);
    search.along(-axis, kFirstTilt / deviation);
  }
  return search.rarest();
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// t falls by this ratio from where the x of a Gaussian ends; x is √(m2/p) for an atom of probability p.
constexpr double kRatio = 1.4142135623730951, kFirst = 4;
constexpr int kSteps = 72;
constexpr double kPastMinimum = 3;                                             // of the logarithm of a bound
constexpr double kLargest = 1e6, kRounding = 1e-12;                            // of E cosh − 1
constexpr double kLog24 = 3.1780538303479458, kLog40320 = 10.604602902745251;  // 4!, 8!

struct LogMoments {
  double fourth = kInfinity, eighth = kInfinity;
};

// One coordinate x = <u, z − mean>: E[e^{tx} − 1].
class Coordinate {
 public:
  Coordinate(const Measure& law, const std::vector<TokenLeaf>& leaves, const Vector& u, const Vector& mean)
      : law_(law), u_(u), centre_(u.dot(mean)) {
    // Leaves of a mixture of Gaussians, in closed form: one pass over the matrices serves every t.
    for (const TokenLeaf& leaf : leaves) {
      const double offset = (leaf.offset.size() > 0 ? u.dot(leaf.offset) : 0) - centre_;
      const double deviation = leaf.scale * leaf.pull_back(u).norm();
      normals_.push_back({leaf.probability, offset, deviation * deviation});
    }
  }

  double excess(double t) const {
    double sum = 0;
    for (const Normal& normal : normals_) {
      sum += normal.probability * std::expm1(t * normal.mean + t * t * normal.variance / 2);
    }
    if (!normals_.empty()) return sum;
    try {
      return std::expm1(law_.log_partition(t * u_) - t * centre_);
    } catch (const InputError&) {
      return kInfinity;  // a law that cannot be tilted so far
    }
  }

 private:
  struct Normal {
    double probability, mean, variance;
  };
  const Measure& law_;
  Vector u_;
  double centre_;
  std::vector<Normal> normals_;  // empty: another law
};

LogMoments moments_of(const Coordinate& x, double second) {
  LogMoments least;
  double t = kFirst / std::sqrt(second);
  for (int i = 0; i < kSteps; ++i, t /= kRatio) {
    const double above = (x.excess(t) + x.excess(-t)) / 2;
    if (!(above < kLargest)) continue;
    if (above < kRounding) break;
    const double fourth = kLog24 + std::log(above) - 4 * std::log(t);
    const double eighth = kLog40320 + std::log(above) - 8 * std::log(t);
    if (fourth > least.fourth + kPastMinimum && eighth > least.eighth + kPastMinimum) break;
    least = {std::min(least.fourth, fourth), std::min(least.eighth, eighth)};
  }
  return least;
}

TokenKurtosis kurtosis_of(const Measure& law, const Tilt& plain, const Matrix& W) {
  std::vector<TokenLeaf> leaves = law.token_leaves();
  if (!all_normal(leaves)) leaves.clear();
  const Vector second = (W * plain.covariance).cwiseProduct(W).rowwise().sum();
  // Σ of the coordinates' ‖·‖ in L⁴ and L⁸, squared, in units of their variance.
  double all = 0, fourth = 0, eighth = 0;
  for (Eigen::Index i = 0; i < W.rows(); ++i) {
    if (!(second[i] > 0)) continue;
    const LogMoments moments =
        moments_of(Coordinate(law, leaves, W.row(i).transpose(), plain.mean), second[i]);
    all += second[i];
    fourth += std::exp(moments.fourth / 2);
    eighth += std::exp(moments.eighth / 4);
  }
  if (!(all > 0)) return {};
  // Jensen's inequality, whatever rounding says.
  TokenKurtosis kurtosis;
  kurtosis.fourth = std::max(0.0, 2 * std::log(fourth / all));
  kurtosis.eighth = std::max(0.0, 4 * std::log(eighth) - 4 * std::log(fourth));
  return kurtosis;
}

// Of a prompt the moments are sums over its tokens. The slack is that of the bounds on a rare atom, so that
// what is rare is so by one measure.
TokenKurtosis kurtosis_of(const EmpiricalMeasure& prompt, const Vector& mean, const Matrix& W) {
  constexpr double kSlack4 = 2.5, kSlack8 = 5;
  const Vector& probabilities = prompt.probabilities();
  const double equal = 1 / static_cast<double>(prompt.length());
  std::vector<double> squares;
  double largest = 0;
  for (std::int64_t l = 0; l < prompt.length(); ++l) {
    Vector x(prompt.dimension());
    for (std::ptrdiff_t j = 0; j < x.size(); ++j) x[j] = prompt.tokens()(l, j) - mean[j];
    squares.push_back((W.rows() > 0 ? Vector(W * x) : x).squaredNorm());
    largest = std::max(largest, squares.back());
  }
  if (!(largest > 0)) return {};
  double second = 0, fourth = 0, eighth = 0;
  for (std::size_t l = 0; l < squares.size(); ++l) {
    const double p = probabilities.size() > 0 ? probabilities[static_cast<Eigen::Index>(l)] : equal;
    const double r = squares[l] / largest;
    second += p * r;
    fourth += p * r * r;
    eighth += p * r * r * r * r;
  }
  return {std::log(kSlack4 * fourth / (second * second)), std::log(kSlack8 * eighth / (fourth * fourth))};
}

TokenKurtosis worse(const TokenKurtosis& a, const TokenKurtosis& b) {
  return {std::max(a.fourth, b.fourth), std::max(a.eighth, b.eighth)};
}

}  // namespace

TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V) {
  const Matrix I = Matrix::Identity(law.dimension(), law.dimension());
  const bool plain_values = V.rows() == V.cols() && V == I;
  if (const auto* prompt = dynamic_cast<const EmpiricalMeasure*>(&law)) {
    const Vector mean = prompt->mean();
    const TokenKurtosis tokens = kurtosis_of(*prompt, mean, Matrix());
    return plain_values ? tokens : worse(tokens, kurtosis_of(*prompt, mean, V));
  }
  const Tilt plain = law.tilt(Vector::Zero(law.dimension()), TiltOrder::covariance);
  const TokenKurtosis tokens = kurtosis_of(law, plain, I);
  return plain_values ? tokens : worse(tokens, kurtosis_of(law, plain, V));
}

}  // namespace largo
