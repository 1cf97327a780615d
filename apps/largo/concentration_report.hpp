// What largo concentration found, and how it is shown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/length_within.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "output.hpp"

namespace largo {

struct TolerancePoint {
  double sigma = 1;
  std::optional<ToleratedLength> length;  ///< none if it needs more than 1e300 tokens
};

struct WithinPoint {
  double sigma = 1;
  std::vector<LengthWithin> lengths;  ///< one for each quantity
};

struct ConcentrationReport {
  std::string law, queries;  ///< as given
  std::ptrdiff_t dimension = 0;
  std::size_t planted = 0;  ///< number of tokens beside those of the law
  std::string beside;       ///< what they are, in words
  std::vector<ConcentrationRow> rows;
  ConcentrationSummary summary;
  double tolerance = 0;
  std::vector<TolerancePoint> tolerated;  ///< empty if not asked for
  double within = 0;
  std::vector<WithinPoint> lengths_within;  ///< empty if not asked for
  bool show_fit = false;                    ///< the paper's bounds, with fitted or given constants
  std::vector<std::string> notes;           ///< what is missing, and what to do about it
};

io::Json to_json(const ConcentrationReport& report);
void print_report(const ConcentrationReport& report);
/// One row per point, with all digits. A value that is not known is left empty.
std::string to_csv(const ConcentrationReport& report);
/// Curves of the three errors against L, with the bounds.
std::string to_svg(const ConcentrationReport& report);

}  // namespace largo
