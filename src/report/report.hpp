// The model of a report: sections with numbers, tables and figures. Claims and studies make reports;
// docs/report.md describes their JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/json.hpp"
#include "largo/report/figure.hpp"

namespace largo::report {

/// Nothing, a number or a text.
struct ReportCell {
  std::variant<std::monostate, double, std::string> value;

  ReportCell() = default;
  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number> ReportCell(Number number)
      : value(static_cast<double>(number)) {}
  ReportCell(const char* text) : value(text) {}
  ReportCell(std::string text) : value(std::move(text)) {}
  ReportCell(std::variant<std::monostate, double, std::string> given) : value(std::move(given)) {}
};

/// A number that a verdict may depend on.
struct ReportNumber {
  std::string label;
  double value = 0;
  std::optional<double> limit = {};  ///< the largest value allowed
};

/// What a verdict asks for: that a number is within its limit, or something else.
struct ReportCondition {
  std::string what;
  bool holds = false;
};

struct ReportTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<ReportCell>> rows = {};
};

/// The same panels for other values of a parameter, which a slider on the page selects.
struct FigureSlider {
  std::string label;
  std::vector<double> values = {};
  std::vector<std::vector<Panel>> panels = {};
};

struct ReportFigure {
  std::string id;  ///< names its files
  Figure figure;
  std::optional<FigureSlider> slider = {};
  std::string x = {};                    ///< the parameter on the x axis, if the reader can choose it
  std::vector<ReportFigure> views = {};  ///< the same figure over other parameters; these have no id
};

/// What the cells of a grid may be coloured by: numbers on a scale, which may be logarithmic, or texts.
struct GridQuantity {
  std::string label;
  bool log = false;
  std::vector<std::vector<ReportCell>> values = {};  ///< values[i][j] is that of row i, column j
};

/// Cells in rows and columns. On the page the reader chooses a quantity to colour them by, and a cell to see
/// all its quantities and the figures in `details`.
struct ReportGrid {
  std::string id, caption;
  std::string row, column;  ///< what a row is, and a column: "layer", "head"
  std::vector<std::string> rows = {}, columns = {};
  std::vector<GridQuantity> quantities = {};
  std::vector<std::vector<std::vector<Figure>>> details = {};  ///< details[i][j]; empty: none for any cell
};

enum class Verdict : std::uint8_t { holds, fails, not_testable };
const char* name_of(Verdict verdict);

struct ReportSection {
  std::string id = {}, title = {}, source = {};  ///< source, formula and verdict are not in the JSON if empty
  std::string statement = {};                    ///< in plain words
  std::string formula = {};                      ///< LaTeX
  std::string computed = {};                     ///< what was done
  std::string control = {};                      ///< what its negative control makes wrong, if it has one
  std::optional<Verdict> verdict = {};
  std::string reason = {};  ///< reason for the verdict: numbers against thresholds, on one line
  std::vector<ReportNumber> numbers = {};
  std::vector<ReportCondition> conditions = {};  ///< all that the verdict asks for; not in the JSON
  std::vector<ReportTable> tables = {};
  std::vector<ReportFigure> figures = {};
  std::vector<ReportGrid> grids = {};
  std::string command = {};  ///< the command that makes this section
};

struct Report {
  std::string kind;  ///< "reproduce", "study" or "heads"
  std::string title, intro = {}, version = {}, command = {};
  std::uint64_t seed = 1;
  std::vector<ReportSection> sections = {};
  std::vector<std::pair<std::string, std::string>> about = {};  ///< labels and texts at the end of the page
};

io::Json to_json(const ReportSection& section);
io::Json to_json(const Report& report);

/// The curves of a figure as CSV, one row for each point.
std::string to_csv(const Figure& figure);

/// A report as one HTML file: a page that web/ builds, with the data in it (docs/report.md). `run` says what
/// made the report and has a place of its own on the page; if it is null, the page says nothing about that.
std::string report_page(const Report& report, const io::Json& run = nullptr);

/// A number for readers, written as on the page of reports (web/src/format.ts) with at most `digits`
/// significant digits: "−0.981", "3.06×10⁻¹⁵", "10⁻¹²", "∞". Whole numbers are given in full below 10⁶, and
/// below 10⁹ if digits would be lost; a power of ten is used if the exponent is below −3 or above 5. Not for
/// NaN.
std::string shown(double value, int digits = 3);

}  // namespace largo::report
