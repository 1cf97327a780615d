// A law of prompt lengths.
//
// Every statistic of softmax_moments.hpp is an expectation over prompts. For prompts of random length, the
// average of a statistic over the law of L is again a function of s alone, so it is tabulated once
// (softmax_table.hpp) and costs as much as one length from then on.
//
//   LengthLaw one = 100;                                       // every prompt has 100 tokens
//   const LengthLaw causal = LengthLaw::uniform(1, 100);       // every position of a causal prompt
//   const LengthLaw two({10, 100}, {0.5, 0.5});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "largo/exact/length_node.hpp"
#include "largo/exact/softmax_moments.hpp"

namespace largo {

class LengthLaw {
 public:
  /// One length. Domain: 1 <= L <= kLargestL or L = ∞; otherwise InputError.
  LengthLaw(double L);  // NOLINT(google-explicit-constructor): a number is a law
  /// Finite whole lengths in any order, each of them once, and their probabilities, which are positive and
  /// sum to one (to 1e-9; they are divided by their sum); otherwise InputError. (A single length may be any.)
  LengthLaw(std::vector<double> lengths, std::vector<double> probabilities);
  /// All whole lengths from first to last, equally likely; at most kMostLengths of them.
  static LengthLaw uniform(std::int64_t first, std::int64_t last);
  /// P(L = k) = (1 - q) q^{k-1} for k = 1, 2, ..., with mean 1/(1 - q). The tail with less than 1e-16 of the
  /// probability is left out. Domain: 1 < mean <= kLargestMean.
  static LengthLaw geometric(double mean);

  static constexpr std::int64_t kMostLengths = 10'000'000;
  static constexpr double kLargestMean = 1e4;

  bool is_one_length() const { return data_->lengths.size() == 1; }
  bool is_infinite() const { return shortest() == kInfinitePrompt; }
  double shortest() const { return data_->lengths.front(); }
  double longest() const { return data_->lengths.back(); }
  double mean() const;
  /// 1/E[1/L]. The risk of linear attention is linear in 1/L, so it is that of this one length.
  double harmonic_mean() const { return data_->harmonic_mean; }
  std::span<const double> lengths() const { return data_->lengths; }  ///< in increasing order
  std::span<const double> probabilities() const { return data_->probabilities; }

  /// The smallest length whose cumulative probability is above u in [0, 1): a uniform u gives a drawn length.
  /// Cost: a binary search.
  double quantile(double u) const;

  /// As it is written on the command line: "100", "inf", "uniform:1:100", "geometric:50", "10=0.5,100=0.5".
  const std::string& name() const { return data_->name; }

  /// A rule for averages over the law of functions of L that are smooth in ln L, as all statistics are:
  /// E f(L) = Σ weight f(L). It is the law itself if that has few lengths, else a Gauss rule in ln L with
  /// enough nodes for 1/L and 1/L² to 1e-12. Those are the statistics at s = 0; they need the most nodes.
  const std::vector<LengthNode>& rule() const { return data_->rule; }

  bool operator==(const LengthLaw& other) const {
    return data_ == other.data_ ||
           (data_->lengths == other.data_->lengths && data_->probabilities == other.data_->probabilities);
  }

 private:
  struct Data {
    std::vector<double> lengths, probabilities;
    std::vector<double> cumulative = {};  // empty for one length
    std::vector<LengthNode> rule = {};
    double harmonic_mean = 1;
    std::string name;
  };
  explicit LengthLaw(Data data);

  std::shared_ptr<const Data> data_;  // copies of a law of many lengths share them
};

/// One law from its name(), or from a number.
LengthLaw named_length_law(std::string_view text);

}  // namespace largo
