// How far attention over L tokens is from its limit.
#include <memory>

#include <fmt/format.h>

#include "concentration/rows.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

constexpr const char* kConcentration = "concentration";

AttentionLayer layer_of(const UnitInputs& inputs) {
  AttentionLayer layer;
  const std::string precision = inputs.text("precision");
  const Arithmetic arithmetic = precision == "float32"   ? Arithmetic::float32
                                : precision == "float64" ? Arithmetic::float64
                                                         : Arithmetic::of_tokens;
  layer.tokens = named_law(inputs.text("law"), inputs.given_size("d"), arithmetic);
  const std::ptrdiff_t d = layer.tokens->dimension();
  layer.U = named_matrix("U", inputs.text("U"), d);
  layer.V = named_matrix("V", inputs.text("V"), std::nullopt, d);
  const std::string query = inputs.text("query"), law = inputs.text("query-law");
  if (query.empty() == law.empty()) fail(kConcentration, "give either query or query-law");
  if (query.empty()) {
    layer.queries = named_law(law, layer.U.cols());
    return layer;
  }
  const RowMatrix rows = named_queries(kConcentration, "query", query, layer.U.cols());
  if (rows.rows() == 1) {
    layer.queries = Vector(rows.row(0).transpose());
  } else {
    layer.queries = std::make_shared<const EmpiricalMeasure>(rows);
  }
  return layer;
}

UnitResult to_result(const ErrorBar& bar, const ConcentrationRow& row) {
  UnitResult result(bar.value, bar.error);
  result.sampled = row.method == ErrorMethod::sampled;
  result.warning = fmt::format("{}", fmt::join(row.warnings, "; "));
  return result;
}

class Concentration final : public Quantity {
 public:
  Concentration()
      : Quantity(kConcentration,
                 {{.name = "law", .kind = ParameterKind::law, .required = true},
                  {.name = "d", .kind = ParameterKind::whole},
                  {.name = "U", .kind = ParameterKind::matrix, .otherwise = "identity"},
                  {.name = "V", .kind = ParameterKind::matrix, .otherwise = "identity"},
                  {.name = "query", .kind = ParameterKind::matrix},
                  {.name = "query-law", .kind = ParameterKind::law},
                  {.name = "sigma", .kind = ParameterKind::positive, .otherwise = 1.0},
                  {.name = "L", .kind = ParameterKind::length, .required = true},
                  {.name = "method",
                   .kind = ParameterKind::text,
                   .otherwise = "auto",
                   .choices = {"auto", "exact", "sampled"}},
                  {.name = "prompts", .kind = ParameterKind::sample_size, .otherwise = 10000.0},
                  {.name = "precision",
                   .kind = ParameterKind::text,
                   .otherwise = "auto",
                   .choices = {"auto", "float32", "float64"}}},
                 {"output", "gradient_V", "gradient_U"}) {}

  void check(const UnitInputs& inputs) const override {
    const AttentionLayer layer = layer_of(inputs);
    if (draws_prompts(inputs, layer)) concentration::check_sampled_length(kConcentration, inputs.number("L"));
  }

  bool draws_prompts(const UnitInputs& inputs) const override {
    return draws_prompts(inputs, layer_of(inputs));
  }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution& execution) const override {
    const AttentionLayer layer = layer_of(inputs);
    ConcentrationPlan plan;
    plan.sigmas = {inputs.number("sigma")};
    plan.lengths = {inputs.number("L")};
    plan.sampled = draws_prompts(inputs, layer);
    plan.exact = !plan.sampled;
    plan.exponents = plan.certified = false;
    plan.sampling.samples = static_cast<std::int64_t>(inputs.number("prompts"));
    plan.sampling.relative_error = inputs.tolerance().value_or(0);
    plan.seed = inputs.seed();
    if (inputs.text("precision") == "float64") plan.precision = TokenPrecision::float64;
    const ConcentrationRow row = concentration_grid(layer, plan, execution).at(0);
    return {to_result(row.output, row), to_result(row.gradient_V, row),
            row.gradient_U ? to_result(*row.gradient_U, row) : UnitResult()};
  }

 private:
  static bool draws_prompts(const UnitInputs& inputs, const AttentionLayer& layer) {
    const std::string method = inputs.text("method");
    return method == "sampled" || (method == "auto" && missing_formula(layer));
  }
};

}  // namespace

const Quantity& concentration_quantity() {
  static const Concentration quantity;
  return quantity;
}

}  // namespace largo::studies
