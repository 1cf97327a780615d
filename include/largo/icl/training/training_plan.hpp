// What is to be trained, and what a run has found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/regression_batches.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/training/descent_noise.hpp"
#include "largo/training/flow_plan.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo {

enum class TrainingMethod : std::uint8_t { flow, descent };

inline constexpr std::int64_t kMostSeeds = 4096;  ///< of a plan: all runs are in memory at its end
/// Descents draw every token of their prompts: these have fewer tokens than this.
inline constexpr double kLongestDescent = 1e12;

struct TrainingPlan {
  RegressionProblem problem;
  Parametrisation parameters = Parametrisation::invariant;
  Vector start;  ///< as invariant_map(), to_vector() or factored_map() lay it out
  std::vector<AttentionKind> attention = {AttentionKind::softmax};
  std::vector<double> lengths;
  std::vector<TrainingMethod> methods = {TrainingMethod::flow};
  /// Its end is in units of time of the risk with ½.
  FlowPlan flow = {};
  /// The relative tolerance of flows over nodes, where it is above that of `flow`: nodes have errors of their
  /// own, and such flows are dear.
  double node_tolerance = 1e-4;
  /// Of flows off the invariant set, twice as many below 16 tokens; in the second half of the time four times
  /// as many; and for risks at ends 32 times those given here; up to 2^20.
  TaskNodes nodes = {.count = 2048};
  DescentOptions descent = {};
  RegressionBatches batches = {};  ///< of descents; length and attention are those of each run
  /// Every descent is made with so many seeds (up to kMostSeeds), from batches.seed on: see plan_of_seed().
  std::int64_t seeds = 1;
  std::function<Vector(std::uint64_t seed)> random_start = {};  ///< of starts that are: those of other seeds
  /// A folder (made if need be) where descents save their state, and from where they go on if it holds that
  /// of the same setting: the file of a run is named after its kind, its length and all that decides its
  /// course.
  std::filesystem::path checkpoints = {};
  std::function<void(double share)> progress = {};  ///< of descents, which take the time; on the first rank
};

bool has(const TrainingPlan& plan, TrainingMethod method);

/// Suprema over time up to where the shorter of two paths ends.
struct PathDistance {
  TrajectoryDistance parameters;   ///< of (U, v)
  TrajectoryDistance predictions;  ///< root mean square, over tasks and queries, for infinite prompts
};

struct TrainingRun {
  double L = 1;
  AttentionKind attention = AttentionKind::softmax;
  std::uint64_t seed = 1;  ///< of its prompts; on the invariant set it decides nothing of a flow
  TrainingMethod method = TrainingMethod::flow;
  /// Time in units of the flow on the risk with ½. Risks along a flow off the invariant set, at finite L, are
  /// regression_risk() at nine records (where the flow stays on the set, at all), and in between averages
  /// over tasks, the same ones all along, corrected by what they miss there; its gradient norms are those of
  /// the averages, as they are. Those of a descent are losses of its batches.
  Trajectory path;
  std::shared_ptr<const ParameterMap> map;  ///< of its parameters to (U, v)
  RegressionParameters last;                ///< at its end
  /// regression_risk() at `last`, whatever the method. The error of a flow to a time includes what errors of
  /// its steps may have moved: Σ |∂R/∂θ_k| |Δθ_k|, Δθ from the ends of flows with 10 and 30 times the
  /// tolerances. Off the invariant set flows at finite L follow averages over tasks, which move their ends,
  /// too: twice the most that the risk differs at the ends of three flows over a quarter as many tasks, drawn
  /// anew (all that training gained, if one of them does not end in three times as many steps). A heuristic,
  /// usually several times too large; what no set of so many tasks shows (exact_risk.hpp) it does not know.
  Estimate final_risk;
  /// Of a flow: how far the risks along its path are from regression_risk() at the same parameters. Off the
  /// invariant set the larger of what the correction from every other one of the nine misses at the others,
  /// and of what the same interpolation makes, at all records, of the difference between averages over early
  /// and late tasks; and the error of the nine.
  std::optional<double> record_error;
  bool stationary = false;
  bool flat = false;  ///< of a flow: see FlowResult::flat, and regression_flow()
  std::int64_t steps = 0;
  std::optional<double> balance_drift;        ///< of flows on the invariant set
  std::optional<PathDistance> to_limit_flow;  ///< from the flow of the infinite prompt
  /// Of a flow of infinite prompts on the invariant set that ran to its end: the distance of (A, b) from
  /// infinite_limit() with balance 0; none where Σ is singular.
  std::optional<double> to_theorem;
  std::optional<double> gradient_gap;  ///< sup |∇R_L - ∇R_∞| along the flow of the infinite prompt
  /// Of a descent around the flow at the same length, from the exact risks at its records in the last fifth
  /// of the time (a spread of zero where there are fewer than two).
  std::optional<DescentNoise> noise;
  /// The same as descent_noise() has it from the flow alone, or why it does not: see there, and for plain
  /// steps of one size, where the flow has come to rest, for up to 512 parameters.
  std::optional<DescentNoise> predicted_noise;
  std::string no_prediction;
  std::optional<PathDistance> to_flow;  ///< of a descent, from the flow at the same length
};

/// The plan of one seed: prompts and nodes have seeds that are `number` larger, and a random start is that of
/// the seed.
TrainingPlan plan_of_seed(const TrainingPlan& plan, std::int64_t number);

}  // namespace largo
