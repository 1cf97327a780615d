// The claims about training on other problems than Gaussian regression: other covariates, other losses.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/population_training.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdicts, for numbers with their errors against them, so that noise alone cannot pass:
// for the difference of the exponent of the excess risk from 1, which tells 1/L from 1/√L; for what is left
// at the longest L of the distance and of the excess risk at the shortest.
constexpr double kMostOffRate = 0.4, kMostShareLeft = 0.5;

InContextProblem regression(RegressionLaws laws, LossPtr loss) {
  return {std::make_shared<LawRegression>(std::move(laws)), std::move(loss), 1};
}

// Tables, curves and numbers of some problems.
class PopulationClaim {
 public:
  PopulationClaim(PopulationPlan plan, const ClaimOptions& options)
      : plan_(std::move(plan)), options_(options) {}

  PopulationResult add(const PopulationProblem& problem, double time, std::vector<double> lengths,
                       RisksAlong along = RisksAlong::no) {
    plan_.lengths = std::move(lengths);
    plan_.step_size = time / static_cast<double>(plan_.steps);
    PopulationResult found = train_on_population(problem, plan_, along, options_);
    const int color = static_cast<int>(excess.curves.size());
    Curve risk{.label = problem.name, .color = color}, distance = risk;
    for (const PopulationRow& row : found.rows) {
      table.rows.push_back(
          {problem.name, row.L, row.excess.value, row.excess.error, row.distance.value, row.distance.error});
      add_point(risk, row.L, row.excess);
      add_point(distance, row.L, row.distance);
    }
    rates.rows.push_back({problem.name, time, found.limit_risk, found.exponent.value, found.exponent.error});
    off_rate = larger(off_rate, std::abs(found.exponent.value - 1) + kSeedErrors * found.exponent.error);
    const PopulationRow &first = found.rows.front(), &last = found.rows.back();
    excess_left = larger(excess_left, largest_share_left(first.excess, last.excess));
    distance_left = larger(distance_left, largest_share_left(first.distance, last.distance));
    excess.curves.push_back(std::move(risk));
    distances.curves.push_back(std::move(distance));
    return found;
  }

  std::string how() const {
    return fmt::format(
        "Stochastic descent, {} steps on {} fresh prompts each; the infinite prompt by the same steps on "
        "fresh tasks. Risks are averages over {} prompts that no descent has seen, with the same tasks for "
        "all lengths. Means and standard errors over {} seeds. Each number enters the verdict at its "
        "worse end, {:.2g} standard errors away: the 95 % interval for so few seeds (Student's t).",
        plan_.steps, plan_.batch, plan_.tests, plan_.seeds, kSeedErrors);
  }

  report::ReportTable table{
      "Risk of L tokens after training there, less that of the infinite prompt; and the largest distance of "
      "the parameters of both descents.",
      {"problem", "L", "excess risk", "its standard error", "distance", "standard error"}};
  report::ReportTable rates{
      "Risk of the infinite prompt after training, and the exponent with which the excess risk falls.",
      {"problem", "trained until t", "risk of the infinite prompt", "exponent", "standard error"}};
  Panel excess{.title = "risk", .x_label = "prompt length L", .y_label = "risk above the limit's"};
  Panel distances{.title = "parameters", .x_label = "prompt length L", .y_label = "largest distance"};
  double off_rate = 0, excess_left = 0, distance_left = 0;

 private:
  PopulationPlan plan_;
  const ClaimOptions& options_;
};

}  // namespace

report::ReportSection other_covariates_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  PopulationClaim found({.batch = little ? 128 : 256}, options);
  const std::pair<const char*, const char*> laws[] = {{"±1", "rademacher"},
                                                      {"uniform", "uniform:half-width=1.7320508"},
                                                      {"circle", "sphere:radius=1.41421356"}};
  const InContextProblem gaussian = regression({.covariates = named_law("gaussian", 2)}, squared_loss());
  for (const auto& [name, law] : laws) {
    const InContextProblem problem = regression({.covariates = named_law(law, 2)}, squared_loss());
    found.add({name, problem, options.control ? gaussian : problem}, 6,
              little ? std::vector<double>{30, 100} : std::vector<double>{30, 100, 300});
  }
  report::ReportSection claim{
      .computed = fmt::format("In-context regression in two dimensions, covariates of variance 1: ±1, "
                              "uniform on an interval, uniform on the circle. {}",
                              found.how())};
  claim.numbers = {
      {"largest |exponent of the excess risk − 1|, with its error against it", found.off_rate, kMostOffRate},
      {"largest distance at the longest L over that at the shortest, with the errors of both against it",
       found.distance_left, kMostShareLeft}};
  claim.tables = {found.table, found.rates};
  const Curve& first = found.excess.curves.front();
  Curve rate{.label = "slope −1", .x = first.x, .y = {}, .style = Curve::Style::dashed, .color = 7};
  for (const double L : rate.x) rate.y.push_back(first.y.front() * first.x.front() / L);
  found.excess.curves.push_back(std::move(rate));
  claim.figures = {{"other-covariates",
                    {{found.excess, found.distances},
                     "Training on prompts of L tokens beside training on the infinite prompt; bands are two "
                     "standard errors over seeds."}}};
  return decided(std::move(claim));
}

report::ReportSection other_losses_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  PopulationClaim found({.batch = little ? 64 : 128, .tests = little ? 2048 : 4096}, options);
  const auto lengths = [&](double middle, double last) {
    return little ? std::vector<double>{10, last} : std::vector<double>{10, middle, last};
  };
  const auto with_limit = [&](const char* name, InContextProblem problem) {
    InContextProblem limit = problem;
    if (options.control) limit.loss = squared_loss();
    return PopulationProblem{name, std::move(problem), std::move(limit)};
  };
  PopulationResult classified = found.add(
      with_limit("logistic, two classes",
                 {std::make_shared<MixtureClassification>(1, Matrix::Identity(2, 2)), logistic_loss(), 1}),
      15, lengths(30, 100), RisksAlong::yes);
  if (!options.control) {
    RegressionLaws robust{.covariates = named_law("gaussian", 2)};
    robust.prior = named_law("laplace:scale=0.7,bound=10", 2);
    robust.noise = std::make_shared<MixtureMeasure>(
        Vector{{0.9, 0.1}}, std::vector<MeasurePtr>{named_law("gaussian:cov=0.01*identity", 1),
                                                    named_law("gaussian:cov=4*identity", 1)});
    found.add(with_limit("Huber, contaminated noise", regression(robust, huber_loss(1))), 6,
              lengths(30, 100));
    RegressionLaws vectors{.covariates = named_law("gaussian", 2)};
    vectors.prior = named_law("rademacher", 2);
    vectors.outputs = 2;
    found.add(with_limit("two outputs, binary tasks", regression(vectors, squared_loss())), 2,
              lengths(100, 1000));
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "Three problems in two dimensions: classification of two Gaussian classes with the logistic loss; "
          "regression with tasks of Laplace's law, one label in ten with large noise, and Huber's loss; "
          "regression with two outputs, whose tasks have entries ±1. {}",
          found.how())};
  claim.numbers = {{"largest excess risk at the longest L over that at the shortest, with the errors of both "
                    "against it",
                    found.excess_left, kMostShareLeft},
                   {"largest distance at the longest L over that at the shortest, with the errors of both "
                    "against it",
                    found.distance_left, kMostShareLeft}};
  claim.tables = {found.table, found.rates};
  Panel along{.title = "two classes, while training",
              .x_label = "time t",
              .y_label = "risk",
              .log_x = false,
              .log_y = false,
              .curves = std::move(classified.along)};
  for (Curve& curve : found.excess.curves) curve.color += 3;
  claim.figures = {{"other-losses",
                    {{along, found.excess},
                     "Risk on fresh prompts while a head learns to classify, and the excess risk at the end "
                     "of training; bands are two standard errors over seeds."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
