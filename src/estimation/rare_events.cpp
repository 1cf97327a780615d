#include "estimation/rare_events.hpp"
#include "estimation/rare_queries.hpp"
#include "estimation/token_kurtosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "estimation/query_limit.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::estimation {
namespace {

// Measured (docs/sampling.md): from these numbers on, intervals of runs without a warning keep their level.
constexpr double kFewCarriers = 25;  // tokens at one query
constexpr double kFewSamples = 3;    // queries with their tokens: the entropy over both is more cautious
constexpr double kFewAtoms = 4;
// The queries examined beforehand are the same for every seed and every number of prompts, so that a warning
// depends only on the question asked.
constexpr std::uint64_t kProxySeed = 20240817;
constexpr std::uint64_t kProxies = 256;
constexpr double kMostPrompts = 1e9;  // the most that anybody would draw

double log_length(const SampledLayer& layer) { return std::log(static_cast<double>(layer.length)); }

// The logarithm of the expected Σ e^{score} over a prompt.
double log_weight(const SampledLayer& layer, const QueryLimit& limit) {
  std::vector<double> parts{limit.tilt.log_partition + log_length(layer)};
  for (const PlantedToken& token : layer.planted) parts.push_back(log_weight(token, limit.direction));
  return numerics::log_sum_exp(parts);
}

constexpr const char* kPlantedQueries =
    "which queries carry the error is known for tokens of the law alone, not beside planted ones: intervals "
    "may be too short; at given queries, the output and the gradient in V are exact";

// A law may refuse tilts that are only needed for a diagnosis.
constexpr const char* kNotKnown =
    "the law has no tilt along four times the direction, so that it is not known whether rare tokens carry "
    "the error: intervals may be too short; take a smaller U";

// What a sample must contain to know its own spread.
struct Need {
  const char* what = "";
  double log_prompts = 0;  // log of the number of prompts that have enough of it
  double enough = 0;
};

// Two digits, rounded up so that whoever takes the advice has enough.
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

// The tokens that make up the moments of the law itself.
Need atoms_needed(const SampledLayer& layer) {
  const TokenKurtosis kurtosis = token_kurtosis(layer.tokens, layer.V);
  const double rarest = layer.gradient_U ? std::max(kurtosis.fourth, kurtosis.eighth) : kurtosis.fourth;
  return {"tokens", std::log(kFewAtoms) + rarest - log_length(layer), kFewAtoms};
}

std::vector<std::string> said_of_both(const Need& carriers, const Need& atoms, std::int64_t prompts) {
  return said_of(carriers.log_prompts >= atoms.log_prompts ? carriers : atoms, prompts);
}

// A query as the proposal draws it. All members are logarithms.
struct ProxySample {
  ErrorProxy error;     // including the weight of the query
  double presence = 0;  // probability that a prompt has one of the tokens that carry the variance
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
                       std::min(0.0, log_length(layer) -
                                         rare_token_entropy(layer.tokens, limit, log_weight(layer, limit)))});
  }
  return samples;
}

struct Carriers {
  double log_mean = 0;   // mean of the error's proxy
  double log_share = 0;  // share of the samples that carry its variance
};

// An error f that is carried by a token present with probability π has the second moment f²/π. So the law of
// the queries that carry the variance is ∝ f²/π, and their tokens are present with probability π.
Carriers carriers_of(const std::vector<ProxySample>& samples, double ErrorProxy::*quantity) {
  std::vector<double> errors, squares;
  for (const ProxySample& sample : samples) {
    errors.push_back(sample.error.*quantity);
    squares.push_back(2 * errors.back() - sample.presence);
  }
  const double log_count = std::log(static_cast<double>(samples.size()));
  const double log_squares = numerics::log_sum_exp(squares);
  double entropy = log_count;  // entropy of that law relative to the law of the samples
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const double log_share = squares[i] - log_squares;
    entropy += std::exp(log_share) * (log_share - samples[i].presence);
  }
  return {numerics::log_sum_exp(errors) - log_count, -entropy};
}

// A sample is a query and its prompt.
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
  // If condensed, one token has all of the weight, and its error is seen as often as the token is. Beside
  // planted tokens of more weight than the crowd's, it has not.
  const double crowd_weight = limit.tilt.log_partition + log_length(layer);
  const double all_weight = log_weight(layer, limit);
  const bool condensed =
      layer.length > 1 && limit.entropy > log_length(layer) && all_weight < crowd_weight + std::numbers::ln2;
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
    const double entropy = rare_token_entropy(layer.tokens, limit, all_weight);
    const Need carriers{"tokens", std::log(kFewCarriers) + entropy - log_length(layer), kFewCarriers};
    return said_of_both(carriers, atoms_needed(layer), prompts);
  } catch (const InputError&) {
    said.emplace_back(kNotKnown);
    return said;
  }
}

std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts) {
  if (!layer.planted.empty()) return {kPlantedQueries};
  try {
    return said_of_both(samples_needed(layer, queries, proposal), atoms_needed(layer), prompts);
  } catch (const InputError&) {
    return {kNotKnown};
  }
}

}  // namespace largo::estimation
