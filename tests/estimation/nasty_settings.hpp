// Settings in which rare queries, rare tokens or rare atoms carry the error of attention.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"
#include "line_oracle.hpp"

namespace largo::test {

struct Nasty {
  std::string name;
  AttentionLayer layer;
  std::int64_t length;
  std::int64_t prompts;
  LineLaw tokens = {}, queries = {};  // for the oracle on the line; empty: exact engine
  bool hopeless = false;              // must warn whatever the seed; the truth is not known
};

inline MeasurePtr law(const std::string& text, std::ptrdiff_t d = 1) { return named_law(text, d); }

inline Matrix identity(double scale, std::ptrdiff_t d) { return scale * Matrix::Identity(d, d); }

inline Nasty one_query(const std::string& tokens, std::ptrdiff_t d, double u, std::int64_t L,
                       std::int64_t prompts) {
  return {tokens + ", d = " + std::to_string(d) + ", one query at " + std::to_string(u).substr(0, 4),
          {law(tokens, d), identity(u, d), identity(1, d), Vector(Vector::Unit(d, 0))},
          L,
          prompts};
}

// Gaussian tokens and Gaussian queries: the error comes from far out.
inline std::vector<Nasty> gaussian_settings() {
  struct Setting {
    std::ptrdiff_t d;
    std::string covariance;  // of the queries
    double u;
    std::int64_t length, prompts;
  };
  const std::vector<Setting> settings = {
      {1, "0.3*identity", 1, 10000, 1000}, {1, "0.1*identity", 1, 10000, 1000},
      {1, "0.2*identity", 1, 1000, 4000},  {1, "0.45*identity", 1, 1000, 2000},
      {1, "identity", 1, 100, 4000},       {1, "4*identity", 1, 100, 4000},
      {2, "0.3*identity", 1, 1000, 2000},  {2, "identity", 0.5, 1000, 2000},
      {2, "diag:1,0.01", 0.6, 300, 4000},  {3, "0.25*identity", 1, 300, 4000},
      {4, "0.3*identity", 1, 100, 4000},   {4, "toeplitz:0.9", 0.4, 1000, 2000},
      {4, "0.05*identity", 1, 1000, 1000}};
  std::vector<Nasty> all;
  for (const auto& [d, covariance, u, length, prompts] : settings) {
    const std::string queries = "gaussian:cov=" + covariance;
    all.push_back({"gaussian, d = " + std::to_string(d) + ", queries " + queries +
                       ", U = " + std::to_string(u).substr(0, 4),
                   {law("gaussian", d), identity(u, d), identity(1, d), law(queries, d)},
                   length,
                   prompts});
  }
  return all;
}

inline LineLaw three_point(double scale, double mass) {
  return {{-scale, 0, scale}, {mass / 2, 1 - mass, mass / 2}};
}
inline LineLaw bernoulli(double p) { return {{-p, 1 - p}, {1 - p, p}}; }
inline LineLaw laplace(double scale, double bound, int count = 600) {
  return density_nodes(-bound, bound, count, [=](double x) { return std::exp(-std::abs(x) / scale); });
}
inline LineLaw uniform(double width) {
  return density_nodes(-width, width, 200, [](double) { return 1.0; });
}
inline LineLaw point(double x) { return {{x}, {1}}; }

// Tokens and queries on the line, with U = V = 1.
inline Nasty on_line(const std::string& tokens, const LineLaw& token_nodes, const std::string& queries,
                     const LineLaw& query_nodes, std::int64_t L, std::int64_t prompts) {
  Nasty nasty{tokens + ", queries " + queries,
              {law(tokens), identity(1, 1), identity(1, 1), {}},
              L,
              prompts,
              token_nodes,
              query_nodes};
  if (query_nodes.x.size() == 1) {
    nasty.layer.queries = Vector(Vector::Constant(1, query_nodes.x[0]));
  } else {
    nasty.layer.queries = law(queries);
  }
  return nasty;
}

// A product law whose scores and values depend on the first coordinate alone.
inline Nasty first_coordinate(const std::string& tokens, const LineLaw& token_nodes, std::ptrdiff_t d,
                              double variance, std::int64_t L, std::int64_t prompts) {
  Matrix U = Matrix::Zero(d, d);
  U(0, 0) = std::sqrt(variance);
  return {tokens + ", first of " + std::to_string(d) + ", queries of variance " +
              std::to_string(variance).substr(0, 4),
          {law(tokens, d), U, Matrix(Vector::Unit(d, 0).transpose()), law("gaussian", d)},
          L,
          prompts,
          token_nodes,
          normal_nodes(0, std::sqrt(variance), 120)};
}

inline MeasurePtr normal(const Vector& mean, const Vector& variances) {
  return std::make_shared<GaussianMeasure>(mean, Matrix(variances.asDiagonal()));
}

inline MeasurePtr with_rare(double weight, const MeasurePtr& bulk, const MeasurePtr& rare) {
  return std::make_shared<MixtureMeasure>(Vector{{1 - weight, weight}}, std::vector<MeasurePtr>{bulk, rare});
}

// A rare component far away on the line, with one query or with Gaussian queries of the given variance.
inline Nasty rare_component(double weight, double shift, std::int64_t L, std::int64_t prompts, double query,
                            double variance = 0) {
  const auto at = [](double mean, double deviation) {
    return normal(Vector::Constant(1, mean), Vector::Constant(1, deviation * deviation));
  };
  Nasty nasty;
  nasty.name = "mixture, " + std::to_string(weight) + " at " + std::to_string(shift).substr(0, 4);
  nasty.layer = {with_rare(weight, at(0, 1), at(shift, 0.5)), identity(1, 1), identity(1, 1),
                 Vector(Vector::Constant(1, query))};
  nasty.length = L;
  nasty.prompts = prompts;
  nasty.queries = point(query);
  if (variance > 0) {
    nasty.name += ", queries of variance " + std::to_string(variance).substr(0, 4);
    nasty.layer.queries = at(query, std::sqrt(variance));
    nasty.queries = normal_nodes(query, std::sqrt(variance), 120);
  }
  nasty.tokens = normal_nodes(0, 1, 300);
  for (double& p : nasty.tokens.p) p *= 1 - weight;
  const LineLaw rare = normal_nodes(shift, 0.5, 300);
  for (std::size_t k = 0; k < rare.x.size(); ++k) {
    nasty.tokens.x.push_back(rare.x[k]);
    nasty.tokens.p.push_back(weight * rare.p[k]);
  }
  return nasty;
}

// Scores hardly vary along the second axis, but far out along it a rare component has all of the weight.
inline Nasty off_axis() {
  const MeasurePtr tokens =
      with_rare(1e-7, normal(Vector{{0, 0}}, Vector{{1, 1e-4}}), normal(Vector{{0, 20}}, Vector{{1, 1e-4}}));
  return {"rare queries off the axis of largest scores",
          {tokens, identity(1, 2), identity(1, 2), normal(Vector{{0, 0}}, Vector{{0.25, 0.04}})},
          1000,
          8000,
          {},
          {},
          true};
}

// Nearly half of the second moment of the last coordinate comes with one token in 10⁹.
inline Nasty last_coordinate() {
  const Vector variances{{1, 1, 1, 1, 1e-6}};
  const MeasurePtr tokens =
      with_rare(1e-9, normal(Vector::Zero(5), variances), normal(3e4 * Vector::Unit(5, 4), variances));
  return {"rare atoms in the last of five coordinates",
          {tokens, identity(1, 5), identity(1, 5), Vector(0.1 * Vector::Unit(5, 0))},
          100,
          1000,
          {},
          {},
          true};
}

inline std::vector<Nasty> nasty_settings() {
  const LineLaw tenth = normal_nodes(0, std::sqrt(0.1), 120);
  const LineLaw unit = normal_nodes(0, 1, 120), wide = normal_nodes(0, 2, 120);
  std::vector<Nasty> all = gaussian_settings();
  const std::vector<Nasty> others = {
      // Gaussian tokens and other queries.
      {"gaussian, d = 2, queries with a mean",
       {law("gaussian", 2), identity(1, 2), identity(1, 2), law("gaussian:cov=0.2*identity,mean=1,0", 2)},
       1000,
       2000},
      {"gaussian, d = 3, queries on a sphere",
       {law("gaussian", 3), identity(1, 3), identity(1, 3), law("sphere:radius=2", 3)},
       300,
       2000},
      // One query.
      one_query("gaussian", 1, 2, 10000, 500),
      one_query("gaussian", 2, 1.9, 1000, 1000),
      one_query("gaussian", 4, 3, 100, 4000),
      one_query("gaussian", 2, 0.5, 1000, 1000),
      {"gaussian:cov=toeplitz:0.8, d = 6, few prompts",
       {law("gaussian:cov=toeplitz:0.8", 6), identity(1, 6), identity(1, 6),
        Vector(Vector{{0.5, 0.3, 0, 0, 0, 0}})},
       80,
       500},
      // Rare atoms.
      on_line("three-point:mass=1e-7", three_point(1, 1e-7), "1", point(1), 1000, 1000),
      on_line("three-point:mass=1e-5", three_point(1, 1e-5), "1", point(1), 1000, 1000),
      on_line("three-point:mass=1e-4", three_point(1, 1e-4), "1", point(1), 300, 1000),
      on_line("three-point:mass=1e-3", three_point(1, 1e-3), "3", point(3), 100, 2000),
      on_line("three-point:mass=1e-2,scale=3", three_point(3, 1e-2), "1", point(1), 30, 4000),
      on_line("bernoulli:probability=1e-6", bernoulli(1e-6), "1", point(1), 1000, 1000),
      on_line("bernoulli:probability=1e-3", bernoulli(1e-3), "2", point(2), 100, 2000),
      one_query("three-point:mass=1e-5", 3, 1, 1000, 1000),
      rare_component(1e-5, 6, 1000, 1000, 0.1),
      rare_component(1e-3, 6, 100, 2000, 0.5),
      rare_component(1e-4, 30, 100, 1000, 0.05),
      // Long tails.
      on_line("laplace:scale=1,bound=20", laplace(1, 20), "0.3", point(0.3), 300, 1000),
      on_line("laplace:scale=1,bound=20", laplace(1, 20), "0.7", point(0.7), 300, 1000),
      on_line("laplace:scale=1,bound=30", laplace(1, 30), "gaussian:cov=0.1*identity", tenth, 300, 2000),
      // Random queries with other token laws.
      on_line("three-point:mass=1e-3", three_point(1, 1e-3), "gaussian", unit, 300, 1000),
      on_line("three-point:mass=0.1,scale=2", three_point(2, 0.1), "gaussian:cov=4*identity", wide, 100,
              2000),
      on_line("bernoulli:probability=0.01", bernoulli(0.01), "gaussian:cov=4*identity", wide, 300, 1000),
      on_line("uniform:half-width=2", uniform(2), "gaussian:cov=4*identity", wide, 300, 1000),
      first_coordinate("uniform:half-width=3", uniform(3), 3, 1, 100, 2000),
      // Rare queries of other laws.
      on_line("gaussian", normal_nodes(0, 1, 120), "three-point:mass=1e-5,scale=3", three_point(3, 1e-5), 300,
              1000),
      on_line("gaussian", normal_nodes(0, 1, 120), "laplace:scale=0.3,bound=6", laplace(0.3, 6, 240), 1000,
              2000),
      // Rare components of tokens under random queries.
      rare_component(1e-7, 20, 1000, 8000, 0, 0.04),
      rare_component(1e-5, 10, 300, 4000, 0, 0.04),
      rare_component(1e-3, 6, 100, 2000, 0, 0.1),
      rare_component(1e-3, 4, 300, 2000, 0, 0.04),
      rare_component(1e-2, 3, 300, 2000, 0, 0.1),
      rare_component(1e-2, 6, 100, 2000, 0, 1),
      off_axis(),
      last_coordinate(),
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace largo::test
