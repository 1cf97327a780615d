#include "largo/icl/in_context_problem.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "icl/task_text.hpp"
#include "io/text.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"

namespace largo {
namespace {

// A message without the name of the function, where that name says nothing about a file or an option.
std::string_view without_function(std::string_view message) {
  for (const std::string_view function : {"law: ", "icl: ", "named_matrix: "}) {
    if (message.starts_with(function)) return message.substr(function.size());
  }
  return message;
}

// What `make` returns. If it refuses its input, the message begins with `place`.
template <typename Make>
auto made_at(const std::string& place, Make make) {
  try {
    return make();
  } catch (const InputError& error) {
    fail(place, io::one_line(without_function(error.what())));
  }
}

LossPtr regression_loss(std::string_view text, const std::string& option) {
  if (text == "logistic") {
    fail("icl", option, "'logistic'",
         "squared, huber:DELTA or absolute: the logistic loss needs targets -1 and 1, and those of a "
         "regression "
         "are other numbers (a task file with kind = 'classification' has such targets)");
  }
  return named_loss(text.empty() ? "squared" : text, option);
}

MeasurePtr gaussian_of(const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
}

bool is_identity(const Matrix& matrix) { return matrix == Matrix::Identity(matrix.rows(), matrix.cols()); }

icl::TaskText read_task_text(const std::filesystem::path& path) {
  const std::string name = io::one_line(path.string());
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail(name, "there is no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail(name, "this is not a file");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) fail(name, "this file cannot be read");
  return icl::parse_task(text, path.string());
}

// Makes the problem of a task file.
class TaskFile {
 public:
  TaskFile(const std::filesystem::path& path, icl::TaskText text)
      : name_(io::one_line(path.string())), text_(std::move(text)) {}

  InContextProblem problem() const {
    const bool regression = text_.kind == icl::TaskKind::regression;
    const LossPtr loss = made_at(place(text_.loss), [&] {
      return regression ? regression_loss(text_.loss.text, "loss") : named_loss(text_.loss.text, "loss");
    });
    return {regression ? this->regression() : classification(), loss, text_.score_scale};
  }

 private:
  std::string place(const icl::TaskWord& word) const { return fmt::format("{}:{}", name_, word.line); }

  MeasurePtr named(const char* key, const icl::TaskWord& word, std::ptrdiff_t size) const {
    return made_at(fmt::format("{}: {}", place(word), key), [&] { return named_law(word.text, size); });
  }

  // Null if the law is not given.
  MeasurePtr law(const char* key, const icl::TaskLaw& law, std::ptrdiff_t size) const {
    if (!law.given()) return {};
    if (law.mixture.empty()) return named(key, law.name, size);
    Vector weights(std::ssize(law.mixture));
    std::vector<MeasurePtr> parts;
    for (const icl::TaskComponent& component : law.mixture) {
      weights[std::ssize(parts)] = component.weight;
      parts.push_back(named(key, component.law, size));
      if (component.shift) {
        parts.back() =
            std::make_shared<AffineMeasure>(AffineMeasure::translation(*component.shift, parts.back()));
      }
    }
    return made_at(fmt::format("{}: {}", place(law.name), key),
                   [&] { return std::make_shared<MixtureMeasure>(weights, std::move(parts)); });
  }

  PromptTaskPtr regression() const {
    const std::ptrdiff_t d = text_.dimension;
    RegressionLaws laws;
    laws.covariates = text_.covariates.given() ? law("covariates", text_.covariates, d)
                                               : gaussian_of(Matrix::Identity(d, d));
    laws.queries = law("queries", text_.queries, d);
    laws.prior = law("prior", text_.prior, d);
    laws.noise = law("noise", text_.noise, text_.outputs);
    laws.noise_scale = law("noise_scale", text_.noise_scale, 1);
    laws.outputs = text_.outputs;
    return made_at(name_, [&] { return std::make_shared<LawRegression>(std::move(laws)); });
  }

  PromptTaskPtr classification() const {
    const std::ptrdiff_t d = text_.dimension;
    return made_at(place(text_.covariance), [&] {
      return std::make_shared<MixtureClassification>(text_.mean_scale,
                                                     named_matrix("covariance", text_.covariance.text, d, d));
    });
  }

  std::string name_;
  icl::TaskText text_;
};

}  // namespace

std::optional<RegressionProblem> InContextProblem::exact_regression() const {
  const auto* const regression = dynamic_cast<const LawRegression*>(task.get());
  if (regression == nullptr || !loss || loss->quadratic_factor() != 0.5) return std::nullopt;
  std::optional<RegressionProblem> problem = regression->gaussian_problem();
  if (problem) problem->score_scale = score_scale;
  return problem;
}

InContextProblem with_laws(const RegressionProblem& problem, const RegressionTexts& texts,
                           std::string_view prefix) {
  check(problem);
  refuse_sink(problem);
  const auto option = [&](std::string name) {
    if (prefix != "--") std::replace(name.begin(), name.end(), '-', '_');
    return fmt::format("{}{}", prefix, name);
  };
  const auto law = [&](const char* name, const std::string& text, std::ptrdiff_t size) {
    return made_at(fmt::format("icl: {}", option(name)), [&] { return named_law(text, size); });
  };
  const Eigen::Index d = problem.dimension();
  RegressionLaws laws;
  if (texts.covariates.empty()) {
    laws.covariates = gaussian_of(problem.covariance);
    laws.queries = gaussian_of(problem.query_covariance);
  } else {
    if (!is_identity(problem.covariance) || !is_identity(problem.query_covariance)) {
      fail("icl", fmt::format("{} sets the covariance itself: remove {}, {} and {}, or write the covariance "
                              "into the law, as in gaussian:cov=toeplitz:0.5",
                              option("covariates"), option("cov"), option("query-cov"), option("preset")));
    }
    laws.covariates = law("covariates", texts.covariates, d);
  }
  if (!texts.queries.empty()) laws.queries = law("query-law", texts.queries, d);
  laws.prior = texts.prior.empty() ? gaussian_of(problem.prior_covariance) : law("prior-law", texts.prior, d);
  if (!texts.noise.empty()) {
    laws.noise = law("noise-law", texts.noise, 1);
  } else if (problem.noise_variance > 0) {
    laws.noise = gaussian_of(Matrix::Constant(1, 1, problem.noise_variance));
  }
  LossPtr loss = regression_loss(texts.loss, option("loss"));
  return {std::make_shared<LawRegression>(std::move(laws)), std::move(loss), problem.score_scale};
}

InContextProblem read_task_file(const std::filesystem::path& path) {
  return TaskFile(path, read_task_text(path)).problem();
}

// A mistake in the file is reported when the problem is read.
std::vector<std::filesystem::path> files_of_task(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files = {path};
  const auto add = [&](const std::string& file) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.emplace_back(file);
  };
  const auto add_law = [&](const icl::TaskWord& law) {
    for (const std::string& file : measures::files_of_law(law.text)) add(file);
  };
  try {
    const icl::TaskText text = read_task_text(path);
    for (const icl::TaskLaw* law :
         {&text.covariates, &text.queries, &text.prior, &text.noise, &text.noise_scale}) {
      add_law(law->name);
      for (const icl::TaskComponent& component : law->mixture) add_law(component.law);
    }
    if (const auto file = measures::file_of_matrix(text.covariance.text)) add(*file);
  } catch (const InputError&) {
  }
  return files;
}

}  // namespace largo
