#include "exact/sink_table.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "exact/class_node.hpp"
#include "exact/line_rule.hpp"
#include "largo/runtime/check.hpp"

namespace largo::exact {
namespace {

constexpr double kFirstSquare = 0.25;  // where the variable changes from s² to ln s²
constexpr double kGroupWidth = 0.5;    // in ln s²
constexpr int kSplits = 8;
// The last coefficients of a panel that is not split, relative to the least value there.
constexpr double kEnough = 3e-13;

// E[V], E[V²], E[V P_2], E[P_2], E[P_3], E[P_2²], by products of the integrals R of the two classes.
class SinkIntegrand {
 public:
  static constexpr std::size_t kCount = 6;
  SinkIntegrand(const TokenClass& crowd, double sink) : node_(std::vector<TokenClass>{crowd, {1, sink, 0}}) {}

  void at(double v, double depth, LineValues& to) {
    std::fill(to.value.begin(), to.value.end(), 0.0);
    if (node_.at(v, depth, to)) {
      const ClassIntegrals &crowd = node_.classes[0], &sink = node_.classes[1];
      const double r = sink.R(1), w = node_.weight;
      to.value[0] = w * r;
      to.value[1] = w * r * r;
      to.value[2] = w * r * crowd.R(2) / 2;
      to.value[3] = w * crowd.R(2);
      to.value[4] = w * crowd.R(3) / 2;
      to.value[5] = w * (crowd.R(4) + (crowd.count() - 1) / crowd.count() * crowd.R(2) * crowd.R(2)) / 6;
    }
    to.magnitude = to.value;
  }

 private:
  ClassNode node_;
};

double chebyshev_node(std::size_t i, std::size_t count) {
  return std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count));
}

}  // namespace

SinkStatistics sink_statistics(double s, const LengthLaw& L, double sink) {
  SinkStatistics sum;
  double error = 0;
  for (const auto& [length, weight] : L.rule()) {
    TokenClass crowd{length, 0, s};
    const std::vector<TokenClass> both = {crowd, {1, sink, 0}};
    const double shift = ClassVariable(both).middle();
    crowd.shift += shift;
    const std::vector<Estimate> e =
        LineRule(SinkIntegrand(crowd, sink + shift), SinkIntegrand::kCount, kClassStep)
            .integrals(kClassHalvings);
    const auto [V, VV, VP2, P2, P3, P2P2] =
        std::tuple(e[0].value, e[1].value, e[2].value, e[3].value, e[4].value, e[5].value);
    sum.p += weight * P2;
    sum.lost += weight * (V + P2);
    sum.phi += weight * (VV - 2 * V + 4 * VP2 - P2 - 6 * P3 + 6 * P2P2);
    const double of_phi =
        2 * e[0].error + e[1].error + 4 * e[2].error + e[3].error + 6 * (e[4].error + e[5].error);
    error = std::max(error, of_phi / (V + P2));
  }
  sum.relative_error = error;
  return sum;
}

SinkTable::SinkTable(LengthLaw L, double sink) : L_(std::move(L)), sink_(sink) {}

std::shared_ptr<const SinkTable> SinkTable::shared(const LengthLaw& L, double sink) {
  static std::mutex mutex;
  static std::deque<std::shared_ptr<const SinkTable>> tables;  // most recently used first
  constexpr std::size_t kShared = 16;
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const auto& table) { return table->sink_ == sink && table->L_ == L; });
  auto table = found != tables.end() ? *found : std::make_shared<const SinkTable>(L, sink);
  if (found != tables.end()) tables.erase(found);
  tables.push_front(table);
  if (tables.size() > kShared) tables.pop_back();
  return table;
}

SinkTable::Panel SinkTable::made(double low, double high, bool of_logarithm) const {
  Panel panel{low, high, {}, 0, 0};
  std::array<std::array<double, kNodes>, kFields> values{};
  for (std::size_t i = 0; i < kNodes; ++i) {
    const double x = low + 0.5 * (high - low) * (1 + chebyshev_node(i, kNodes));
    const double s = std::sqrt(of_logarithm ? std::exp(x) : x);
    const SinkStatistics at = sink_statistics(s, L_, sink_);
    values[0][i] = at.p;
    values[1][i] = at.lost;
    values[2][i] = at.phi;
    panel.relative_error = std::max(panel.relative_error, at.relative_error);
  }
  constexpr auto n = static_cast<double>(kNodes);
  double excess = 0;
  for (std::size_t field = 0; field < kFields; ++field) {
    // φ may change its sign: it is added to terms of the size of the others.
    double least = values[field == 0 ? 0 : 1][0];
    for (const double value : values[field == 0 ? 0 : 1]) least = std::min(least, value);
    for (std::size_t k = 0; k < kNodes; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < kNodes; ++i) {
        sum += values[field][i] *
               std::cos(std::numbers::pi * static_cast<double>(k) * (static_cast<double>(i) + 0.5) / n);
      }
      panel.coefficients[field][k] = sum * (k == 0 ? 1 : 2) / n;
    }
    const double last =
        std::abs(panel.coefficients[field][kNodes - 1]) + std::abs(panel.coefficients[field][kNodes - 2]);
    excess = std::max(excess, last / least);
  }
  panel.excess = excess;
  panel.relative_error += excess;
  return panel;
}

void SinkTable::split(double low, double high, bool of_logarithm, int splits,
                      std::vector<Panel>& panels) const {
  Panel panel = made(low, high, of_logarithm);
  if (panel.excess <= kEnough || splits == 0) {
    panels.push_back(std::move(panel));
    return;
  }
  const double middle = 0.5 * (low + high);
  split(low, middle, of_logarithm, splits - 1, panels);
  split(middle, high, of_logarithm, splits - 1, panels);
}

SinkStatistics SinkTable::operator()(double square) const {
  if (!(square >= 0 && square <= kMostSquare)) {
    fail("icl", "the spread of the scores", std::sqrt(square),
         fmt::format("at most {:g} beside a sink: scale down the parameters", std::sqrt(kMostSquare)));
  }
  const bool of_logarithm = square > kFirstSquare;
  const double x = of_logarithm ? std::log(square) : square;
  const double first = std::log(kFirstSquare);
  const std::size_t group =
      of_logarithm ? 1 + static_cast<std::size_t>(std::max(0.0, (x - first) / kGroupWidth)) : 0;
  std::call_once(once_[group], [&] {
    const double low = of_logarithm ? first + kGroupWidth * static_cast<double>(group - 1) : 0;
    split(low, of_logarithm ? low + kGroupWidth : kFirstSquare, of_logarithm, kSplits, groups_[group]);
  });
  const std::vector<Panel>& panels = groups_[group];
  auto panel = panels.begin();
  while (panel + 1 != panels.end() && x > panel->high) ++panel;

  // Clenshaw's recurrence for the value and the derivative.
  const double width = 0.5 * (panel->high - panel->low), at = (x - panel->low) / width - 1;
  std::array<double, kFields> value{}, slope{};
  for (std::size_t field = 0; field < kFields; ++field) {
    double b1 = 0, b2 = 0, d1 = 0, d2 = 0;
    for (std::size_t k = kNodes - 1; k > 0; --k) {
      const double d = 2 * b1 + 2 * at * d1 - d2;
      const double b = panel->coefficients[field][k] + 2 * at * b1 - b2;
      d2 = std::exchange(d1, d);
      b2 = std::exchange(b1, b);
    }
    value[field] = panel->coefficients[field][0] + at * b1 - b2;
    slope[field] = (b1 + at * d1 - d2) / width / (of_logarithm ? square : 1);
  }
  return {value[0], value[1], value[2], slope[0], slope[1], slope[2], panel->relative_error};
}

}  // namespace largo::exact
