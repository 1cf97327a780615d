#include "sampling/rare_events.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"
#include "largo/numerics/log_sum_exp.hpp"
#include "sampling/token_kurtosis.hpp"

namespace largo {
namespace {

// Measured (docs/sampling.md): from so many on, intervals of runs without a warning keep their level.
constexpr double kFewCarriers = 25;  // tokens at one query
constexpr double kFewSamples = 3;    // a query and its tokens: an entropy over both, which is more cautious
constexpr double kFewAtoms = 4;
// Queries looked at beforehand: the same for every seed, so that a warning is about the question asked.
constexpr std::uint64_t kProxySeed = 20240817;
constexpr std::int64_t kFewestProxies = 64, kMostProxies = 256, kSamplesForProxy = 8;
// A rare query that adds less than this to the error may stay unseen.
constexpr double kNegligible = 0.05;
// Tilts of a law of queries, from a quarter of a deviation on.
constexpr int kTilts = 40;
constexpr double kFirstTilt = 0.25, kTiltRatio = 1.5;
constexpr Eigen::Index kAxes = 2;

double log_length(const SampledLayer& layer) { return std::log(static_cast<double>(layer.length)); }

// A law may refuse tilts that only a diagnosis asks for.
constexpr const char* kNotKnown =
    "the law has no tilt along four times the direction: whether rare tokens carry the error is not known";

std::string few(const char* what, double log_count, double enough, std::int64_t prompts) {
  const double needed = static_cast<double>(prompts) * enough * std::exp(-log_count);
  return fmt::format(
      "rare {} carry the spread of the error, some {:.2g} in all these prompts: intervals may be too short, "
      "take at least {:.1e} prompts",
      what, std::exp(log_count), std::ceil(needed));
}

// Tokens that make up the moments of the law itself.
std::vector<std::string> few_atoms(const SampledLayer& layer, std::int64_t prompts) {
  const TokenKurtosis kurtosis = token_kurtosis(layer.tokens, layer.V);
  const double rarest = layer.gradient_U ? std::max(kurtosis.fourth, kurtosis.eighth) : kurtosis.fourth;
  const double log_count = std::log(static_cast<double>(prompts)) + log_length(layer) - rarest;
  if (log_count >= std::log(kFewAtoms)) return {};
  return {few("tokens", log_count, kFewAtoms, prompts)};
}

// A query as the proposal draws it. All are logarithms.
struct ProxySample {
  ErrorProxy error;     // with the weight of the query
  double presence = 0;  // the chance that a prompt has a token of those that carry the variance
};

std::vector<ProxySample> proxy_samples(const SampledLayer& layer, const QueryProposal& proposal,
                                       std::int64_t prompts) {
  const auto L = static_cast<double>(layer.length);
  const std::int64_t count = std::clamp(prompts / kSamplesForProxy, kFewestProxies, kMostProxies);
  std::vector<ProxySample> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    const WeightedQuery drawn = proposal.draw(Stream(kProxySeed, static_cast<std::uint64_t>(i)));
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

// Queries typical of a tilt of their law, along the directions in which scores vary most, are e^{-D} of all.
// Returns the largest D of those that would add to the error.
double rare_query_entropy(const SampledLayer& layer, const Measure& queries, double log_mean,
                          double ErrorProxy::*quantity) {
  const auto L = static_cast<double>(layer.length);
  const SymmetricEigenvalues scores =
      symmetric_eigenvalues(layer.U.transpose() * layer.tokens.covariance() * layer.U);
  const Matrix spread = queries.covariance();
  double rarest = 0;
  const auto look = [&](const Vector& along) {
    const Tilt tilt = queries.tilt(along, TiltOrder::mean);
    const double entropy = along.dot(tilt.mean) - tilt.log_partition;
    const double carried = error_proxy(layer.tokens, layer.U, tilt.mean, L).*quantity - entropy;
    if (carried > log_mean + std::log(kNegligible)) rarest = std::max(rarest, entropy);
  };
  const Eigen::Index size = scores.values.size();
  for (Eigen::Index k = 0; k < std::min(kAxes, size); ++k) {
    const Vector axis = scores.vectors.col(size - 1 - k);
    const double deviation = std::sqrt(axis.dot(spread * axis));
    if (!(deviation > 0)) continue;
    for (int i = 0; i < kTilts; ++i) {
      const double rate = kFirstTilt * std::pow(kTiltRatio, i) / deviation;
      try {
        look(rate * axis);
        look(-rate * axis);
      } catch (const InputError&) {
        break;  // as far as the laws go
      }
    }
  }
  return rarest;
}

// How many of the samples carry the variance of the worst quantity.
double log_carrying_samples(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal,
                            std::int64_t prompts) {
  const std::vector<ProxySample> samples = proxy_samples(layer, proposal, prompts);
  const auto share = [&](double ErrorProxy::*quantity) {
    const Carriers carriers = carriers_of(samples, quantity);
    if (proposal.importance()) return carriers.log_share;
    return std::min(carriers.log_share, -rare_query_entropy(layer, queries, carriers.log_mean, quantity));
  };
  double least = share(&ErrorProxy::output);
  if (layer.gradient_U) least = std::min(least, share(&ErrorProxy::gradient_U));
  return std::log(static_cast<double>(prompts)) + least;
}

}  // namespace

std::vector<std::string> rare_events(const SampledLayer& layer, const QueryLimit& limit,
                                     std::int64_t prompts) {
  if (limit.entropy > log_length(layer)) {
    return {
        fmt::format("the weights condense on a few tokens: the limit at this query needs some e^{:.1f} "
                    "tokens and the prompt has "
                    "e^{:.1f}; take longer prompts or a smaller U",
                    limit.entropy, log_length(layer))};
  }
  try {
    const double log_count = std::log(static_cast<double>(prompts)) + log_length(layer) -
                             rare_token_entropy(layer.tokens, limit, static_cast<double>(layer.length));
    if (log_count < std::log(kFewCarriers)) return {few("tokens", log_count, kFewCarriers, prompts)};
  } catch (const InputError&) {
    return {kNotKnown};
  }
  return few_atoms(layer, prompts);
}

std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts) {
  try {
    const double log_count = log_carrying_samples(layer, queries, proposal, prompts);
    if (log_count < std::log(kFewSamples)) {
      return {few("queries and tokens", log_count, kFewSamples, prompts)};
    }
  } catch (const InputError&) {
    return {kNotKnown};
  }
  return few_atoms(layer, prompts);
}

}  // namespace largo
