// The finished units of a store, one after another in the study's order. There may be ten million of them, so
// only their places are kept. The store is locked for a thousand rows at a time, so that a slow reader (a
// pager, say) does not block a process that writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "largo/studies/study_row.hpp"
#include "runtime/sha256.hpp"
#include "studies/sqlite.hpp"

namespace largo::studies {

/// What a store says about its study.
struct StudyHeader {
  std::string title, quantity, version;
  std::string configuration;  ///< JSON
  std::int64_t units = 0;
  double seed = 1;
  std::vector<std::string> parameters, results, axes;
};

struct StoredUnit {
  std::int64_t ordinal = 0;
  std::string id, inputs, message;  ///< the inputs are JSON
  bool done = false;
  std::vector<StudyResult> results;
};

class StudyRows {
 public:
  /// The units that are finished now. Throws what study_status() throws.
  explicit StudyRows(const std::filesystem::path& store);

  const StudyHeader& header() const { return header_; }
  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
  Database& database() { return *database_; }

  /// Throws what study_status() throws, and std::runtime_error if a unit has moved to another place since.
  void for_each(const std::function<void(const StoredUnit&)>& see);
  StudyRow row_of(const StoredUnit& unit) const;  ///< throws InputError if its inputs cannot be read
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  struct Place {
    std::int64_t ordinal, unit;
  };
  void read_header();

  std::filesystem::path store_;
  std::unique_ptr<Database> database_;
  StudyHeader header_;
  std::vector<Place> places_;
};

/// Computes StudyStatus::content, unit by unit.
class ContentHash {
 public:
  explicit ContentHash(const StudyHeader& header);
  void add(const StoredUnit& unit);
  std::string finish();

 private:
  runtime::Sha256 hash_;
};

}  // namespace largo::studies
