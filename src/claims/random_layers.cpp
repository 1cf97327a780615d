#include "claims/random_layers.hpp"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "numerics/factor.hpp"

namespace largo::claims {
namespace {

Matrix drawn_matrix(int number, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return named_matrix("matrix", fmt::format("random:{}", number), rows, columns);
}

}  // namespace

const char* name_of(QueryKind kind) {
  switch (kind) {
    case QueryKind::one: return "one";
    case QueryKind::gaussian: return "gaussian";
    case QueryKind::sphere: return "sphere";
    case QueryKind::signs: break;
  }
  return "rademacher";
}

Matrix with_norm(const Matrix& A, double norm) { return A * (norm / numerics::operator_norm(A)); }

Queries queries_of(QueryKind kind, std::ptrdiff_t d, int draw) {
  const double length = std::sqrt(static_cast<double>(d));
  switch (kind) {
    case QueryKind::one: return Vector(drawn_matrix(3 * draw + 3, d, d).col(0).normalized() * length);
    case QueryKind::gaussian: return std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
    case QueryKind::sphere: return std::make_shared<SphereMeasure>(d, length);
    case QueryKind::signs: break;
  }
  return std::make_shared<ProductMeasure>(d, rademacher());
}

RowMatrix sign_vectors(std::ptrdiff_t d) {
  RowMatrix rows(std::ptrdiff_t{1} << d, d);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    for (Eigen::Index j = 0; j < d; ++j) rows(i, j) = (i >> j & 1) != 0 ? 1 : -1;
  }
  return rows;
}

MeasurePtr all_signs(std::ptrdiff_t d) { return std::make_shared<EmpiricalMeasure>(sign_vectors(d)); }

MeasurePtr sign_queries(std::string_view law, std::ptrdiff_t d) {
  if (law.starts_with("bernoulli")) return all_signs(d);  // the only law here that is not symmetric
  const RowMatrix all = sign_vectors(d);
  RowMatrix half(all.rows() / 2, d);
  for (Eigen::Index i = 0; i < half.rows(); ++i) half.row(i) = all.row(2 * i + 1);  // odd rows begin with 1
  return std::make_shared<EmpiricalMeasure>(half);
}

AttentionLayer random_layer(const char* law, std::ptrdiff_t d, QueryKind queries, int draw, double U_norm) {
  return {named_law(law, d), with_norm(drawn_matrix(3 * draw + 1, d, d), U_norm),
          drawn_matrix(3 * draw + 2, 2, d), queries_of(queries, d, draw)};
}

}  // namespace largo::claims
