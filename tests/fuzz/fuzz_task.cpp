// Reads the input as the text of a task file, up to the texts of laws and matrices: no file is opened.
#include <cmath>
#include <string>

#include "icl/task_text.hpp"
#include "largo/icl/loss.hpp"
#include "largo/icl/named_problem.hpp"
#include "touch.hpp"

namespace {

using largo::fuzz::require;

bool is_one_line(const std::string& text) { return text.find('\n') == std::string::npos; }

void check(const largo::icl::TaskLaw& law, std::ptrdiff_t size) {
  require(law.name.text.empty() || law.mixture.empty());
  require(is_one_line(law.name.text));
  for (const auto& component : law.mixture) {
    require(component.weight >= 0 && std::isfinite(component.weight));
    require(!component.law.text.empty() && is_one_line(component.law.text) && component.law.line > 0);
    require(!component.shift || (component.shift->size() == size && component.shift->allFinite()));
  }
}

void check(const largo::icl::TaskText& task) {
  require(task.dimension >= 1 && task.dimension <= largo::kMostProblemDimensions);
  require(task.outputs >= 1 && task.outputs <= largo::icl::kMostOutputs);
  require(std::isfinite(task.score_scale) && std::isfinite(task.mean_scale) && task.mean_scale > 0);
  for (const auto* law : {&task.covariates, &task.queries, &task.prior}) check(*law, task.dimension);
  check(task.noise, task.outputs);
  check(task.noise_scale, 1);
  require(task.noise.given() || !task.noise_scale.given());
  require(!task.loss.text.empty() && is_one_line(task.covariance.text));
  largo::fuzz::attempt([&] { require(largo::named_loss(task.loss.text) != nullptr); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  largo::fuzz::attempt([&] { check(largo::icl::parse_task(text, "fuzz.toml")); });
  return 0;
}
