#include "icl_train_plan.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "io/parse_numbers.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr const char* kName = "icl train";

template <typename Value>
using Names = std::initializer_list<std::pair<const char*, Value>>;

// Reads a list "a,b" of known names, each at most once.
template <typename Value>
std::vector<Value> read_list(const char* option, const std::string& text, Names<Value> known) {
  std::vector<Value> values;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string name = text.substr(from, to - from);
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return name == one.first; });
    if (found == known.end()) {
      std::string names;
      for (const auto& one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.first);
      fail(kName, option, fmt::format("'{}'", name),
           fmt::format("one or more of {}, separated by commas", names));
    }
    if (std::find(values.begin(), values.end(), found->second) != values.end()) {
      fail(kName, option, fmt::format("'{}'", text),
           fmt::format("a list that has each name once: {} is there twice", name));
    }
    values.push_back(found->second);
    from = to + 1;
  }
  return values;
}

// The value of the name, which CLI11 has checked.
template <typename Value>
std::optional<Value> chosen(const std::optional<std::string>& text, Names<Value> known) {
  for (const auto& [name, value] : known) {
    if (text == name) return value;
  }
  return std::nullopt;
}

// Descents draw tokens in float32; sums beyond a chunk of tokens, gradients and parameters are float64. Flows
// have no tokens and use float64.
void check_precision(const TrainOptions& options, const TrainingPlan& plan) {
  const bool draws = has(plan, TrainingMethod::descent);
  if (options.precision == "float64" && draws) {
    fail(kName, "--precision", "float64",
         "auto or float32 for sgd, which draws its tokens in float32 on every device; parameters and "
         "gradients are float64");
  }
  if (options.precision == "float32" && !draws) {
    fail(kName, "--precision", "float32", "auto or float64 for flows, which draw no tokens");
  }
}

TrainingRequest request_of(const TrainOptions& options) {
  TrainingRequest request;
  request.function = kName;
  request.prefix = "--";
  request.problem = options.problem();
  request.published = options.published();
  request.methods = read_list<TrainingMethod>(
      "--method", options.method, {{"flow", TrainingMethod::flow}, {"sgd", TrainingMethod::descent}});
  if (!options.attention.empty()) {
    request.attention =
        read_list<AttentionKind>("--attention", options.attention,
                                 {{"softmax", AttentionKind::softmax}, {"linear", AttentionKind::linear}});
  }
  if (!options.L.empty()) {
    const bool drawn = options.method.find("sgd") != std::string::npos;
    request.lengths = parse_lengths("--L", options.L, drawn ? LengthKind::kWhole : LengthKind::kReal);
  }
  request.parameters = chosen<Parametrisation>(options.parameters, {{"invariant", Parametrisation::invariant},
                                                                    {"merged", Parametrisation::merged},
                                                                    {"factored", Parametrisation::factored}});
  if (options.start.given()) request.start = options.start.read(request.problem);
  request.time = options.time;
  request.tolerance = options.tolerance;
  request.nodes = options.nodes;
  request.seed = options.seed;
  request.steps = options.steps;
  request.step_size = options.step_size;
  request.batch = options.batch;
  request.optimizer = chosen<Optimizer>(
      options.optimizer,
      {{"plain", Optimizer::plain}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}});
  request.schedule = chosen<Schedule>(options.schedule, {{"constant", Schedule::constant},
                                                         {"inverse-time", Schedule::inverse_time},
                                                         {"cosine", Schedule::cosine}});
  request.kernel = chosen<PromptKernel>(
      options.kernel, {{"collapsed", PromptKernel::collapsed}, {"full", PromptKernel::full}});
  request.seeds = options.seeds;
  request.checkpoints = options.checkpoints;
  request.quick = options.quick;
  return request;
}

}  // namespace

PlannedTraining read_plan(const TrainOptions& options) {
  PlannedTraining planned = make_training_plan(request_of(options));
  check_precision(options, planned.plan);
  if (options.device != "cpu" && !has(planned.plan, TrainingMethod::descent)) {
    fail(kName, "--device", options.device, "cpu for flows; cuda needs --method sgd, which draws prompts");
  }
  return planned;
}

}  // namespace largo
