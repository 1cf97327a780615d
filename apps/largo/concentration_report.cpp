#include "concentration_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace largo {
namespace {

const char* name_of(ErrorMethod method) { return method == ErrorMethod::exact ? "exact" : "sampled"; }

bool several_sigmas(const ConcentrationReport& report) {
  const auto differs = [&](const ConcentrationRow& row) { return row.sigma != report.rows.front().sigma; };
  return std::any_of(report.rows.begin(), report.rows.end(), differs);
}

io::Json to_json(const ErrorBar& bar, ErrorMethod method) {
  io::Json json{{"value", bar.value}, {"error", bar.error}};
  if (method == ErrorMethod::sampled) json["interval"] = {bar.low, bar.high};
  return json;
}

io::Json to_json(const Estimate& estimate) { return {{"value", estimate.value}, {"error", estimate.error}}; }

template <typename Three>
io::Json slopes_json(const Three& slopes) {
  io::Json json = io::Json::object();
  if (slopes.output) json["output"] = to_json(*slopes.output);
  if (slopes.gradient_V) json["gradient_V"] = to_json(*slopes.gradient_V);
  if (slopes.gradient_U) json["gradient_U"] = to_json(*slopes.gradient_U);
  return json;
}

io::Json to_json(const ConcentrationRow& row) {
  io::Json json{{"sigma", row.sigma}, {"L", io::number_json(row.L)}, {"method", name_of(row.method)}};
  json["output"] = to_json(row.output, row.method);
  json["gradient_V"] = to_json(row.gradient_V, row.method);
  if (row.gradient_U) json["gradient_U"] = to_json(*row.gradient_U, row.method);
  if (row.gradient_K) json["gradient_K"] = to_json(*row.gradient_K, row.method);
  if (row.gradient_Q) json["gradient_Q"] = to_json(*row.gradient_Q, row.method);
  if (row.certified) {
    json["certified"] = {{"output", io::number_json(row.certified->output)},
                         {"gradient_V", io::number_json(row.certified->gradient_V)},
                         {"gradient_U", io::number_json(row.certified->gradient_U)}};
    for (const auto& [name, bound] : {std::pair("gradient_K", row.certified->gradient_K),
                                      std::pair("gradient_Q", row.certified->gradient_Q)}) {
      if (bound) json["certified"][name] = io::number_json(*bound);
    }
  }
  if (row.method == ErrorMethod::exact) json["exponent"] = slopes_json(row.exponents);
  if (row.softmax_linear) json["softmax_linear"] = to_json(*row.softmax_linear, row.method);
  if (row.linear) json["linear"] = {{"value", *row.linear}};
  if (row.method == ErrorMethod::sampled) json["prompts"] = row.prompts;
  if (!row.warnings.empty()) json["warnings"] = row.warnings;
  return json;
}

io::Json to_json(const BoundReport& bound, double sub_gaussian) {
  io::Json json{{"c1", bound.constants.c1},
                {"c2", bound.constants.c2},
                {"fitted", bound.fitted},
                {"points", bound.verdict.points},
                {"worst_ratio", bound.verdict.worst_ratio}};
  // A fit is above the points that it was fitted to, which says nothing about others.
  if (!bound.fitted) json["holds"] = bound.verdict.holds;
  if (bound.verdict.worst_ratio > 0) {
    json["worst"] = {{"sigma", bound.verdict.worst.sigma / sub_gaussian},
                     {"L", io::number_json(bound.verdict.worst.L)}};
  }
  return json;
}

struct NamedBound {
  const char* name;
  const char* shape;
  const std::optional<BoundReport>& bound;
};

std::array<NamedBound, 3> bounds_of(const ConcentrationSummary& summary) {
  return {{{"output", "c1 σ⁶ ln L / L^(c2/σ²)", summary.output},
           {"gradient_V", "c1 σ⁶ ln L / L^(c2/σ²)", summary.gradient_V},
           {"gradient_U", "c1 σ¹² ln² L / L^(c2/σ²)", summary.gradient_U}}};
}

std::string short_number(double value) { return fmt::format("{:.4e}", value); }

// The columns that say which row it is, and their heading.
void print_point_heading(bool sigmas) {
  if (sigmas) fmt::print("{:>7} ", "sigma");
  fmt::print("{:>9} {:<8} ", "L", "method");
}

void print_point(bool sigmas, const ConcentrationRow& row) {
  if (sigmas) fmt::print("{:>7.4g} ", row.sigma);
  fmt::print("{:>9.4g} {:<8} ", row.L, name_of(row.method));
}

void print_rows(const ConcentrationReport& report) {
  const bool sigmas = several_sigmas(report);
  print_point_heading(sigmas);
  fmt::print("{:>11} {:>8} {:>11} {:>8} {:>11} {:>8} {:>9} {:>11}\n", "output", "± error", "gradient V",
             "± error", "gradient U", "± error", "exponent", "to linear");
  for (const ConcentrationRow& row : report.rows) {
    print_point(sigmas, row);
    fmt::print("{:>11.4e} {:>8.0e} {:>11.4e} {:>8.0e}", row.output.value, row.output.error,
               row.gradient_V.value, row.gradient_V.error);
    if (row.gradient_U) {
      fmt::print(" {:>11.4e} {:>8.0e}", row.gradient_U->value, row.gradient_U->error);
    } else {
      fmt::print(" {:>11} {:>8}", "", "");
    }
    fmt::print(" {:>9} {:>11}\n",
               row.exponents.output ? fmt::format("{:.4f}", row.exponents.output->value) : "",
               row.softmax_linear ? short_number(row.softmax_linear->value) : "");
  }
}

bool has_factored_gradients(const ConcentrationReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(), [](const ConcentrationRow& row) {
    return row.gradient_K || row.gradient_Q || (row.certified && row.certified->gradient_K);
  });
}

void print_factored_gradients(const ConcentrationReport& report) {
  const bool sigmas = several_sigmas(report);
  fmt::print("\nerrors of the gradients in K and Q, and certified bounds\n");
  print_point_heading(sigmas);
  fmt::print("{:>11} {:>8} {:>11} {:>11} {:>8} {:>11}\n", "gradient K", "± error", "bound", "gradient Q",
             "± error", "bound");
  const auto shown = [](const std::optional<ErrorBar>& x, const std::optional<double>& bound) {
    return (x ? fmt::format("{:>11.4e} {:>8.0e}", x->value, x->error) : fmt::format("{:>11} {:>8}", "", "")) +
           (bound ? fmt::format(" {:>11.4e}", *bound) : fmt::format(" {:>11}", ""));
  };
  for (const ConcentrationRow& row : report.rows) {
    const CertifiedErrors bounds = row.certified.value_or(CertifiedErrors{});
    if (!row.gradient_K && !row.gradient_Q && !bounds.gradient_K) continue;
    print_point(sigmas, row);
    fmt::print("{} {}\n", shown(row.gradient_K, bounds.gradient_K), shown(row.gradient_Q, bounds.gradient_Q));
  }
}

// Bounds that are theorems, and how far above the errors they are.
void print_certified(const ConcentrationReport& report) {
  const bool sigmas = several_sigmas(report);
  fmt::print("\ncertified bounds, with no constant fitted, and their ratios to the errors\n");
  print_point_heading(sigmas);
  fmt::print("{:>11} {:>9} {:>11} {:>9} {:>11} {:>9}\n", "output", "ratio", "gradient V", "ratio",
             "gradient U", "ratio");
  for (const ConcentrationRow& row : report.rows) {
    if (!row.certified) continue;
    print_point(sigmas, row);
    const auto with_ratio = [](double bound, const std::optional<ErrorBar>& error) {
      const bool is_known = error && error->value > 0;
      return fmt::format("{:>11.4e} {:>9}", bound,
                         is_known ? fmt::format("{:.4g}", bound / error->value) : "");
    };
    fmt::print("{} {} {}\n", with_ratio(row.certified->output, row.output),
               with_ratio(row.certified->gradient_V, row.gradient_V),
               with_ratio(row.certified->gradient_U, row.gradient_U));
  }
}

void print_summary(const ConcentrationReport& report) {
  const auto slope = [](const std::optional<Estimate>& x) {
    return x ? fmt::format("{:.3f} ± {:.0e}", x->value, x->error) : std::string("-");
  };
  fmt::print("\nslopes of ln error against ln L over all lengths, and for L -> inf\n");
  fmt::print("{:>7} {:<8} {:>16} {:>16} {:>16} {:>8}\n", "sigma", "method", "output", "gradient V",
             "gradient U", "limit");
  for (const SigmaSummary& s : report.summary.sigmas) {
    fmt::print("{:>7.4g} {:<8} {:>16} {:>16} {:>16} {:>8}\n", s.sigma, name_of(s.method), slope(s.output),
               slope(s.gradient_V), slope(s.gradient_U),
               s.asymptotic ? fmt::format("{:.4f}", -s.asymptotic->value) : "-");
  }
  if (!report.show_fit) {
    // nothing to say about fits
  } else if (report.summary.output) {
    const SubGaussianKind kind = report.summary.sub_gaussian_kind;
    fmt::print("\nthe paper's bounds for L >= 2; tokens are σ-sub-Gaussian with σ {} {:.4g} x sigma\n",
               kind == SubGaussianKind::smallest ? "=" : fmt::format("{}", name_of(kind)),
               report.summary.sub_gaussian);
  } else {
    fmt::print(
        "\nto fit the paper's bounds, give two different lengths L >= 2; to check them, give "
        "--c1 and --c2\n");
  }
  for (const auto& [name, shape, bound] : bounds_of(report.summary)) {
    if (!bound || !report.show_fit) continue;
    const char* const verdict = bound->fitted          ? "the least above all points"
                                : bound->verdict.holds ? "holds"
                                                       : "FAILS";
    fmt::print("{:<10} {:<25} {} c1 = {:.4g}, c2 = {:.4g}: {} ({} points, largest error/bound {:.3g}", name,
               shape, bound->fitted ? "fitted" : "given", bound->constants.c1, bound->constants.c2, verdict,
               bound->verdict.points, bound->verdict.worst_ratio);
    fmt::print(" at sigma = {:.4g}, L = {:.4g})\n", bound->verdict.worst.sigma / report.summary.sub_gaussian,
               bound->verdict.worst.L);
  }
  for (const TolerancePoint& point : report.tolerated) {
    fmt::print("{}sigma = {:.4g}: E|softmax - linear|^2 <= {} ",
               &point == report.tolerated.data() ? "\n" : "", point.sigma, report.tolerance);
    if (point.length) {
      fmt::print("from L = {:.10g} on ({:.4e} there)\n", point.length->L, point.length->value);
    } else {
      fmt::print("needs more than 1e300 tokens\n");
    }
  }
  for (const WithinPoint& point : report.lengths_within) {
    fmt::print("\nsigma = {:.4g}: within {:g} of the limit, in root mean square\n", point.sigma,
               report.within);
    for (const LengthWithin& one : point.lengths) {
      fmt::print("{:<10} {}\n", one.name,
                 one.L ? fmt::format("from L = {:.10g} on ({:.4e} there)", *one.L, one.relative)
                       : fmt::format("no length: {}", one.missing));
    }
  }
}

}  // namespace

io::Json to_json(const ConcentrationReport& report) {
  io::Json json{{"law", report.law}, {"d", report.dimension}, {"queries", report.queries}};
  if (report.planted > 0) {
    json["planted"] = report.planted;
    json["beside"] = report.beside;
  }
  json["rows"] = io::Json::array();
  for (const ConcentrationRow& row : report.rows) json["rows"].push_back(to_json(row));
  io::Json fit{{"sub_gaussian", report.summary.sub_gaussian},
               {"sub_gaussian_kind", name_of(report.summary.sub_gaussian_kind)},
               {"method", name_of(report.summary.method)}};
  for (const auto& [name, shape, bound] : bounds_of(report.summary)) {
    if (bound && report.show_fit) fit[name] = to_json(*bound, report.summary.sub_gaussian);
  }
  fit["slopes"] = io::Json::array();
  for (const SigmaSummary& s : report.summary.sigmas) {
    io::Json slopes{{"sigma", s.sigma}, {"method", name_of(s.method)}};
    slopes.update(slopes_json(s));
    if (s.asymptotic) {
      slopes["asymptotic_exponent"] = s.asymptotic->value;
      if (s.asymptotic->spread) slopes["score_spread"] = *s.asymptotic->spread;
    }
    fit["slopes"].push_back(std::move(slopes));
  }
  json["fit"] = std::move(fit);
  for (const TolerancePoint& point : report.tolerated) {
    io::Json answer{{"sigma", point.sigma}, {"tolerance", report.tolerance}};
    answer["L"] = point.length ? io::number_json(point.length->L) : io::Json(nullptr);
    if (point.length) answer["value"] = point.length->value;
    json["tolerance"].push_back(std::move(answer));
  }
  for (const WithinPoint& point : report.lengths_within) {
    for (const LengthWithin& one : point.lengths) {
      io::Json answer{{"sigma", point.sigma}, {"within", report.within}, {"quantity", one.name}};
      answer["L"] = one.L ? io::number_json(*one.L) : io::Json(nullptr);
      if (one.L) answer["value"] = one.relative;
      if (!one.missing.empty()) answer["missing"] = one.missing;
      json["within"].push_back(std::move(answer));
    }
  }
  if (!report.notes.empty()) json["notes"] = report.notes;
  return json;
}

void print_report(const ConcentrationReport& report) {
  fmt::print("tokens {}, d = {}, queries {}", report.law, report.dimension, report.queries);
  fmt::print("{}\n", report.beside.empty() ? "" : ", beside " + report.beside);
  print_rows(report);
  if (has_factored_gradients(report)) print_factored_gradients(report);
  if (report.rows.front().certified) print_certified(report);
  print_summary(report);
  for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
  for (const ConcentrationRow& row : report.rows) {
    for (const std::string& warning : row.warnings) {
      fmt::print("warning: sigma = {:.4g}, L = {:.4g}: {}\n", row.sigma, row.L, warning);
    }
  }
}

std::string to_csv(const ConcentrationReport& report) {
  std::string text =
      "sigma,L,method,output,output_error,output_low,output_high,gradient_V,gradient_V_error,gradient_V_low,"
      "gradient_V_high,gradient_U,gradient_U_error,gradient_U_low,gradient_U_high,exponent_output,"
      "exponent_gradient_V,exponent_gradient_U,softmax_linear,linear,certified_output,certified_gradient_V,"
      "certified_gradient_U,";
  const bool factored = has_factored_gradients(report);
  if (factored) {
    text +=
        "gradient_K,gradient_K_error,gradient_Q,gradient_Q_error,certified_gradient_K,certified_gradient_Q,";
  }
  text += "prompts,warnings\n";
  const auto bar = [&](const std::optional<ErrorBar>& x) {
    text += x ? fmt::format("{},{},{},{},", x->value, x->error, x->low, x->high) : ",,,,";
  };
  const auto value = [&](const auto& x) { text += x ? fmt::format("{},", x->value) : ","; };
  for (const ConcentrationRow& row : report.rows) {
    text += fmt::format("{},{},{},", row.sigma, row.L, name_of(row.method));
    bar(row.output);
    bar(row.gradient_V);
    bar(row.gradient_U);
    value(row.exponents.output);
    value(row.exponents.gradient_V);
    value(row.exponents.gradient_U);
    value(row.softmax_linear);
    text += row.linear ? fmt::format("{},", *row.linear) : ",";
    text += row.certified ? fmt::format("{},{},{},", row.certified->output, row.certified->gradient_V,
                                        row.certified->gradient_U)
                          : ",,,";
    for (const auto& x : {row.gradient_K, row.gradient_Q}) {
      if (factored) text += x ? fmt::format("{},{},", x->value, x->error) : ",,";
    }
    const CertifiedErrors bounds = row.certified.value_or(CertifiedErrors{});
    for (const auto& bound : {bounds.gradient_K, bounds.gradient_Q}) {
      if (factored) text += bound ? fmt::format("{},", *bound) : ",";
    }
    text += row.method == ErrorMethod::sampled ? fmt::format("{},", row.prompts) : ",";
    // Warnings contain no quotes, so one quoted field can hold them all.
    text += row.warnings.empty() ? "\n" : fmt::format("\"{}\"\n", fmt::join(row.warnings, "; "));
  }
  return text;
}

}  // namespace largo
