// The names, tables and formulas of temperature laws.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "io/csv.hpp"
#include "io/formula.hpp"
#include "io/parse_numbers.hpp"
#include "largo/exact/temperature.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "temperature";

using Beta = std::function<double(double)>;

struct NamedBeta {
  std::string_view name;
  double (*beta)(double log_L);
};

constexpr std::array kNames = {
    NamedBeta{"constant", [](double) { return 1.0; }},
    NamedBeta{"sqrt-log", [](double log_L) { return std::sqrt(log_L); }},
    NamedBeta{"log", [](double log_L) { return log_L; }},
    NamedBeta{"log-squared", [](double log_L) { return log_L * log_L; }},
};

struct TrainedBeta {
  std::string_view name;
  double (*beta)(double log_ratio, double log_trained);
};

constexpr std::array kTrained = {
    TrainedBeta{"yarn", [](double ratio, double) { return (0.1 * ratio + 1) * (0.1 * ratio + 1); }},
    TrainedBeta{"longrope", [](double ratio, double trained) { return 1 + ratio / trained; }},
};

// Linear in ln L between the rows of the file.
Beta read_table(std::string_view argument, std::string_view file) {
  const Matrix rows = io::read_csv(std::string(file));
  const auto refuse = [&](const std::string& reason) {
    fail(kFunction, argument, fmt::format("'{}'", file), reason);
  };
  if (rows.cols() != 2) refuse(fmt::format("a table of two columns, L and beta, not {}", rows.cols()));
  std::vector<double> log_L, beta;
  for (std::ptrdiff_t i = 0; i < rows.rows(); ++i) {
    if (!(rows(i, 0) >= 1 && rows(i, 1) >= 0)) refuse("a table with L of at least 1 and beta not negative");
    if (i > 0 && !(rows(i, 0) > rows(i - 1, 0))) refuse("a table with L increasing from row to row");
    log_L.push_back(std::log(rows(i, 0)));
    beta.push_back(rows(i, 1));
  }
  return [=, name = std::string(file), first = rows(0, 0), last = rows(rows.rows() - 1, 0)](double L) {
    if (!(L >= first && L <= last)) {
      fail(kFunction, "L", L, fmt::format("between {:g} and {:g}, the lengths in {}", first, last, name));
    }
    const double x = std::log(L);
    const auto above =
        static_cast<std::size_t>(std::upper_bound(log_L.begin(), log_L.end(), x) - log_L.begin());
    if (above == 0) return beta.front();
    if (above == log_L.size()) return beta.back();
    const double share = (x - log_L[above - 1]) / (log_L[above] - log_L[above - 1]);
    return beta[above - 1] + share * (beta[above] - beta[above - 1]);
  };
}

bool is_table(std::string_view text) { return text.ends_with(".csv"); }

// One of the names, perhaps with the length in training or a file; nothing for anything else.
std::optional<Beta> named(std::string_view argument, std::string_view text) {
  for (const NamedBeta& one : kNames) {
    if (text == one.name) return [beta = one.beta](double L) { return beta(std::log(L)); };
  }
  for (const TrainedBeta& one : kTrained) {
    if (!text.starts_with(one.name)) continue;
    const std::string_view rest = text.substr(one.name.size());
    if (!rest.starts_with(':')) {
      fail(kFunction, argument, fmt::format("'{}'", text),
           fmt::format("{0}:N with the length N in training, such as {0}:4096", one.name));
    }
    const double trained = io::parse_number(argument, rest.substr(1));
    if (!(trained > 1)) fail(kFunction, argument, fmt::format("'{}'", text), "a length above 1 in training");
    return [beta = one.beta, log_trained = std::log(trained)](double L) {
      return beta(std::max(0.0, std::log(L) - log_trained), log_trained);
    };
  }
  if (is_table(text)) return read_table(argument, text);
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view temperature_names() {
  return "constant, sqrt-log, log, log-squared, yarn:N, longrope:N, FILE.csv, or a formula in L";
}

std::vector<TemperatureLaw> default_temperature_laws() {
  std::vector<TemperatureLaw> laws;
  for (const NamedBeta& one : kNames) laws.emplace_back("law", one.name);
  return laws;
}

TemperatureLaw::TemperatureLaw(std::string_view argument, std::string_view text) : name_(trimmed(text)) {
  const std::string_view whole = name_;
  const auto control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  if (std::any_of(whole.begin(), whole.end(), control))
    fail(kFunction, fmt::format("{} has control characters", argument));
  // 0.43*log: what follows the sign is a name.
  const std::size_t sign = whole.find('*');
  const std::string_view name = sign == std::string_view::npos ? whole : trimmed(whole.substr(sign + 1));
  if (const auto found = named(argument, name)) {
    const double factor =
        sign == std::string_view::npos ? 1 : io::parse_number(argument, trimmed(whole.substr(0, sign)));
    beta_ = [beta = *found, factor](double L) { return factor * beta(L); };
    if (is_table(name)) file_ = name;
    return;
  }
  // What could not be a formula is a name with a typing error.
  if (whole.find('L') == std::string_view::npos &&
      whole.find_first_of("0123456789") == std::string_view::npos)
    fail(kFunction, argument, fmt::format("'{}'", whole), std::string(temperature_names()));
  beta_ = io::Formula(argument, whole, "L");
}

TemperatureLaw::TemperatureLaw(std::string name, std::function<double(double)> beta)
    : name_(std::move(name)), beta_(std::move(beta)) {}

double TemperatureLaw::operator()(double L) const {
  const double beta = beta_(L);
  if (!(beta >= 0 && std::isfinite(beta))) {
    fail(kFunction, fmt::format("beta of '{}' at L = {:g}", name_, L), beta, "finite and not negative");
  }
  return beta;
}

}  // namespace largo
