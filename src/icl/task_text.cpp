#include "icl/task_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/parse_toml.hpp"
#include "io/text.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/closest_name.hpp"

namespace largo::icl {
namespace {

using Keys = std::vector<std::string>;

const Keys kComponentKeys = {"weight", "law", "shift"};
constexpr std::string_view kLawForms =
    "a law: a text such as 'gaussian', or an array of tables {weight, law, shift} for a mixture";

// The keys of a kind of task, in the order in which messages list them.
Keys keys_of(TaskKind kind) {
  Keys keys = {"kind", "dimension", "loss", "score_scale"};
  const Keys own = kind == TaskKind::regression
                       ? Keys{"covariates", "queries", "prior", "noise", "noise_scale", "outputs"}
                       : Keys{"mean_scale", "covariance"};
  keys.insert(keys.end(), own.begin(), own.end());
  return keys;
}

bool contains(const Keys& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string_view name_of_kind(TaskKind kind) {
  return kind == TaskKind::regression ? "regression" : "classification";
}

std::string shown_node(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (const auto* text = node.as_string()) return fmt::format("the text {}", io::in_quotes(text->get()));
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return "a date or time";
}

// The number of a node. (value() of toml++ takes true for 1, and has none for integers that no double holds.)
std::optional<double> number_in(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  if (const auto* number = node.as_floating_point()) return number->get();
  return std::nullopt;
}

class TaskReader {
 public:
  TaskReader(const std::string& file, const toml::table& table) : file_(file), table_(table) {}

  TaskText read() {
    TaskText task;
    task.kind = read_kind();
    check_keys(task.kind);
    if (!table_.contains("dimension")) {
      refuse(1, fmt::format("there is no dimension; give a whole number from 1 to {}, as in dimension = 5",
                            kMostProblemDimensions));
    }
    const bool regression = task.kind == TaskKind::regression;
    task.dimension = whole("dimension", kMostProblemDimensions).value();
    task.loss = word("loss", "a loss: squared, huber:DELTA, absolute or logistic")
                    .value_or(TaskWord{regression ? "squared" : "logistic"});
    task.score_scale = number("score_scale", "a finite number").value_or(1);
    if (regression) {
      read_regression(task);
    } else {
      task.mean_scale = number("mean_scale", "a finite number above 0").value_or(1);
      if (task.mean_scale <= 0) wrong("mean_scale", "a finite number above 0");
      task.covariance =
          word("covariance", "the name of a matrix, such as 'toeplitz:0.5'").value_or(TaskWord{"identity"});
    }
    return task;
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& message) const {
    fail(fmt::format("{}:{}", file_, line), message);
  }

  std::size_t line_of(std::string_view key) const { return table_.find(key)->first.source().begin.line; }

  [[noreturn]] void wrong(std::string_view key, std::string_view requirement) const {
    refuse(line_of(key), fmt::format("{} is {}, must be {}", key, shown_node(*table_.get(key)), requirement));
  }

  TaskKind read_kind() const {
    const toml::node* const node = table_.get("kind");
    if (node == nullptr) return TaskKind::regression;
    for (const TaskKind kind : {TaskKind::regression, TaskKind::classification}) {
      if (node->is_string() && node->as_string()->get() == name_of_kind(kind)) return kind;
    }
    wrong("kind", "'regression' or 'classification'");
  }

  // toml++ sorts keys by name; the mistake that comes first in the file is the one to report.
  void check_keys(TaskKind kind) const {
    const Keys known = keys_of(kind);
    const toml::key* first = nullptr;
    for (const auto& [key, node] : table_) {
      if (contains(known, key.str())) continue;
      if (first == nullptr || key.source().begin.line < first->source().begin.line) first = &key;
    }
    if (first == nullptr) return;
    const TaskKind other = kind == TaskKind::regression ? TaskKind::classification : TaskKind::regression;
    const bool others = contains(keys_of(other), first->str());
    const auto meant = runtime::closest_name(first->str(), known);
    std::string hint;
    if (others) {
      hint = fmt::format(" (that is a key of kind = '{}')", name_of_kind(other));
    } else if (meant) {
      hint = fmt::format(" (did you mean {}?)", *meant);
    }
    refuse(first->source().begin.line,
           fmt::format("a {} has no key {}{}; it has {}", name_of_kind(kind), io::in_quotes(first->str()),
                       hint, fmt::join(known, ", ")));
  }

  std::optional<double> number(std::string_view key, std::string_view requirement) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = number_in(*node);
    if (!value || !std::isfinite(*value)) wrong(key, requirement);
    return value;
  }

  std::optional<std::ptrdiff_t> whole(std::string_view key, std::ptrdiff_t most) const {
    const std::string requirement = fmt::format("a whole number from 1 to {}", most);
    const auto value = number(key, requirement);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value < 1 || *value > static_cast<double>(most)) {
      wrong(key, requirement);
    }
    return static_cast<std::ptrdiff_t>(*value);
  }

  std::optional<TaskWord> word(std::string_view key, std::string_view requirement) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto* const text = node->as_string();
    if (text == nullptr || text->get().empty()) wrong(key, requirement);
    check_one_line(line_of(key), key, text->get());
    return TaskWord{text->get(), line_of(key)};
  }

  void check_one_line(std::size_t line, std::string_view key, const std::string& text) const {
    if (io::one_line(text) != text) {
      refuse(line, fmt::format("{} is {}, must be one line", key, io::in_quotes(text)));
    }
  }

  void read_regression(TaskText& task) const {
    task.outputs = whole("outputs", kMostOutputs).value_or(1);
    task.covariates = law("covariates", task.dimension);
    task.queries = law("queries", task.dimension);
    task.prior = law("prior", task.dimension);
    task.noise = law("noise", task.outputs);
    task.noise_scale = law("noise_scale", 1);
    if (task.noise_scale.given() && !task.noise.given()) {
      refuse(line_of("noise_scale"),
             "noise_scale needs noise: give the law of the noise, as in noise = 'gaussian'");
    }
  }

  TaskLaw law(std::string_view key, std::ptrdiff_t size) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    const toml::array* const array = node->as_array();
    if (array == nullptr) return {word(key, kLawForms).value(), {}};
    if (array->empty()) refuse(line_of(key), fmt::format("{} is an empty array, must be {}", key, kLawForms));
    TaskLaw law{{"", line_of(key)}, {}};
    for (const toml::node& item : *array) law.mixture.push_back(component(key, item, size));
    return law;
  }

  TaskComponent component(std::string_view key, const toml::node& node, std::ptrdiff_t size) const {
    const std::size_t line = node.source().begin.line;
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      refuse(line, fmt::format("a component of {} is {}, must be a table {{weight, law, shift}}", key,
                               shown_node(node)));
    }
    for (const auto& [name, value] : *table) {
      if (contains(kComponentKeys, name.str())) continue;
      refuse(name.source().begin.line,
             fmt::format("a component of {} has no key {}; it has weight, law, shift", key,
                         io::in_quotes(name.str())));
    }
    const toml::node* const law = table->get("law");
    const toml::node* const weight = table->get("weight");
    if (weight == nullptr || law == nullptr || !law->is_string() || law->as_string()->get().empty()) {
      refuse(line, fmt::format("a component of {} needs a number weight and a text law", key));
    }
    const auto share = number_in(*weight);
    if (!share || !std::isfinite(*share) || *share < 0) {
      refuse(weight->source().begin.line,
             fmt::format("a weight of {} is {}, must be a finite number of at least 0", key,
                         shown_node(*weight)));
    }
    const std::size_t law_line = law->source().begin.line;
    check_one_line(law_line, fmt::format("a law of {}", key), law->as_string()->get());
    return {*share, {law->as_string()->get(), law_line}, shift(key, table->get("shift"), size)};
  }

  std::optional<Vector> shift(std::string_view key, const toml::node* node, std::ptrdiff_t size) const {
    if (node == nullptr) return std::nullopt;
    const std::size_t line = node->source().begin.line;
    const std::string requirement = fmt::format("an array of {} finite numbers", size);
    const toml::array* const array = node->as_array();
    if (array == nullptr) {
      refuse(line, fmt::format("a shift of {} is {}, must be {}", key, shown_node(*node), requirement));
    }
    if (std::ssize(*array) != size) {
      refuse(line, fmt::format("a shift of {} has size {}, must be {}", key, array->size(), requirement));
    }
    Vector values(size);
    for (Eigen::Index i = 0; i < size; ++i) {
      const toml::node& item = *array->get(static_cast<std::size_t>(i));
      const auto value = number_in(item);
      if (!value || !std::isfinite(*value)) {
        refuse(item.source().begin.line,
               fmt::format("a shift of {} contains {}, must be {}", key, shown_node(item), requirement));
      }
      values[i] = *value;
    }
    return values;
  }

  const std::string& file_;
  const toml::table& table_;
};

}  // namespace

TaskText parse_task(const std::string& text, const std::string& file) {
  const std::string name = io::one_line(file);
  try {
    const toml::table table = io::parse_toml(text, name);
    return TaskReader(name, table).read();
  } catch (const io::TomlError& error) {
    fail(fmt::format("{}:{}", name, error.line()), io::one_line(error.what()));
  }
}

}  // namespace largo::icl
