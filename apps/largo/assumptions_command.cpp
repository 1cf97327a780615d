// largo assumptions: the hypotheses of the propositions, for one law of tokens and its queries.
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "arguments.hpp"
#include "assumptions_report.hpp"
#include "command.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

constexpr const char* kAssumptionsCommand = "assumptions";

struct AssumptionsOptions : CommonOptions {
  std::string law;
  std::optional<std::ptrdiff_t> dimension;
  std::string U, K, Q;
  std::string query, query_law;
  OutputFiles outputs;
};

Matrix read_scores(const AssumptionsOptions& options, std::ptrdiff_t d) {
  if (options.K.empty() != options.Q.empty()) fail(kAssumptionsCommand, "--K and --Q must be given together");
  if (options.K.empty()) return named_matrix("--U", options.U.empty() ? "identity" : options.U, d);
  if (!options.U.empty()) fail(kAssumptionsCommand, "give either --U, or --K and --Q");
  const Matrix K = named_matrix("--K", options.K, std::nullopt, d);
  return K.transpose() * named_matrix("--Q", options.Q, K.rows());
}

AttentionLayer read_assumed_layer(const AssumptionsOptions& options) {
  if (options.query.empty() == options.query_law.empty()) {
    fail(kAssumptionsCommand, "give either --query or --query-law (for example --query-law gaussian)");
  }
  AttentionLayer layer;
  layer.tokens = named_law(options.law, options.dimension, Arithmetic::float64);
  const std::ptrdiff_t d = layer.tokens->dimension();
  layer.U = read_scores(options, d);
  layer.V = Matrix::Zero(1, d);  // plays no part
  if (!options.query_law.empty()) {
    layer.queries = named_law(options.query_law, layer.U.cols(), Arithmetic::float64);
    return layer;
  }
  const RowMatrix rows = read_queries(kAssumptionsCommand, options.query, layer.U.cols());
  if (rows.rows() == 1) {
    layer.queries = Vector(rows.row(0).transpose());
  } else {
    layer.queries = std::make_shared<const EmpiricalMeasure>(rows);
  }
  return layer;
}

void run_assumptions(const AssumptionsOptions& options) {
  const InputNames inputs{.laws = {options.law, options.query_law},
                          .matrices = {options.U, options.K, options.Q, options.query}};
  options.outputs.check(kAssumptionsCommand, inputs);
  const AttentionLayer layer = read_assumed_layer(options);
  AssumptionsReport report;
  report.assumptions = assumptions(layer, options.execution());
  report.subject = {{"law", options.law},
                    {"d", layer.tokens->dimension()},
                    {"queries", options.query_law.empty() ? options.query : options.query_law}};
  report.heading = fmt::format("tokens {}, d = {}, queries {}", options.law, layer.tokens->dimension(),
                               options.query_law.empty() ? options.query : options.query_law);
  print_assumptions(kAssumptionsCommand, report, options.json, options.outputs);
}

}  // namespace

void add_assumptions_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "assumptions", run_assumptions,
                     "Check the hypotheses of the propositions for a law, and say which fails and where");
  command->add_option("--law", options->law, "Token law, as in largo attention")->required();
  add_dimension_option(*command, options->dimension);
  add_text_option(*command, "--U", options->U, "Score matrix, d x e (default: identity)");
  add_text_option(*command, "--K", options->K, "Key matrix, r x d; use --K and --Q instead of --U");
  add_text_option(*command, "--Q", options->Q, "Query matrix, r x e; needs --K");
  add_text_option(*command, "--query", options->query,
                  "One query (1,0,-1), or several (1,0,-1;0,1,2 or a file with one query per row)");
  add_text_option(*command, "--query-law", options->query_law,
                  "Law of the queries: gaussian, gaussian:cov=diag:1,2, sphere, tokens:FILE, …");
  options->outputs.add_csv_option(*command, "the table");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "Each assumption has its value (exact, or a bound), whether it holds, and what needs it. Nothing is\n"
      "sampled: what cannot be decided is unknown, and a note says why (docs/assumptions.md).\n\n"
      "Examples:\n"
      "  largo assumptions --law gaussian:cov=toeplitz:0.5 --d 3 --U 0.5*identity --query-law gaussian\n"
      "  largo assumptions --law rademacher --d 4 --K K.npy --Q Q.npy --query 1,0,0,0 --json");
}

}  // namespace largo
