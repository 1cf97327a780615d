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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "largo/exact/softmax_moments.hpp"

namespace largo {

class LengthLaw {
 public:
  /// One length. Domain here and below: 1 <= L <= kLargestL or L = ∞; otherwise InputError.
  LengthLaw(double L);  // NOLINT(google-explicit-constructor): a number is a law
  /// Lengths in any order, each of them once, and their probabilities, which are positive and sum to one (to
  /// 1e-9; they are divided by their sum); otherwise InputError.
  LengthLaw(std::vector<double> lengths, std::vector<double> probabilities);
  /// All whole lengths from first to last, equally likely; at most kMostLengths of them.
  static LengthLaw uniform(std::int64_t first, std::int64_t last);
  /// P(L = k) = (1 - q) q^{k-1} for k = 1, 2, ..., with mean 1/(1 - q). The tail with less than 1e-16 of the
  /// probability is left out. Domain: 1 < mean <= 1e5.
  static LengthLaw geometric(double mean);

  static constexpr std::int64_t kMostLengths = 10'000'000;

  bool is_one_length() const { return lengths_.size() == 1; }
  bool is_infinite() const { return shortest() == kInfinitePrompt; }  ///< ∞ is the only length
  double shortest() const { return lengths_.front(); }
  double longest() const { return lengths_.back(); }
  /// The longest length below ∞, or ∞ if that is the only one.
  double longest_finite() const { return lengths_[lengths_.size() - (has_finite_tail() ? 1 : 2)]; }
  double mean() const;
  /// 1/E[1/L]. The risk of linear attention is linear in 1/L, so it is that of this one length.
  double harmonic_mean() const { return harmonic_mean_; }
  std::span<const double> lengths() const { return lengths_; }  ///< in increasing order
  std::span<const double> probabilities() const { return probabilities_; }

  /// As it is written on the command line: "100", "inf", "uniform:1:100", "geometric:50", "10=0.5,100=0.5".
  const std::string& name() const { return name_; }

  struct Node {
    double L, weight;
  };
  /// A rule for averages over the law of functions of L that are smooth in ln L, as all statistics are:
  /// E f(L) = Σ weight f(L). It is the law itself if that has few lengths, else a Gauss rule in ln L with
  /// enough nodes for 1/L and 1/L² to 1e-12. Those are the statistics at s = 0; they need the most nodes.
  const std::vector<Node>& rule() const { return rule_; }

  bool operator==(const LengthLaw& other) const {
    return lengths_ == other.lengths_ && probabilities_ == other.probabilities_;
  }

 private:
  LengthLaw() = default;
  bool has_finite_tail() const { return lengths_.size() == 1 || lengths_.back() < kInfinitePrompt; }
  void make_rule();

  std::vector<double> lengths_, probabilities_;
  std::vector<Node> rule_;
  double harmonic_mean_ = 1;
  std::string name_;
};

/// One law from its name(), or from a number.
LengthLaw named_length_law(std::string_view text);

}  // namespace largo
