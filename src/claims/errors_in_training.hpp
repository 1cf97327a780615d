// The errors of attention over L tokens at points of a training path of in-context regression, averaged over
// tasks and queries without sampling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "claims/claims.hpp"
#include "largo/attention/weights.hpp"
#include "largo/icl/prompt_setting.hpp"
#include "largo/icl/regression_flow.hpp"

namespace largo::claims {

/// Mean squares of the differences from the infinite prompt: of the prediction, and of its gradients in the
/// row of values v and in U.
enum TrainingError : std::uint8_t { kOutputError, kErrorInV, kErrorInU };
inline constexpr std::array kTrainingErrors = {TrainingError::kOutputError, TrainingError::kErrorInV,
                                               TrainingError::kErrorInU};
using ErrorsAt = std::array<double, kTrainingErrors.size()>;

/// A point of a path, and the share of the length of the path that lies before it.
struct PointOnPath {
  InvariantPoint head;
  double time = 0, share = 0;
};

/// ‖Σ^{1/2} A Σ_q^{1/2}‖, the largest standard deviation of the scores over unit queries.
double score_spread(const RegressionProblem& problem, const InvariantPoint& head);

/// Some `count` points of a path at about equal distances along it, both ends included, and the point with
/// the largest `spread`. All are ends of steps of the integrator; `head` makes heads of its parameters.
std::vector<PointOnPath> points_along(const Trajectory& path,
                                      const std::function<InvariantPoint(const Vector&)>& head,
                                      const std::function<double(const InvariantPoint&)>& spread, int count);

/// The same for a flow, with score_spread().
std::vector<PointOnPath> points_along(const RegressionProblem& problem, const RegressionFlow& flow,
                                      int count);

/// U = [[A, 0], [0, 0]] and V = (0, b)
MergedWeights weights_of(const InvariantPoint& head);

/// The errors at each point (first index) and length (second). Given the task w, tokens are N(0, Γ_w) and the
/// query is (x_q, 0): QueryAverage has the average over x_q. The errors are polynomials of degree four in w,
/// even in each of its coordinates, so that an average over a few tasks is that over all. Domain: diagonal Σ
/// and A, d >= 3, Σ_q = Σ, Ω = I, scores of scale one. Cost: 25 ms for each point and task, of which there
/// are two if Σ and A are multiples of I, and d + 1 otherwise; and tables for the lengths.
enum class TaskRule : std::uint8_t {
  smallest,
  larger,  ///< another rule, to check the first: d + 1 tasks where it has two, otherwise 2^d
};
std::vector<std::vector<ErrorsAt>> errors_along(const RegressionProblem& problem,
                                                const std::vector<PointOnPath>& path,
                                                const std::vector<double>& lengths, TaskRule rule,
                                                const Execution& execution);

/// The errors along a path, and the largest of each.
class ErrorsOnPath {
 public:
  ErrorsOnPath(const RegressionProblem& problem, std::vector<PointOnPath> path, std::vector<double> lengths,
               const Execution& execution);
  ErrorsOnPath(std::vector<PointOnPath> path, std::vector<double> lengths, double spread,
               std::vector<std::vector<ErrorsAt>> errors)
      : path_(std::move(path)), lengths_(std::move(lengths)), spread_(spread), errors_(std::move(errors)) {}

  const ErrorsAt& at(std::size_t point, std::size_t length) const { return errors_[point][length]; }
  double largest(std::size_t length, TrainingError error) const;
  /// Where the output is farthest from its limit.
  const PointOnPath& farthest(std::size_t length) const;
  double spread() const { return spread_; }  ///< the largest score_spread() on the path
  const std::vector<double>& lengths() const { return lengths_; }
  const std::vector<PointOnPath>& path() const { return path_; }

 private:
  std::vector<PointOnPath> path_;
  std::vector<double> lengths_;
  double spread_ = 0;
  std::vector<std::vector<ErrorsAt>> errors_;
};

/// The errors at one point by sampling tasks, queries and prompts of the setting's length.
struct SampledErrors {
  ErrorsAt mean{}, standard_error{};
};
SampledErrors sampled_errors(const PromptSetting& setting, const InvariantPoint& head, std::int64_t prompts,
                             const Execution& execution);

}  // namespace largo::claims
