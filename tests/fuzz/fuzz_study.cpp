// Reads the input as the text of a study file, as that of a mixture's file, and as a value given to --set.
#include <cstdlib>
#include <string>

#include "largo/studies/study.hpp"
#include "measures/mixture_file.hpp"
#include "studies/parse_study.hpp"
#include "touch.hpp"

namespace {

// "1:2:10000000" is allowed and takes a second, but there is nothing to find in it.
bool has_long_range(const std::string& text) {
  constexpr double kMost = 10'000;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    const double count = std::strtod(text.c_str() + at + 1, nullptr);
    if (count > kMost) return true;
  }
  return false;
}

void check(const largo::StudyPlan& plan) {
  largo::fuzz::require(!plan.settings.empty() && !(plan.axes.empty() && plan.points.empty()));
  for (const auto& axis : plan.axes) {
    largo::fuzz::require(axis.parameter < plan.settings.size() && !axis.values.empty());
  }
  for (const auto& point : plan.points) {
    for (const auto& [parameter, value] : point) largo::fuzz::require(parameter < plan.settings.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (has_long_range(text)) return 0;
  largo::fuzz::attempt([&] { check(largo::studies::parse_study(text, "fuzz.toml")); });
  largo::fuzz::attempt([&] {
    const std::string study =
        "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nL = 10\n";
    const char* const keys[] = {"L", "law", "title", "d"};
    check(largo::studies::parse_study(study, "fuzz.toml", {{keys[size % 4], text}}));
  });
  largo::fuzz::attempt([&] {
    for (const auto& component : largo::measures::parse_mixture(text, "fuzz.toml")) {
      largo::fuzz::require(component.law.find('\n') == std::string::npos);
    }
  });
  return 0;
}
