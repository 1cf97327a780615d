// Task files and laws given as texts: what they mean, and one line for each mistake.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "icl/task_text.hpp"
#include "largo/icl/in_context_problem.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "support/fixtures.hpp"

namespace largo::test::task_file_test {
namespace {

std::filesystem::path example(const std::string& name) {
  return std::filesystem::path(LARGO_TASKS) / (name + ".toml");
}

InContextProblem task_of(const std::string& text) {
  const TemporaryDirectory folder;
  return read_task_file(put(folder / "task.toml", text));
}

const LawRegression& regression_of(const InContextProblem& problem) {
  return dynamic_cast<const LawRegression&>(*problem.task);
}

Vector ramp(Eigen::Index size) { return Vector::LinSpaced(size, -0.6, 0.9); }

// Both tasks draw the same prompts: the same laws of tokens (along two directions), queries and targets.
void expect_same_draws(const PromptTask& one, const PromptTask& other) {
  ASSERT_EQ(one.token_dimension(), other.token_dimension());
  for (std::uint64_t i = 0; i < 5; ++i) {
    const PromptDraw a = one.draw(Stream(7, i)), b = other.draw(Stream(7, i));
    EXPECT_EQ(a.query, b.query);
    EXPECT_EQ(a.target, b.target);
    for (const double scale : {1.0, -2.0}) {
      const Vector direction = scale * ramp(one.token_dimension());
      EXPECT_EQ(a.tokens->log_partition(direction), b.tokens->log_partition(direction));
    }
  }
}

struct ExampleTask {
  std::string name;
  Eigen::Index covariates, outputs;
  bool squared;
  std::string learner;
};

TEST(TaskFile, ExamplesAreRead) {
  const std::vector<ExampleTask> examples = {
      {"gaussian_regression", 5, 1, true, "ridge"}, {"logistic_classification", 5, 1, false, "bayes"},
      {"robust_regression", 5, 1, false, "ridge"},  {"sparse_regression", 8, 1, true, "ridge"},
      {"sphere_covariates", 4, 1, true, "ridge"},   {"uncertain_noise", 3, 1, true, "ridge"},
      {"vector_regression", 4, 3, true, "ridge"}};
  for (const ExampleTask& one : examples) {
    SCOPED_TRACE(one.name);
    const InContextProblem problem = read_task_file(example(one.name));
    EXPECT_EQ(problem.task->token_dimension(), one.covariates + one.outputs);
    EXPECT_EQ(problem.task->query_dimension(), one.covariates + one.outputs);
    EXPECT_EQ(problem.task->output_dimension(), one.outputs);
    EXPECT_EQ(problem.task->learner(), one.learner);
    EXPECT_EQ(problem.loss->quadratic_factor().has_value(), one.squared);
    EXPECT_EQ(problem.score_scale, 1);
    EXPECT_EQ(problem.exact_regression().has_value(), one.name == "gaussian_regression");
    const PromptDraw draw = problem.task->draw(Stream(1, 2));
    EXPECT_EQ(draw.tokens->dimension(), one.covariates + one.outputs);
    EXPECT_EQ(draw.target.size(), one.outputs);
  }
  const auto files = std::filesystem::directory_iterator(LARGO_TASKS);
  EXPECT_EQ(std::distance(begin(files), end(files)), std::ssize(examples)) << "an example is not tested";
}

TEST(TaskFile, GaussianRegressionIsThePapers) {
  const auto problem = read_task_file(example("gaussian_regression")).exact_regression();
  ASSERT_TRUE(problem);
  const RegressionProblem paper = paper_problem(named_matrix("cov", "toeplitz:0.5", 5, 5));
  EXPECT_EQ(problem->covariance, paper.covariance);
  EXPECT_EQ(problem->query_covariance, paper.query_covariance);
  EXPECT_EQ(problem->prior_covariance, paper.prior_covariance);
  EXPECT_EQ(problem->noise_variance, 0);
  EXPECT_EQ(problem->score_scale, 1);
}

TEST(TaskFile, EveryKeyOfARegressionCounts) {
  const InContextProblem problem = task_of(
      "kind = 'regression'\ndimension = 2.0\ncovariates = 'gaussian:cov=diag:1,2'\n"
      "queries = 'gaussian:cov=diag:3,4'\nprior = 'gaussian:cov=diag:5,6'\nnoise = "
      "'gaussian:cov=0.5*identity'\n"
      "score_scale = -0.25\nloss = 'squared'\n");
  const auto exact = problem.exact_regression();
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->covariance.diagonal(), Vector::LinSpaced(2, 1, 2));
  EXPECT_EQ(exact->query_covariance.diagonal(), Vector::LinSpaced(2, 3, 4));
  EXPECT_EQ(exact->prior_covariance.diagonal(), Vector::LinSpaced(2, 5, 6));
  EXPECT_EQ(exact->noise_variance, 0.5);
  EXPECT_EQ(exact->score_scale, -0.25);
}

TEST(TaskFile, ExactOnlyWithTheSquaredLossAndCentredGaussians) {
  const std::string head = "dimension = 2\n";
  EXPECT_TRUE(task_of(head).exact_regression());
  EXPECT_FALSE(task_of(head + "loss = 'absolute'\n").exact_regression());
  EXPECT_FALSE(task_of(head + "outputs = 2\n").exact_regression());
  EXPECT_FALSE(task_of(head + "prior = 'gaussian:mean=1,0'\n").exact_regression());
  EXPECT_FALSE(task_of(head + "queries = 'rademacher'\n").exact_regression());
  EXPECT_FALSE(task_of(head + "noise = 'gaussian'\nnoise_scale = 'uniform'\n").exact_regression());
  EXPECT_FALSE(task_of(head + "kind = 'classification'\nloss = 'squared'\n").exact_regression());
  EXPECT_FALSE(InContextProblem{}.exact_regression());
}

TEST(TaskFile, ClassificationHasTheGivenLaws) {
  const InContextProblem problem = read_task_file(example("logistic_classification"));
  expect_same_draws(*problem.task, MixtureClassification(1.5, named_matrix("cov", "toeplitz:0.3", 5, 5)));
  EXPECT_THROW(problem.loss->at(1, 0), InputError) << "the loss is not logistic";
  const InContextProblem defaults = task_of("kind = 'classification'\ndimension = 2\n");
  expect_same_draws(*defaults.task, MixtureClassification(1, Matrix::Identity(2, 2)));
  EXPECT_THROW(defaults.loss->at(1, 0), InputError) << "the loss is not logistic";
}

TEST(TaskFile, UncertainNoiseHasTwoSizes) {
  const InContextProblem problem = read_task_file(example("uncertain_noise"));
  const RegressionLaws& laws = regression_of(problem).laws();
  int large = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    // ε alone has variance s²: the label given x has this variance.
    const Matrix covariance = problem.task->draw(Stream(3, i)).tokens->covariance();
    const Vector w = covariance.col(3).head(3);  // because the covariates have covariance I
    const double variance = covariance(3, 3) - w.squaredNorm();
    large += variance > 0.5 ? 1 : 0;
    EXPECT_NEAR(variance, variance > 0.5 ? 1 : 0.01, 1e-13);  // roundings of sums of four
  }
  EXPECT_GT(large, 8);  // 20 ± 3.2: fewer or more by 3.8 standard errors, 2e-4 for another seed
  EXPECT_LT(large, 32);
  EXPECT_EQ(laws.noise_scale->dimension(), 1);
}

TEST(TaskFile, InlineMixturesAreThoseOfFiles) {
  const TemporaryDirectory folder;
  const std::string file = put(folder / "mixture.toml",
                               "[[component]]\nweight = 0.9\nlaw = 'gaussian:cov=0.01*identity'\n"
                               "[[component]]\nweight = 0.3\nlaw = 'rademacher'\nshift = [1, -0.5]\n")
                               .string();
  const std::string inner =
      "[{weight = 0.9, law = 'gaussian:cov=0.01*identity'},\n {weight = 0.3, law = 'rademacher', shift = [1, "
      "-0.5]}]\n";
  const std::string tables =
      "[[KEY]]\nweight = 0.9\nlaw = 'gaussian:cov=0.01*identity'\n[[KEY]]\nweight = 0.3\nlaw = "
      "'rademacher'\nshift = [1, -0.5]\n";
  for (const std::string key : {"covariates", "queries", "prior", "noise"}) {
    SCOPED_TRACE(key);
    const std::string head = "dimension = 2\noutputs = 2\n";
    const InContextProblem named = task_of(head + key + " = 'mixture:" + file + "'\n");
    const InContextProblem inlined = task_of(head + key + " = " + inner);
    expect_same_draws(*named.task, *inlined.task);
    std::string text = head + tables;
    for (auto at = text.find("KEY"); at != std::string::npos; at = text.find("KEY")) text.replace(at, 3, key);
    expect_same_draws(*named.task, *task_of(text).task);
  }
}

struct TaskMistake {
  std::string text;
  int line;
  std::vector<std::string> says;
};

// A mistake in the one line of a regression beside its dimension.
TaskMistake in_regression(const std::string& line, std::vector<std::string> says) {
  return {"dimension = 5\n" + line + "\n", 2, std::move(says)};
}

TaskMistake in_classification(const std::string& line, std::vector<std::string> says) {
  return {"kind = 'classification'\ndimension = 5\n" + line + "\n", 3, std::move(says)};
}

// A mistake in the components of a mixture, the first of which is in line 2.
TaskMistake in_noise(const std::string& components, std::vector<std::string> says, int line = 2) {
  return {"dimension = 1\nnoise = [" + components + "]\n", line, std::move(says)};
}

const std::vector<TaskMistake>& task_mistakes() {
  static const std::vector<TaskMistake> all = {
      in_regression("dimension = 6", {"dimension"}),
      {"dimension = \n", 1, {}},
      {"kind = 'regression'\n", 1, {"there is no dimension", "1 to 200"}},
      {"dimension = 0\n", 1, {"dimension is 0, must be a whole number from 1 to 200"}},
      {"dimension = 201\n", 1, {"dimension is 201"}},
      {"dimension = 2.5\n", 1, {"dimension is 2.5"}},
      {"dimension = nan\n", 1, {"dimension is nan"}},
      {"dimension = true\n", 1, {"dimension is true"}},
      {"dimension = '5'\n", 1, {"dimension is the text '5'"}},
      {"dimension = [5]\n", 1, {"dimension is an array"}},
      {"dimension = 1979-05-27\n", 1, {"dimension is a date or time"}},
      {"dimension = 9223372036854775807\n", 1, {"from 1 to 200"}},
      {"kind = 'clasification'\ndimension = 5\n", 1, {"kind is the text 'clasification'", "'regression' or"}},
      {"\nkind = 1\ndimension = 5\n", 2, {"kind is 1"}},
      {"dimension = 5\n\ncovariate = 'gaussian'\n", 3, {"no key 'covariate'", "did you mean covariates?"}},
      {"dimension = 5\nzzz = 1\naaa = 1\n", 2, {"a regression has no key 'zzz'; it has kind, dimension"}},
      in_regression("\"two\\nlines\" = 1", {"no key 'two\\nlines'"}),
      {"dimension = 5\n[settings]\nloss = 'squared'\n", 2, {"no key 'settings'"}},
      in_regression("mean_scale = 1", {"'mean_scale'", "a key of kind = 'classification'"}),
      in_classification("noise = 'gaussian'",
                        {"a classification has no key 'noise' (that is a key of kind = 'regression')"}),
      in_regression("loss = 2", {"loss is 2, must be a loss: squared"}),
      in_regression("loss = ''", {"loss is the text ''"}),
      in_regression("loss = 'hinge'", {"loss is 'hinge', must be squared, huber:DELTA"}),
      in_regression("loss = 'huber:-1'", {"loss is 'huber:-1'"}),
      in_regression("loss = 'huber:x'", {"loss", "x"}),
      in_regression("loss = 'logistic'", {"loss is 'logistic'", "kind = 'classification'"}),
      in_regression("loss = \"a\\nb\"", {"loss is 'a\\nb', must be one line"}),
      in_regression("score_scale = inf", {"score_scale is inf, must be a finite number"}),
      in_regression("score_scale = '1'", {"score_scale is the text '1'"}),
      in_regression("outputs = 51", {"outputs is 51, must be a whole number from 1 to 50"}),
      in_regression("outputs = 0", {"outputs is 0"}),
      in_regression("covariates = 3", {"covariates is 3, must be a law"}),
      in_regression("prior = {law = 'sphere'}", {"prior is a table, must be a law"}),
      in_regression("prior = []", {"prior is an empty array"}),
      in_regression("queries = ['sphere']", {"a component of queries is the text 'sphere'"}),
      in_regression("covariates = 'gausian'", {"covariates: 'gausian' is not a law (did you mean"}),
      in_regression("queries = 'sphere:size=2'", {"queries: sphere has no key 'size'; it has radius"}),
      in_regression("prior = 'gaussian:mean=1,2'", {"prior: "}),
      in_regression("prior = 'gaussian:cov=diag:1,2'", {"prior: shape of cov is 2 x 2, must be 5 x 5"}),
      in_regression("prior = 'gaussian:cov=-1*identity'", {"prior: "}),
      in_regression("noise = 'gaussian:cov=identity,mean=1,2'", {"noise: "}),
      in_regression("covariates = 'tokens:none.csv'", {"covariates: ", "none.csv"}),
      in_regression("covariates = 'mixture:none.toml'", {"covariates: mixture: 'none.toml'"}),
      in_regression("noise_scale = 'uniform'", {"noise_scale needs noise"}),
      in_noise("{weight = 1, law = 'gaussian'},\n {weight = 1, lw = 'gaussian'}",
               {"a component of noise has no key 'lw'; it has weight, law, shift"}, 3),
      in_noise("{weight = 1, law = 'gaussian'},\n {weight = 1}",
               {"a component of noise needs a number weight and a text law"}, 3),
      in_noise("{law = 'gaussian'}", {"needs a number weight"}),
      in_noise("{weight = 1, law = 7}", {"a text law"}),
      in_noise("{weight = -1, law = 'gaussian'}", {"a weight of noise is -1, must be"}),
      in_noise("{weight = nan, law = 'gaussian'}", {"a weight of noise is nan"}),
      in_noise("{weight = true, law = 'gaussian'}", {"a weight of noise is true"}),
      in_noise("{weight = 0, law = 'gaussian'}", {"noise: ", "weights"}),
      in_noise("{weight = 1, law = 'gausian'}", {"noise: 'gausian' is not a law"}),
      in_noise("{weight = 1, law = \"a\\nb\"}", {"a law of noise is 'a\\nb'"}),
      in_noise("{weight = 1, law = 'gaussian', shift = 1}", {"a shift of noise is 1"}),
      in_noise("{weight = 1, law = 'gaussian', shift = [1, 2]}",
               {"a shift of noise has size 2, must be an array of 1 finite numbers"}),
      {"dimension = 2\nprior = [{weight = 1, law = 'gaussian', shift = [1,\n inf]}]\n",
       3,
       {"a shift of prior contains inf"}},
      in_classification("mean_scale = 0", {"mean_scale is 0, must be"}),
      in_classification("mean_scale = 'x'", {"mean_scale is the text 'x'"}),
      in_classification("covariance = 'toplitz:1'", {"covariance is 'toplitz:1'"}),
      in_classification("covariance = 'diag:1,2'", {"covariance", "5 x 5"}),
      in_classification("covariance = '-1*identity'", {"covariance"}),
      in_classification("loss = 'huber'", {"loss is 'huber'"}),
  };
  return all;
}

TEST(TaskFile, MistakesAreSaidInOneLineWithTheirPlace) {
  const TemporaryDirectory folder;
  for (const TaskMistake& mistake : task_mistakes()) {
    SCOPED_TRACE(mistake.text);
    const auto path = put(folder / "task.toml", mistake.text);
    const std::string message = message_of([&] { read_task_file(path); });
    EXPECT_TRUE(message.starts_with(path.string() + ":" + std::to_string(mistake.line) + ": ")) << message;
    for (const std::string& part : mistake.says) expect_contains(message, {part});
  }
}

TEST(TaskFile, FilesThatCannotBeRead) {
  const TemporaryDirectory folder;
  expect_contains(message_of([&] { read_task_file(folder / "none.toml"); }),
                  {"none.toml: there is no such file"});
  expect_contains(message_of([&] { read_task_file(folder / ""); }), {"this is not a file"});
  EXPECT_EQ(files_of_task(folder / "none.toml"), std::vector{folder / "none.toml"});
}

TEST(TaskFile, NestingIsBounded) {
  std::string deep = "a";
  for (int i = 0; i < 40'000; ++i) deep += ".a";
  expect_contains(message_of([&] { icl::parse_task("dimension = 1\n" + deep + " = 1\n", "t.toml"); }),
                  {"t.toml:2: ", "nested more than 16 deep"});
}

TEST(TaskFile, ParsingOpensNoFile) {
  const icl::TaskText task = icl::parse_task(
      "dimension = 2\ncovariates = 'tokens:none.npy'\nnoise = [{weight = 1, law = 'mixture:none.toml'}]\n",
      "t.toml");
  EXPECT_EQ(task.covariates.name.text, "tokens:none.npy");
  EXPECT_EQ(task.noise.mixture.at(0).law.text, "mixture:none.toml");
  EXPECT_EQ(task.noise.mixture.at(0).law.line, 3);
}

TEST(TaskFile, ItsFiles) {
  const TemporaryDirectory folder;
  const auto cov = put(folder / "cov.csv", "1,0\n0,1\n"), tokens = put(folder / "tokens.csv", "1,2\n3,4\n");
  const auto mixture =
      put(folder / "mixture.toml", "[[component]]\nweight = 1\nlaw = 'gaussian:cov=" + cov.string() + "'\n");
  const auto task =
      put(folder / "task.toml", "dimension = 2\ncovariates = 'tokens:" + tokens.string() +
                                    "'\nprior = [{weight = 1, law = 'mixture:" + mixture.string() +
                                    "'},\n{weight = 1, law = 'gaussian:cov=" + cov.string() + "'}]\n");
  EXPECT_EQ(files_of_task(task), (std::vector{task, tokens, mixture, cov}));
  EXPECT_EQ(read_task_file(task).task->token_dimension(), 3);
  const auto classes = put(folder / "classes.toml",
                           "kind = 'classification'\ndimension = 2\ncovariance = '2*" + cov.string() + "'\n");
  EXPECT_EQ(files_of_task(classes), (std::vector{classes, cov}));
  const auto broken = put(folder / "broken.toml", "dimension =\n");
  EXPECT_EQ(files_of_task(broken), std::vector{broken});
}

RegressionTexts only(std::string RegressionTexts::*which, std::string text) {
  RegressionTexts texts;
  texts.*which = std::move(text);
  return texts;
}

RegressionProblem some_problem() {
  ProblemText text;
  text.dimension = 3;
  text.covariance = "toeplitz:0.5";
  text.query_covariance = "2*identity";
  text.prior = "diag:1,2,3";
  text.noise = 0.25;
  text.score_scale = 0.5;
  return named_problem(text);
}

TEST(WithLaws, WithoutTextsItIsTheSameProblem) {
  const RegressionProblem problem = some_problem();
  EXPECT_TRUE(RegressionTexts{}.empty());
  const auto same = with_laws(problem, {}).exact_regression();
  ASSERT_TRUE(same);
  EXPECT_EQ(same->covariance, problem.covariance);
  EXPECT_EQ(same->query_covariance, problem.query_covariance);
  EXPECT_EQ(same->prior_covariance, problem.prior_covariance);
  EXPECT_EQ(same->noise_variance, problem.noise_variance);
  EXPECT_EQ(same->score_scale, problem.score_scale);
}

TEST(WithLaws, EachTextReplacesItsLaw) {
  const RegressionProblem problem = some_problem();
  const auto exact = [&](const RegressionTexts& texts) {
    return with_laws(problem, texts).exact_regression().value();
  };
  const Matrix I = Matrix::Identity(3, 3);
  EXPECT_EQ(exact(only(&RegressionTexts::queries, "gaussian:cov=3*identity")).query_covariance, 3 * I);
  EXPECT_EQ(exact(only(&RegressionTexts::queries, "gaussian:cov=3*identity")).covariance, problem.covariance);
  EXPECT_EQ(exact(only(&RegressionTexts::prior, "gaussian:cov=4*identity")).prior_covariance, 4 * I);
  EXPECT_EQ(exact(only(&RegressionTexts::noise, "gaussian:cov=5*identity")).noise_variance, 5);
  EXPECT_FALSE(with_laws(problem, only(&RegressionTexts::loss, "huber:2")).loss->quadratic_factor());
  EXPECT_TRUE(with_laws(problem, only(&RegressionTexts::loss, "squared")).exact_regression());
  EXPECT_FALSE(with_laws(problem, only(&RegressionTexts::prior, "laplace")).exact_regression());
}

TEST(WithLaws, CovariatesReplaceQueriesToo) {
  const RegressionProblem plain = paper_problem(Matrix::Identity(3, 3));
  const InContextProblem both = with_laws(plain, only(&RegressionTexts::covariates, "rademacher"));
  const RegressionLaws& laws = regression_of(both).laws();
  EXPECT_EQ(laws.covariates, laws.queries);
  expect_same_draws(*both.task, *with_covariates(plain, named_law("rademacher", 3)));
  const auto one = with_laws(plain, {"gaussian:cov=2*identity", "gaussian", "", "", ""}).exact_regression();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->covariance, 2 * Matrix::Identity(3, 3));
  EXPECT_EQ(one->query_covariance, Matrix::Identity(3, 3));
}

TEST(WithLaws, CovariatesSetTheCovariance) {
  RegressionProblem problem = paper_problem(Matrix::Identity(2, 2));
  problem.query_covariance *= 2;
  for (const RegressionProblem& other : {problem, paper_problem(2 * Matrix::Identity(2, 2))}) {
    expect_contains(message_of([&] { with_laws(other, only(&RegressionTexts::covariates, "sphere"), "--"); }),
                    {"icl: --covariates sets the covariance itself: remove --cov, --query-cov and --preset"});
    expect_contains(message_of([&] { with_laws(other, only(&RegressionTexts::covariates, "sphere")); }),
                    {"icl: covariates sets the covariance itself"});
  }
}

TEST(WithLaws, MessagesNameTheOption) {
  const RegressionProblem problem = paper_problem(Matrix::Identity(3, 3));
  const auto message = [&](const RegressionTexts& texts, std::string_view prefix) {
    return message_of([&] { with_laws(problem, texts, prefix); });
  };
  expect_contains(message(only(&RegressionTexts::covariates, "x"), "--"),
                  {"icl: --covariates: 'x' is not a law"});
  expect_contains(message(only(&RegressionTexts::queries, "x"), "--"),
                  {"icl: --query-law: 'x' is not a law"});
  expect_contains(message(only(&RegressionTexts::queries, "x"), ""), {"icl: query_law: 'x' is not a law"});
  expect_contains(message(only(&RegressionTexts::prior, "x"), "--"), {"icl: --prior-law: "});
  expect_contains(message(only(&RegressionTexts::prior, "x"), ""), {"icl: prior_law: "});
  expect_contains(message(only(&RegressionTexts::noise, "x\ny"), "--"),
                  {"icl: --noise-law: 'x\\ny' is not a law"});
  expect_contains(message(only(&RegressionTexts::noise, "x"), ""), {"icl: noise_law: "});
  expect_contains(message(only(&RegressionTexts::prior, "gaussian:mean=1,2,3,4"), "--"), {"--prior-law"});
  expect_contains(message(only(&RegressionTexts::loss, "x"), "--"), {"icl: --loss is 'x', must be squared"});
  expect_contains(message(only(&RegressionTexts::loss, "logistic"), "--"),
                  {"icl: --loss is 'logistic'", "task file"});
  expect_contains(message(only(&RegressionTexts::loss, "logistic"), ""), {"icl: loss is 'logistic'"});
}

}  // namespace
}  // namespace largo::test::task_file_test
