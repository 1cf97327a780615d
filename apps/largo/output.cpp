#include "output.hpp"

#include <cmath>

#include <fmt/core.h>

namespace largo {

io::Json to_json(const ConstMatrixRef& matrix) {
  io::Json rows = io::Json::array();
  for (std::ptrdiff_t i = 0; i < matrix.rows(); ++i) {
    io::Json row = io::Json::array();
    for (std::ptrdiff_t j = 0; j < matrix.cols(); ++j) row.push_back(matrix(i, j));
    rows.push_back(std::move(row));
  }
  return rows;
}

io::Json to_json(const ConstVectorRef& values, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return to_json(Matrix(values.reshaped<Eigen::RowMajor>(rows, columns)));
}

void print_json(const io::Json& json) {
  io::check_numbers(json);
  fmt::print("{}\n", io::to_text(json));
}

double shown_risk(double risk, double null_risk) { return std::abs(risk) < 1e-14 * null_risk ? 0 : risk; }

std::string short_list(const ConstVectorRef& values) {
  constexpr std::ptrdiff_t kShown = 8;
  std::string text = "(";
  for (std::ptrdiff_t i = 0; i < std::min(kShown, values.size()); ++i) {
    text += fmt::format("{}{:.6g}", i > 0 ? ", " : "", values[i]);
  }
  if (values.size() > kShown) text += fmt::format(", … {} in all", values.size());
  return text + ")";
}

}  // namespace largo
