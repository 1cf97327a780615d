// Reads a study from its file. Every error message names the line of the mistake.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "io/parse_toml.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/study.hpp"
#include "runtime/closest_name.hpp"
#include "studies/parameter_values.hpp"
#include "studies/parse_study.hpp"
#include "studies/quantity.hpp"

namespace largo {
namespace {

const std::vector<std::string> kTopLevel = {"title",     "quantity", "method", "seed",
                                            "tolerance", "settings", "grid",   "points"};

std::string read_text(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail(name, "there is no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail(name, "this is not a file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) fail(name, "this file cannot be read");
  return text;
}

struct Entry {
  std::string key;
  const toml::node* node = nullptr;
  toml::source_position at;
};

// toml++ sorts keys by name; the order of the file is the order of the axes.
std::vector<Entry> entries_of(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) {
    entries.push_back({std::string(key.str()), &node, key.source().begin});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
    return std::pair(one.at.line, one.at.column) < std::pair(other.at.line, other.at.column);
  });
  return entries;
}

class Reader {
 public:
  Reader(std::string file, const toml::table& table) : file_(std::move(file)), table_(table) {}

  StudyPlan read(const std::vector<StudyChange>& changes) {
    for (const Entry& entry : entries_of(table_)) {
      if (std::find(kTopLevel.begin(), kTopLevel.end(), entry.key) == kTopLevel.end()) unknown_key(entry);
    }
    plan_.title = text_of("title").value_or(std::filesystem::path(file_).stem().string());
    read_quantity();
    for (const studies::Parameter& one : quantity_->parameters()) plan_.settings.push_back(one.otherwise);
    given_.assign(plan_.settings.size(), 0);
    read_settings(table_, true);
    if (const toml::table* settings = table_of("settings")) read_settings(*settings, false);
    if (const toml::table* grid = table_of("grid")) read_grid(*grid);
    read_points();
    std::set<std::string> changed;
    for (const StudyChange& change : changes) {
      if (!changed.insert(change.key).second) {
        fail(fmt::format("--set {}", change.key),
             "this parameter is set twice; give it one value, or a list");
      }
      apply(change);
    }
    check_complete();
    check_size(grid_line());
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& message) const {
    fail(place(line).text(), message);
  }
  studies::Place place(std::size_t line) const { return {file_, line}; }
  std::size_t grid_line() const {
    const toml::node* grid = table_.get("grid");
    return grid == nullptr ? 1 : grid->source().begin.line;
  }

  void check_size(std::size_t line) const {
    double units = plan_.axes.empty() ? 0 : 1;
    for (const StudyAxis& axis : plan_.axes) units *= static_cast<double>(axis.values.size());
    units += static_cast<double>(plan_.points.size());
    if (units <= static_cast<double>(kMostUnits)) return;
    refuse(line, fmt::format("this would be {:.15g} units, and at most {} are allowed", units, kMostUnits));
  }

  // A parameter that belongs in a table may have been put at the top level.
  [[noreturn]] void unknown_key(const Entry& entry) const {
    if (const toml::node* name = table_.get("quantity"); name != nullptr && name->is_string()) {
      const studies::Quantity* quantity = studies::find_quantity(name->value_or(""));
      if (quantity != nullptr && quantity->find(entry.key)) {
        refuse(entry.at.line, fmt::format("'{}' belongs in [settings], [grid] or [[points]]", entry.key));
      }
    }
    refuse(entry.at.line,
           fmt::format("unknown key '{}'{}", entry.key, runtime::suggestion(entry.key, kTopLevel)));
  }

  std::optional<std::string> text_of(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_string()) {
      refuse(node->source().begin.line, fmt::format("{} must be a text in quotes", key));
    }
    return node->value<std::string>();
  }

  const toml::table* table_of(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node != nullptr && !node->is_table()) {
      refuse(node->source().begin.line, fmt::format("'{}' must be a table, [{}]", key, key));
    }
    return node == nullptr ? nullptr : node->as_table();
  }

  void read_quantity() {
    std::vector<std::string> known;
    for (const studies::Quantity* one : studies::all_quantities()) known.push_back(one->name());
    const auto name = text_of("quantity");
    if (!name) refuse(1, fmt::format("there is no quantity (known: {})", fmt::join(known, ", ")));
    plan_.quantity = *name;
    quantity_ = studies::find_quantity(*name);
    if (quantity_ == nullptr) {
      refuse(table_.get("quantity")->source().begin.line,
             fmt::format("unknown quantity '{}'{}", *name, runtime::suggestion(*name, known)));
    }
    for (const studies::Parameter& one : quantity_->parameters()) names_.push_back(one.name);
  }

  std::size_t parameter_of(const std::string& key, const studies::Place& where) const {
    const auto found = quantity_->find(key);
    if (!found) {
      fail(where.text(),
           fmt::format("{} has no parameter '{}'{}", plan_.quantity, key,
                       key == "covariates" ? " (the covariates of a study are Gaussian; largo icl risk "
                                             "--covariates has other laws)"
                                           : runtime::suggestion(key, names_)));
    }
    return *found;
  }

  void read_settings(const toml::table& table, bool top) {
    for (const Entry& entry : entries_of(table)) {
      if (top && entry.key != "method" && entry.key != "seed" && entry.key != "tolerance") continue;
      const std::size_t k = parameter_of(entry.key, place(entry.at.line));
      if (given_[k] != 0) {
        refuse(entry.at.line, fmt::format("'{}' is given in line {} already", entry.key, given_[k]));
      }
      given_[k] = entry.at.line;
      plan_.settings[k] = studies::one_value(quantity_->parameters()[k], *entry.node, place(entry.at.line));
    }
  }

  void read_grid(const toml::table& table) {
    if (table.empty()) refuse(table.source().begin.line, "the grid is empty");
    for (const Entry& entry : entries_of(table)) {
      const std::size_t k = parameter_of(entry.key, place(entry.at.line));
      if (given_[k] != 0) {
        refuse(entry.at.line, fmt::format("'{}' is given in line {} already", entry.key, given_[k]));
      }
      given_[k] = entry.at.line;
      plan_.axes.push_back(
          {k, studies::all_values(quantity_->parameters()[k], *entry.node, place(entry.at.line))});
      check_size(grid_line());  // now, because the next axis may take as much memory as this one
    }
  }

  void read_points() {
    const toml::node* node = table_.get("points");
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr)
      refuse(node->source().begin.line, "'points' must be an array of tables, [[points]]");
    if (array->empty()) refuse(node->source().begin.line, "the list of points is empty");
    for (const toml::node& item : *array) {
      const toml::table* table = item.as_table();
      if (table == nullptr)
        refuse(item.source().begin.line, "each of the points must be a table, [[points]]");
      std::map<std::size_t, StudyValue> point;
      for (const Entry& entry : entries_of(*table)) {
        const std::size_t k = parameter_of(entry.key, place(entry.at.line));
        point[k] = studies::one_value(quantity_->parameters()[k], *entry.node, place(entry.at.line));
      }
      plan_.points.push_back(std::move(point));
      point_lines_.push_back(item.source().begin.line);
    }
  }

  void apply(const StudyChange& change) {
    const studies::Place where{fmt::format("set {}", change.key)};
    if (change.key == "title") {
      plan_.title = change.value;
      return;
    }
    const std::size_t k = parameter_of(change.key, where);
    std::vector<StudyValue> values = studies::values_of_text(quantity_->parameters()[k], change.value, where);
    const auto axis = std::find_if(plan_.axes.begin(), plan_.axes.end(),
                                   [&](const StudyAxis& one) { return one.parameter == k; });
    const bool varies = axis != plan_.axes.end();
    if (values.size() == 1) {  // it applies to every unit, whatever the points say
      for (auto& point : plan_.points) {
        if (varies || point.contains(k)) point[k] = values[0];
      }
    } else if (plan_.axes.empty() && !plan_.points.empty()) {
      fail(where.text(), "a list belongs to a [grid], and this study has [[points]] alone");
    }
    if (varies) {
      axis->values = std::move(values);
    } else if (values.size() == 1) {
      plan_.settings[k] = values[0];
      given_[k] = 1;
    } else {
      plan_.axes.push_back({k, std::move(values)});
    }
  }

  // Every required parameter must be given at every unit.
  void check_complete() const {
    if (plan_.axes.empty() && plan_.points.empty()) {
      refuse(1, "nothing to run: there is neither a [grid] nor [[points]]");
    }
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const studies::Parameter& one = quantity_->parameters()[k];
      if (!one.required || plan_.settings[k].index() != 0) continue;
      const bool axis = std::any_of(plan_.axes.begin(), plan_.axes.end(),
                                    [&](const StudyAxis& a) { return a.parameter == k; });
      if (!plan_.axes.empty() && !axis) {
        refuse(grid_line(), fmt::format("{} needs '{}', in [settings] or [grid]", plan_.quantity, one.name));
      }
      for (std::size_t i = 0; i < plan_.points.size(); ++i) {
        if (plan_.points[i].contains(k)) continue;
        refuse(point_lines_[i], fmt::format("{} needs '{}' at this point", plan_.quantity, one.name));
      }
    }
  }

  std::string file_;
  const toml::table& table_;
  const studies::Quantity* quantity_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::size_t> given_;  // line of each parameter in [settings] or [grid], or 0
  std::vector<std::size_t> point_lines_;
  StudyPlan plan_;
};

}  // namespace

StudyPlan studies::parse_study(const std::string& text, const std::string& file,
                               const std::vector<StudyChange>& changes) {
  try {
    const toml::table table = io::parse_toml(text, file);
    return Reader(file, table).read(changes);
  } catch (const io::TomlError& error) {
    fail(fmt::format("{}:{}", io::one_line(file), error.line()), io::one_line(error.what()));
  } catch (const InputError& error) {  // keys and texts of the file may contain line breaks
    throw InputError(io::one_line(error.what()));
  }
}

Study read_study(const std::filesystem::path& path, const std::vector<StudyChange>& changes) {
  return Study(studies::parse_study(read_text(path), path.string(), changes));
}

}  // namespace largo
