// Training in context by flows and stochastic descents, from one start, at many lengths: the plan, train(),
// and its runs. The problem is the Gaussian regression of regression_problem.hpp, whose risks are exact, or
// any other (in_context_problem.hpp), whose risks are averages over draws (prompt_risk.hpp).
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
#include "largo/icl/in_context_problem.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_batches.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/descent_noise.hpp"
#include "largo/training/flow_plan.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo {

enum class TrainingMethod : std::uint8_t { flow, descent };

inline constexpr std::int64_t kMostSeeds = 4096;  ///< most seeds of a plan: all runs are in memory at its end
/// Prompts of descents have fewer tokens than this, because descents draw every token.
inline constexpr double kLongestDescent = 1e12;

struct TrainingPlan {
  RegressionProblem problem;
  /// In place of `problem`: any in-context problem. Its parameters are merged, in the layout of
  /// prompt_risk.hpp, or, for one output and tokens as large as queries, those of regression with d = their
  /// dimension - 1.
  std::optional<InContextProblem> other = {};
  /// Draws that flows on `other` average over, the same along all flows. Risks at ends are averages over
  /// kDrawsAtEnds times as many fresh draws.
  std::int64_t prompts = 4096;
  PromptSampling sampling = PromptSampling::where_needed;  ///< of these draws
  Parametrisation parameters = Parametrisation::invariant;
  Vector start;  ///< in the layout of invariant_map(), to_vector() or factored_map()
  std::vector<AttentionKind> attention = {AttentionKind::softmax};
  std::vector<LengthLaw> lengths;  ///< lengths, or laws of them; one run each
  /// Lengths at which the risk of each end is computed besides its own: how well training at one length does
  /// at others.
  std::vector<LengthLaw> evaluate = {};
  std::vector<TrainingMethod> methods = {TrainingMethod::flow};
  /// Its end is a time of the flow on the risk with ½.
  FlowPlan flow = {};
  /// Relative tolerance of flows over nodes, if it is larger than that of `flow`. Nodes have errors of their
  /// own, and such flows are expensive.
  double node_tolerance = 1e-4;
  /// Nodes of flows off the invariant set. Twice as many are used below 16 tokens, four times as many in the
  /// second half of the time, and 32 times as many for risks at the ends; at most 2^20.
  TaskNodes nodes = {.count = 2048};
  DescentOptions descent = {};
  RegressionBatches batches = {};  ///< batches of descents; each run sets length and attention
  /// Number of seeds per descent, up to kMostSeeds. The first is batches.seed: see plan_of_seed().
  std::int64_t seeds = 1;
  /// The start of each further seed, if starts are random.
  std::function<Vector(std::uint64_t seed)> random_start = {};
  /// A folder (created if needed) where descents save their state, and from which they resume if it holds the
  /// state of the same setting. The file of a run is named after its kind, its length and everything that
  /// decides its course.
  std::filesystem::path checkpoints = {};
  /// Called on the first rank with the share done of the descents, which take the time.
  std::function<void(double share)> progress = {};
};

inline constexpr std::int64_t kDrawsAtEnds = 4;

bool has(const TrainingPlan& plan, TrainingMethod method);

/// The dimension of the tokens of a plan, and of its covariates if tokens are (x, y) with one y.
Eigen::Index token_dimension(const TrainingPlan& plan);

/// The matrix U and the rows of V, one after the other in v, from the vector that parameters are mapped to.
RegressionParameters to_head(const TrainingPlan& plan, const ConstVectorRef& values);

/// The risk of predicting zero: exact, or for other problems an average over draws.
double null_risk(const TrainingPlan& plan, const Execution& execution = {});

/// Suprema over time, up to the end of the shorter of two paths; a flow that is stationary at its end stays
/// there, and then the other path counts to its end.
struct PathDistance {
  TrajectoryDistance parameters;   ///< distance of (U, v)
  TrajectoryDistance predictions;  ///< root mean square over tasks and queries, for infinite prompts
};

struct TrainingRun {
  LengthLaw L = 1;
  AttentionKind attention = AttentionKind::softmax;
  std::uint64_t seed = 1;  ///< seed of its prompts; flows on the invariant set do not depend on it
  TrainingMethod method = TrainingMethod::flow;
  /// Time is that of the flow on the risk with ½. For a flow off the invariant set at finite L, the risks are
  /// known at nine records (at all records, if the flow stays on the set): by regression_risk(), for softmax
  /// attention in up to 32 dimensions by rough_risk() but at the end. In between they are
  /// averages over tasks, the same tasks all along, corrected by what these averages miss at the nine
  /// records; the gradient norms are those of the averages, without correction. For a descent the risks are
  /// losses of its batches. For another problem the risks of a flow are averages over its draws.
  Trajectory path;
  std::shared_ptr<const ParameterMap> map;  ///< map of its parameters to (U, v)
  RegressionParameters last;                ///< parameters at its end
  /// regression_risk() at `last`, for every method. For a flow to a time, its error includes how far errors
  /// of the steps may have moved the risk: Σ |∂R/∂θ_k| |Δθ_k|, with Δθ from the ends of flows with 10 and 30
  /// times the tolerances. Flows off the invariant set at finite L follow averages over tasks, which also
  /// move their ends. For these the error includes twice the largest difference of the risk at the ends of
  /// three flows over a quarter as many tasks, drawn anew (or all that training gained, if one of these does
  /// not end in three times as many steps, or 1000), and the errors of the steps. This is a heuristic,
  /// usually several times too large. It does not include what no set of so many tasks shows
  /// (exact_risk.hpp). For another problem it is an average over fresh draws, and its standard error; how far
  /// the draws of the flow moved its end is part of the value, since the fresh ones do not know them.
  Estimate final_risk;
  std::vector<Estimate> evaluated;  ///< the same risk at `last`, for each of TrainingPlan::evaluate
  /// For a flow: how far the risks along its path may be from regression_risk() at the same parameters. Off
  /// the invariant set it is the larger of two errors, plus the error of the nine risks. One is the error of
  /// the correction from every other one of the nine, at those left out. The other is the error of the same
  /// interpolation, at all records, when it is applied to the difference between averages over early and late
  /// tasks. For another problem it is the difference between the risks of the end over the draws of the flow
  /// and over fresh ones, plus two standard errors, or two standard errors at any record if that is more.
  std::optional<double> record_error;
  std::optional<PromptAverage> average;  ///< for another problem: how averages over prompts are known
  bool stationary = false;
  bool flat = false;  ///< for a flow: see FlowResult::flat and regression_flow()
  std::int64_t steps = 0;
  std::optional<double> balance_drift;        ///< for flows on the invariant set
  std::optional<PathDistance> to_limit_flow;  ///< distance from the flow of the infinite prompt
  /// For a flow of infinite prompts on the invariant set that ran to its end: the distance of (A, b) from
  /// infinite_limit() with balance 0. Empty if Σ is singular, the score scale is 0, or the flow is not
  /// stationary.
  std::optional<double> to_theorem;
  std::optional<double> gradient_gap;  ///< sup |∇R_L - ∇R_∞| along the flow of the infinite prompt
  /// For a descent: its noise around the flow at the same length, from the risks at its records in the
  /// last fifth of the time (exact on the invariant set, else averages over the same nodes for both). (The
  /// spread is zero if there are fewer than two.)
  std::optional<DescentNoise> noise;
  /// The same noise as descent_noise() predicts it from the flow alone. There is a prediction for plain steps
  /// of one size, where the flow has come to rest, for up to 512 parameters, if descent_noise() is finite.
  /// Otherwise no_prediction says why there is none.
  std::optional<DescentNoise> predicted_noise;
  std::string no_prediction;
  std::optional<PathDistance> to_flow;  ///< for a descent: distance from the flow at the same length
};

/// The plan of one seed. The seeds of prompts and nodes are larger by `number`, and a random start is that of
/// the seed.
TrainingPlan plan_of_seed(const TrainingPlan& plan, std::int64_t number);

/// Makes one run for each method, kind of attention, length and seed (for flows on the invariant set, one for
/// all seeds). Descents run at finite whole lengths, or laws of such, only. Runs are independent of each
/// other and share the threads; those of a seed are bit-identical to the runs of train(plan_of_seed()), with
/// the same checkpoints. On a device all descents run together. With ranks, each process makes and saves the
/// runs assigned to it, and all processes get all results. Errors: those of gradient_flow and descend;
/// Stopped when stopped.
std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution = {});

}  // namespace largo
