// A study: one quantity at many points, declared in a file and expanded into units of work.
//
//   title = "Errors over scale and length"
//   quantity = "concentration"     # moments, concentration, icl-risk, icl-flow or icl-threshold
//   seed = 1                       # method and tolerance stand here, too
//   [settings]                     # what is the same everywhere
//   law = "gaussian"
//   d = 4
//   query = "1,0,0,0"
//   [grid]                         # every combination, the last one fastest
//   sigma = [0.5, 1, 2]
//   L = "1e1:1e6:13"
//   [[points]]                     # and single points
//   sigma = 3
//   L = 100
//
// docs/studies.md has the quantities and their parameters.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "largo/studies/study_row.hpp"

namespace largo {

class Quantity;

/// 128 bits of SHA-256 of all that decides a unit's results: the quantity, its parameters with those left at
/// their default, the seed, and the content of the files that parameters name,
/// and of those that a mixture's file names, at any depth.
struct UnitId {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const UnitId&) const = default;
};

/// The values of one parameter of the grid.
struct StudyAxis {
  std::size_t parameter = 0;  ///< its place among the quantity's
  std::vector<StudyValue> values;
};

/// A study before its expansion.
struct StudyPlan {
  std::string title;
  std::string quantity;
  std::vector<StudyValue> settings;                       ///< one for each parameter, defaults filled in
  std::vector<StudyAxis> axes;                            ///< the last one is fastest
  std::vector<std::map<std::size_t, StudyValue>> points;  ///< what differs from the settings, by parameter
};

/// --set key=value: a parameter becomes this one value, at the points, too; or, with a list or a range, an
/// axis of the grid, beside which the points stay as they are.
struct StudyChange {
  std::string key, value;
};

inline constexpr std::int64_t kMostUnits = 10'000'000;

class Study {
 public:
  /// InputError for an unknown quantity, or more than kMostUnits units. A unit that is named twice is one, at
  /// its first place.
  explicit Study(StudyPlan plan);

  const StudyPlan& plan() const { return plan_; }
  const Quantity& quantity() const { return *quantity_; }
  std::vector<std::string> parameters() const;  ///< names, in the quantity's order
  std::vector<std::string> results() const;

  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  /// Units are numbered: the grid, then the points.
  std::vector<StudyValue> inputs(std::int64_t unit) const;
  const UnitId& id(std::int64_t unit) const { return ids_[static_cast<std::size_t>(unit)]; }
  /// {"s":1,"L":"inf"}: what is given or has a default.
  std::string inputs_json(std::int64_t unit) const;
  /// The whole study with its defaults, and the names of parameters and results, as JSON.
  std::string configuration() const;
  /// InputError where a file that units are named after has changed since: what they find now is not theirs.
  void check_files() const;

 private:
  std::vector<StudyValue> place(std::int64_t number) const;
  struct Fragment {
    std::string json;   // "\"s\":1", or empty
    std::string files;  // digest of the files it names
  };
  using UnitText = Fragment;
  Fragment fragment_of(std::size_t parameter, const StudyValue& value) const;
  std::vector<Fragment> fragments_of(const std::vector<StudyValue>& inputs) const;
  static UnitText text_of(const std::vector<const Fragment*>& fragments);
  UnitText grid_text(std::int64_t number) const;
  UnitText point_text(const std::vector<StudyValue>& inputs) const;
  UnitId id_of(const UnitText& text) const;
  void hash_files();
  void make_fragments();

  StudyPlan plan_;
  const Quantity* quantity_;
  std::int64_t grid_size_ = 0;
  std::vector<Fragment> fixed_, fragments_;  // of the settings; of the values of all axes
  // A parameter and its text -> digests of what the files hold that it names.
  std::map<std::pair<std::size_t, std::string>, std::string> files_;
  struct Version {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type time = {};
    bool operator==(const Version&) const = default;
  };
  static Version version_of(const std::string& file);
  std::map<std::string, Version> versions_;  // of all these files
  std::vector<UnitId> ids_;
  std::vector<std::int64_t> points_;  // the points that are no repetition
};

/// Reads a study. Each mistake in the file is an InputError "file:line: what, and the closest name".
Study read_study(const std::filesystem::path& file, const std::vector<StudyChange>& changes = {});

}  // namespace largo
