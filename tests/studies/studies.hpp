// Shared by the tests of studies: a folder of their own, and study files in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "largo/studies/study.hpp"
#include "largo/studies/study_table.hpp"

namespace largo::test {

class StudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("largo-" + std::string(test->name()) + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  Study study(const std::string& text, const std::vector<StudyChange>& changes = {}) const {
    return read_study(write("study.toml", text), changes);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string csv_of(const std::filesystem::path& store) {
  std::string all;
  write_study_csv(store, [&](std::string_view text) { all += text; });
  return all;
}

inline std::string json_of(const std::filesystem::path& store) {
  std::string all;
  write_study_json(store, [&](std::string_view text) { all += text; });
  return all;
}

inline const std::string kMoments = "quantity = 'moments'\n[grid]\ns = [0.5, 1]\nL = [10, 100, inf]\n";

}  // namespace largo::test
