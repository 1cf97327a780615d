#include "largo/exact/softmax_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <vector>

#include "exact/softmax_panel.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Edges of the groups of panels in s, in units of the width of the first; the last two groups are in 1/s.
constexpr std::array kEdges = {0.0, 1.0, 1.3, 1.75, 2.3, 3.1, 8.0, kInfinity};
constexpr std::size_t kGroups = kEdges.size() - 1;
// A panel that is too wide is halved, at most this many times.
constexpr int kSplits = 10;
constexpr std::size_t kShared = 64;

// One token and infinitely many have closed forms. Close to one token, most statistics vanish like L - 1 and
// would be lost in the noise of those that do not, so they are computed each time.
constexpr double kNearOne = 1.001;
bool is_direct(const LengthLaw& lengths) {
  return lengths.is_one_length() && (lengths.longest() < kNearOne || lengths.longest() == kInfinitePrompt);
}

}  // namespace

SoftmaxStatistics softmax_statistics(double s, double L) {
  const SoftmaxMoments m = softmax_moments(s, L);
  SoftmaxStatistics result{.P2 = m.P2.value,
                           .P3 = m.P3.value,
                           .P2P2 = m.P2P2.value,
                           .mean = m.mean.value,
                           .bias = m.bias.value,
                           .mse = m.mse.value,
                           .variance = m.variance.value,
                           .variance_mse = m.variance_mse.value,
                           .variance_P2 = m.variance_P2.value,
                           .squared_spread = m.squared_spread.value,
                           .P2_slope = m.P2_slope.value,
                           .P3_slope = m.P3_slope.value,
                           .P2P2_slope = m.P2P2_slope.value,
                           .F = exact::prediction_square(m)};
  for (const Estimate& x : {m.P2, m.P3, m.P2P2, m.mse, m.variance_mse}) {
    if (x.value > 0) result.relative_error = std::max(result.relative_error, x.error / x.value);
  }
  return result;
}

class SoftmaxTable::Panels {
 public:
  explicit Panels(LengthLaw law) : lengths(std::move(law)) {
    // The statistics vary with s over the condensation line √(2 ln L) or, for short prompts, with s.
    const double width = std::max(0.85, condensation_line(lengths.longest()) / 3.5);
    for (std::size_t i = 0; i < kEdges.size(); ++i) edges[i] = width * kEdges[i];
  }

  /// The panel of s, among those between two edges.
  const exact::SoftmaxPanel& at(double s) {
    std::size_t group = 0;
    while (s > edges[group + 1]) ++group;
    fill(group);
    // The panels are in order of their variable, which falls with s in the last groups.
    const std::vector<exact::SoftmaxPanel>& panels = groups[group];
    if (panels.size() == 1) return panels.front();
    const exact::PanelVariable variable = panels.front().range().variable;
    const double value = variable == exact::PanelVariable::kSquare  ? s * s
                         : variable == exact::PanelVariable::kPlain ? s
                                                                    : 1 / s;
    const auto above =
        std::upper_bound(panels.begin() + 1, panels.end(), value,
                         [](double v, const exact::SoftmaxPanel& panel) { return v < panel.range().low; });
    return *(above - 1);
  }

  void fill(std::size_t group) {
    std::call_once(once[group], [&] {
      const double low = edges[group];
      const double high = edges[group + 1];
      if (group == 0) {
        split({exact::PanelVariable::kSquare, 0, high * high}, kSplits, groups[group]);
      } else if (group + 2 < kGroups) {
        split({exact::PanelVariable::kPlain, low, high}, kSplits, groups[group]);
      } else {
        split({exact::PanelVariable::kInverse, 1 / high, 1 / low}, kSplits, groups[group]);
      }
    });
  }

  LengthLaw lengths;
  std::array<double, kEdges.size()> edges;

 private:
  void split(const exact::PanelRange& range, int splits, std::vector<exact::SoftmaxPanel>& panels) const {
    exact::SoftmaxPanel panel(lengths, range);
    if (panel.excess() <= 1 || splits == 0) {
      panels.push_back(std::move(panel));
      return;
    }
    const double middle = 0.5 * (range.low + range.high);
    split({range.variable, range.low, middle}, splits - 1, panels);
    split({range.variable, middle, range.high}, splits - 1, panels);
  }

  std::array<std::once_flag, kGroups> once;
  std::array<std::vector<exact::SoftmaxPanel>, kGroups> groups;
};

SoftmaxTable::SoftmaxTable(const LengthLaw& lengths) : panels_(std::make_unique<Panels>(lengths)) {}
SoftmaxTable::~SoftmaxTable() = default;
SoftmaxTable::SoftmaxTable(SoftmaxTable&&) noexcept = default;
SoftmaxTable& SoftmaxTable::operator=(SoftmaxTable&&) noexcept = default;

const LengthLaw& SoftmaxTable::lengths() const { return panels_->lengths; }

SoftmaxStatistics SoftmaxTable::operator()(double s) const {
  check_score_spread("SoftmaxTable", s);
  if (is_direct(panels_->lengths)) return softmax_statistics(s, panels_->lengths.longest());
  return panels_->at(s)(s);
}

void SoftmaxTable::fill(double s_max, const Execution& execution) const {
  check_score_spread("SoftmaxTable", s_max);
  if (is_direct(panels_->lengths)) return;
  const auto first = panels_->edges.begin();
  const auto count = std::lower_bound(first + 1, panels_->edges.end(), s_max) - first;
  runtime::parallel_for(count, execution,
                        [&](std::ptrdiff_t group) { panels_->fill(static_cast<std::size_t>(group)); });
}

std::shared_ptr<const SoftmaxTable> SoftmaxTable::shared(const LengthLaw& lengths) {
  static std::mutex mutex;
  static std::deque<std::shared_ptr<const SoftmaxTable>> tables;  // most recently used first
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const auto& table) { return table->lengths() == lengths; });
  auto table = found != tables.end() ? *found : std::make_shared<const SoftmaxTable>(lengths);
  if (found != tables.end()) tables.erase(found);
  tables.push_front(table);
  if (tables.size() > kShared) tables.pop_back();
  return table;
}

}  // namespace largo
