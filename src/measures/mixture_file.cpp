#include "measures/mixture_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "io/parse_toml.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"

namespace largo::measures {
namespace {

Vector vector_of(const std::string& where, const toml::node& node) {
  const toml::array* const array = node.as_array();
  if (array == nullptr || array->empty())
    fail("law", fmt::format("{}: shift must be an array of numbers", where));
  Vector values(static_cast<Eigen::Index>(array->size()));
  Eigen::Index i = 0;
  for (const toml::node& item : *array) {
    const auto number = item.value<double>();
    if (!number) fail("law", fmt::format("{}: shift must be an array of numbers", where));
    values[i++] = *number;
  }
  return values;
}

MixtureComponent component_of(const std::string& file, const toml::node& node) {
  const std::string where = fmt::format("{}:{}", file, node.source().begin.line);
  const toml::table* const table = node.as_table();
  if (table == nullptr) fail("law", fmt::format("{}: component must be a table", where));
  for (const auto& [key, value] : *table) {
    const std::string_view name = key;
    if (name != "weight" && name != "law" && name != "shift") {
      fail("law", fmt::format("{}: a component has no key {}; it has weight, law, shift", where,
                              io::in_quotes(name)));
    }
  }
  const auto weight = (*table)["weight"].value<double>();
  const auto law = (*table)["law"].value<std::string>();
  if (!weight || !law)
    fail("law", fmt::format("{}: a component needs a number weight and a text law", where));
  if (io::one_line(*law) != *law)
    fail("law", fmt::format("{}: law is {}, must be one line", where, io::in_quotes(*law)));
  MixtureComponent component{*weight, *law};
  if (const toml::node* const shift = table->get("shift")) component.shift = vector_of(where, *shift);
  return component;
}

}  // namespace

std::vector<MixtureComponent> parse_mixture(const std::string& text, const std::string& file) {
  toml::table table;
  try {
    table = io::parse_toml(text, file);
  } catch (const io::TomlError& error) {
    fail("law", fmt::format("{}:{}: {}", file, error.line(), error.what()));
  }
  for (const auto& [key, value] : table) {
    if (std::string_view(key) == "component") continue;
    fail("law", fmt::format("{}:{}: a mixture has no key {}; it has [[component]] with weight, law, shift",
                            file, key.source().begin.line, io::in_quotes(std::string_view(key))));
  }
  const toml::array* const nodes = table["component"].as_array();
  if (nodes == nullptr || nodes->empty()) {
    fail("law", fmt::format("{}: no [[component]] with weight and law", file));
  }
  std::vector<MixtureComponent> components;
  for (const toml::node& node : *nodes) components.push_back(component_of(file, node));
  return components;
}

std::vector<MixtureComponent> read_mixture_file(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    fail("law", fmt::format("mixture: '{}' is not a file that can be read", file));
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) fail("law", fmt::format("mixture: '{}' is not a file that can be read", file));
  return parse_mixture(text, file);
}

}  // namespace largo::measures
