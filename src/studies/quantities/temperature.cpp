// Softmax weights over a crowd whose scores are scaled with its size, or to keep a statistic at a target.
#include "largo/exact/temperature.hpp"

#include <optional>

#include <fmt/format.h>

#include "exact/named_class.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

constexpr const char* kTemperature = "temperature";

struct TemperatureUnit {
  CrowdedPrompt prompt;
  Matrix V = Matrix::Identity(1, 1);
  double L = 1;
  TemperatureLaw law{"beta", "constant"};
};

TemperatureUnit unit_of(const UnitInputs& inputs) {
  TemperatureUnit unit;
  const std::optional<double> s = inputs.given_number("s");
  const std::string law = inputs.text("law"), query = inputs.text("query");
  if (s.has_value() != law.empty()) fail(kTemperature, "give either s, or law and query");
  if (s) {
    unit.prompt = normal_crowd(*s);
  } else {
    if (query.empty()) fail(kTemperature, "query is not given");
    unit.prompt.crowd = named_law(law, inputs.given_size("d"));
    const std::ptrdiff_t d = unit.prompt.crowd->dimension();
    const Matrix U = named_matrix("U", inputs.text("U"), d);
    const RowMatrix rows = named_queries(kTemperature, "query", query, U.cols());
    if (rows.rows() != 1) fail(kTemperature, "number of queries", static_cast<double>(rows.rows()), "1");
    unit.prompt.direction = U * rows.row(0).transpose();
    unit.V = named_matrix("V", inputs.text("V"), std::nullopt, d);
  }
  if (const auto needle = inputs.given_number("needle")) unit.prompt.needle = TokenClass{1, *needle, 0};
  if (const std::string classes = inputs.text("classes"); !classes.empty())
    unit.prompt.planted = exact::named_classes(kTemperature, "classes", classes);
  unit.L = inputs.number("L");
  unit.law = TemperatureLaw("beta", inputs.text("beta"));
  // The identity of a unit covers the content of laws and matrices alone.
  if (!unit.law.file().empty())
    fail(kTemperature, "beta", fmt::format("'{}'", unit.law.name()), "a name or a formula, not a table");
  if (inputs.text("statistic").empty() != !inputs.given_number("target"))
    fail(kTemperature, "statistic and target go together");
  return unit;
}

class TemperatureQuantity final : public Quantity {
 public:
  TemperatureQuantity()
      : Quantity(
            kTemperature,
            {{.name = "s", .kind = ParameterKind::positive},
             {.name = "law", .kind = ParameterKind::law},
             {.name = "d", .kind = ParameterKind::whole},
             {.name = "U", .kind = ParameterKind::matrix, .otherwise = "identity"},
             {.name = "V", .kind = ParameterKind::matrix, .otherwise = "identity"},
             {.name = "query", .kind = ParameterKind::matrix},
             {.name = "needle"},
             {.name = "classes", .kind = ParameterKind::text},
             {.name = "L", .kind = ParameterKind::length, .required = true},
             {.name = "beta", .kind = ParameterKind::text, .otherwise = "constant"},
             {.name = "statistic",
              .kind = ParameterKind::text,
              .choices = {"effective_tokens", "entropy", "needle_weight"}},
             {.name = "target", .kind = ParameterKind::positive},
             {.name = "method", .kind = ParameterKind::text, .otherwise = "exact", .choices = {"exact"}}},
            {"beta_value", "effective_tokens", "entropy", "needle_weight", "crowd_weight", "log_partition",
             "output_error"}) {}

  void check(const UnitInputs& inputs) const override { unit_of(inputs); }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution&) const override {
    const TemperatureUnit unit = unit_of(inputs);
    const std::string statistic = inputs.text("statistic");
    const TemperatureRow row =
        statistic.empty() ? temperature_rows(unit.prompt, unit.V, {unit.L}, {unit.law}).front()
                          : target_rows(unit.prompt, unit.V, {unit.L},
                                        weight_statistic("statistic", statistic), {inputs.number("target")})
                                .front();
    const CrowdWeights& weights = row.at.weights;
    return {UnitResult(row.at.beta),
            UnitResult(weights.effective_tokens),
            UnitResult(weights.entropy),
            unit.prompt.needle ? UnitResult(weights.needle) : UnitResult(),
            UnitResult(weights.crowd),
            UnitResult(weights.log_partition),
            row.output_error ? UnitResult(*row.output_error) : UnitResult()};
  }
};

}  // namespace

const Quantity& temperature_quantity() {
  static const TemperatureQuantity quantity;
  return quantity;
}

}  // namespace largo::studies
