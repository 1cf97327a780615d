// A study: one quantity at many points, declared in a file and expanded into units of work.
//
//   title = "Errors over scale and length"
//   quantity = "concentration"     # moments, concentration, icl-risk, icl-flow or icl-threshold
//   seed = 1                       # method and tolerance belong here, too
//   [settings]                     # the same for all units
//   law = "gaussian"
//   d = 4
//   query = "1,0,0,0"
//   [grid]                         # every combination; the last parameter varies fastest
//   sigma = [0.5, 1, 2]
//   L = "1e1:1e6:13"
//   [[points]]                     # additional single points
//   sigma = 3
//   L = 100
//
// docs/studies.md lists the quantities and their parameters.
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

namespace studies {
class Quantity;
}

/// The identity of a unit: 128 bits of SHA-256 of everything that decides its results. That is the quantity,
/// its parameters including defaults, the seed, and the content of the files that parameters name and of
/// those that a mixture's file names, at any depth.
struct UnitId {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const UnitId&) const = default;
};

/// The values of one parameter of the grid.
struct StudyAxis {
  std::size_t parameter = 0;  ///< its index among the parameters of the quantity
  std::vector<StudyValue> values;
};

/// A study before it is expanded into units.
struct StudyPlan {
  std::string title;
  std::string quantity;
  std::vector<StudyValue> settings;  ///< one value for each parameter, with defaults filled in
  std::vector<StudyAxis> axes;       ///< the last one varies fastest
  std::vector<std::map<std::size_t, StudyValue>> points;  ///< what differs from the settings, by parameter
};

/// The option --set key=value. It gives a parameter this one value, also at the points. With a list or a
/// range the parameter becomes an axis of the grid, and the points stay as they are.
struct StudyChange {
  std::string key, value;
};

inline constexpr std::int64_t kMostUnits = 10'000'000;

class Study {
 public:
  /// InputError for an unknown quantity, or more than kMostUnits units. A unit that is named twice counts
  /// once, at its first place.
  explicit Study(StudyPlan plan);

  const StudyPlan& plan() const { return plan_; }
  const studies::Quantity& quantity() const { return *quantity_; }
  std::vector<std::string> parameters() const;  ///< names, in the quantity's order
  std::vector<std::string> results() const;

  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  /// The values of unit number `unit`. The units of the grid come first, then the points.
  std::vector<StudyValue> inputs(std::int64_t unit) const;
  const UnitId& id(std::int64_t unit) const { return ids_[static_cast<std::size_t>(unit)]; }
  /// The inputs as JSON, {"s":1,"L":"inf"}: the values that are given or have a default.
  std::string inputs_json(std::int64_t unit) const;
  /// The whole study with its defaults, and the names of parameters and results, as JSON.
  std::string configuration() const;
  /// InputError if a file that the identity of units depends on has changed since: new results would not be
  /// theirs.
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
  const studies::Quantity* quantity_;
  std::int64_t grid_size_ = 0;
  std::vector<Fragment> fixed_, fragments_;  // for the settings; for the values of all axes
  // A parameter and its text -> digests of the contents of the files that it names.
  std::map<std::pair<std::size_t, std::string>, std::string> files_;
  struct Version {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type time = {};
    bool operator==(const Version&) const = default;
  };
  static Version version_of(const std::string& file);
  std::map<std::string, Version> versions_;  // versions of all these files
  std::vector<UnitId> ids_;
  std::vector<std::int64_t> points_;  // the points that do not repeat a unit
};

/// Reads a study. Each mistake in the file is an InputError "file:line: what, and the closest name".
Study read_study(const std::filesystem::path& file, const std::vector<StudyChange>& changes = {});

}  // namespace largo
