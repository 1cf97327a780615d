#include "largo/studies/study.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"
#include "runtime/sha256.hpp"
#include "studies/quantity.hpp"
#include "studies/study_json.hpp"

namespace largo {
namespace {

constexpr const char* kStudy = "study";
// Begins the text whose hash is a unit's name. The number changes if the same parameters get another meaning.
constexpr const char* kUnitText = "largo unit 1\n";

const studies::Quantity* quantity_of(const StudyPlan& plan) {
  const studies::Quantity* quantity = studies::find_quantity(plan.quantity);
  if (quantity == nullptr) fail(kStudy, "quantity", fmt::format("'{}'", plan.quantity), "a known one");
  return quantity;
}

std::vector<std::string> files_of(studies::ParameterKind kind, const std::string& text) {
  if (kind == studies::ParameterKind::law) return measures::files_of_law(text);
  const auto file = kind == studies::ParameterKind::matrix ? measures::file_of_matrix(text) : std::nullopt;
  return file ? std::vector{*file} : std::vector<std::string>();
}

std::string digest_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  runtime::Sha256 hash;
  std::vector<char> buffer(1 << 16);
  while (file.read(buffer.data(), std::ssize(buffer)) || file.gcount() > 0) {
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  const auto digest = hash.finish();
  return runtime::to_hex(digest.data(), digest.size());
}

}  // namespace

Study::Study(StudyPlan plan) : plan_(std::move(plan)), quantity_(quantity_of(plan_)) {
  if (plan_.settings.size() != quantity_->parameters().size()) {
    fail(kStudy, "there must be a value, or nothing, for each parameter of the quantity");
  }
  double count = plan_.axes.empty() ? 0 : 1;
  for (StudyAxis& axis : plan_.axes) {
    std::vector<StudyValue> once;
    std::set<StudyValue> seen;
    for (StudyValue& value : axis.values) {
      if (seen.insert(value).second) once.push_back(std::move(value));
    }
    axis.values = std::move(once);
    count *= static_cast<double>(axis.values.size());
  }
  if (const double all = count + static_cast<double>(plan_.points.size());
      all > static_cast<double>(kMostUnits)) {
    fail(kStudy, fmt::format("this would be {:.15g} units, and at most {} are allowed", all, kMostUnits));
  }
  grid_size_ = static_cast<std::int64_t>(count);
  hash_files();
  make_fragments();
  ids_.reserve(static_cast<std::size_t>(grid_size_));
  for (std::int64_t i = 0; i < grid_size_; ++i) ids_.push_back(id_of(grid_text(i)));
  if (plan_.points.empty()) return;
  std::vector<UnitId> grid = ids_;
  std::sort(grid.begin(), grid.end());
  std::set<UnitId> seen;
  for (std::int64_t i = 0; i < std::ssize(plan_.points); ++i) {
    const UnitId id = id_of(point_text(place(grid_size_ + i)));
    if (std::binary_search(grid.begin(), grid.end(), id) || !seen.insert(id).second) continue;
    ids_.push_back(id);
    points_.push_back(i);
  }
}

std::vector<std::string> Study::parameters() const {
  std::vector<std::string> names;
  for (const studies::Parameter& one : quantity_->parameters()) names.push_back(one.name);
  return names;
}

std::vector<std::string> Study::results() const { return quantity_->results(); }

// The contents of the files that a text names, at any depth, are part of the unit's name, so that a changed
// file makes another unit.
void Study::hash_files() {
  std::map<std::string, std::string> known;  // the same file may occur in many texts
  const auto look_at = [&](std::size_t parameter, const StudyValue& value) {
    const std::string* text = std::get_if<std::string>(&value);
    if (text == nullptr || files_.contains({parameter, *text})) return;
    std::string digests;
    for (const std::string& file : files_of(quantity_->parameters()[parameter].kind, *text)) {
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(file, ignored)) continue;
      const auto [at, fresh] = known.try_emplace(file);
      if (fresh) {
        versions_[file] = version_of(file);
        at->second = digest_of_file(file);
      }
      digests += at->second;
    }
    if (!digests.empty()) files_.emplace(std::pair(parameter, *text), digests);
  };
  for (std::size_t k = 0; k < plan_.settings.size(); ++k) look_at(k, plan_.settings[k]);
  for (const StudyAxis& axis : plan_.axes) {
    for (const StudyValue& value : axis.values) look_at(axis.parameter, value);
  }
  for (const auto& point : plan_.points) {
    for (const auto& [parameter, value] : point) look_at(parameter, value);
  }
}

Study::Version Study::version_of(const std::string& file) {
  std::error_code ignored;  // if the file is gone, that is another version, too
  return {std::filesystem::file_size(file, ignored), std::filesystem::last_write_time(file, ignored)};
}

void Study::check_files() const {
  for (const auto& [file, version] : versions_) {
    if (version_of(file) == version) continue;
    fail(kStudy, fmt::format("{} has changed while the study was running; run it again", file));
  }
}

// `number` counts all points, including those that repeat a unit.
std::vector<StudyValue> Study::place(std::int64_t number) const {
  std::vector<StudyValue> values = plan_.settings;
  if (number >= grid_size_) {
    for (const auto& [parameter, value] : plan_.points[static_cast<std::size_t>(number - grid_size_)]) {
      values[parameter] = value;
    }
    return values;
  }
  for (std::size_t k = plan_.axes.size(); k-- > 0;) {
    const StudyAxis& axis = plan_.axes[k];
    const std::int64_t size = std::ssize(axis.values);
    values[axis.parameter] = axis.values[static_cast<std::size_t>(number % size)];
    number /= size;
  }
  return values;
}

std::vector<StudyValue> Study::inputs(std::int64_t unit) const {
  if (unit < grid_size_) return place(unit);
  return place(grid_size_ + points_[static_cast<std::size_t>(unit - grid_size_)]);
}

// A value's part in the text of its unit. Files add a digest of their contents after a newline, which the
// JSON never contains.
Study::Fragment Study::fragment_of(std::size_t parameter, const StudyValue& value) const {
  if (value.index() == 0) return {};
  Fragment fragment{
      fmt::format("\"{}\":{}", quantity_->parameters()[parameter].name, studies::json_text(value)), {}};
  const std::string* text = std::get_if<std::string>(&value);
  const auto file = text == nullptr ? files_.end() : files_.find({parameter, *text});
  if (file != files_.end()) fragment.files = fmt::format("\n{}", file->second);
  return fragment;
}

std::vector<Study::Fragment> Study::fragments_of(const std::vector<StudyValue>& inputs) const {
  std::vector<Fragment> fragments;
  for (std::size_t i = 0; i < inputs.size(); ++i) fragments.push_back(fragment_of(i, inputs[i]));
  return fragments;
}

void Study::make_fragments() {
  fixed_ = fragments_of(plan_.settings);
  for (const StudyAxis& axis : plan_.axes) {
    for (const StudyValue& value : axis.values) fragments_.push_back(fragment_of(axis.parameter, value));
  }
}

Study::UnitText Study::text_of(const std::vector<const Fragment*>& fragments) {
  UnitText text{"{", {}};
  for (const Fragment* fragment : fragments) {
    if (fragment->json.empty()) continue;
    if (text.json.size() > 1) text.json += ',';
    text.json += fragment->json;
    text.files += fragment->files;
  }
  text.json += '}';
  return text;
}

// Put together from prepared fragments, because there are many units.
Study::UnitText Study::grid_text(std::int64_t number) const {
  std::vector<const Fragment*> at(fixed_.size());
  for (std::size_t i = 0; i < fixed_.size(); ++i) at[i] = &fixed_[i];
  std::size_t begin = fragments_.size();
  for (std::size_t k = plan_.axes.size(); k-- > 0;) {
    const StudyAxis& axis = plan_.axes[k];
    const std::int64_t size = std::ssize(axis.values);
    begin -= axis.values.size();
    at[axis.parameter] = &fragments_[begin + static_cast<std::size_t>(number % size)];
    number /= size;
  }
  return text_of(at);
}

Study::UnitText Study::point_text(const std::vector<StudyValue>& inputs) const {
  const std::vector<Fragment> fragments = fragments_of(inputs);
  std::vector<const Fragment*> at;
  for (const Fragment& fragment : fragments) at.push_back(&fragment);
  return text_of(at);
}

std::string Study::inputs_json(std::int64_t unit) const {
  if (unit < grid_size_) return grid_text(unit).json;
  return point_text(inputs(unit)).json;
}

UnitId Study::id_of(const UnitText& text) const {
  runtime::Sha256 hash;
  hash.add(kUnitText);
  hash.add(plan_.quantity);
  hash.add("\n");
  hash.add(text.json);
  hash.add(text.files);
  const runtime::Sha256::Digest digest = hash.finish();
  UnitId id;
  std::memcpy(id.bytes.data(), digest.data(), id.bytes.size());
  return id;
}

std::string Study::configuration() const {
  io::Json json;
  json["title"] = plan_.title;
  json["quantity"] = plan_.quantity;
  const auto names = parameters();
  json["settings"] = io::Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plan_.settings[i].index() != 0) json["settings"][names[i]] = studies::value_json(plan_.settings[i]);
  }
  json["grid"] = io::Json::object();
  for (const StudyAxis& axis : plan_.axes) {
    json["settings"].erase(names[axis.parameter]);
    io::Json& values = json["grid"][names[axis.parameter]] = io::Json::array();
    for (const StudyValue& value : axis.values) values.push_back(studies::value_json(value));
  }
  json["points"] = io::Json::array();
  for (const auto& point : plan_.points) {
    io::Json one = io::Json::object();
    for (const auto& [parameter, value] : point) one[names[parameter]] = studies::value_json(value);
    json["points"].push_back(std::move(one));
  }
  json["parameters"] = names;
  json["results"] = results();
  return io::to_text(json);
}

}  // namespace largo
