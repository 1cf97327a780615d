// The state of a descent as tensors: "state" (the numbers below), "parameters", "momentum", "squares", and
// "records", one a row: step, time, loss, parameters.
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "largo/io/safetensors.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo {
namespace {

constexpr const char* kName = "load_descent";
constexpr Eigen::Index kNumbers = 7;        // in "state"
constexpr Eigen::Index kRecordNumbers = 3;  // before the parameters in a row of "records"
constexpr double kMostSteps = 0x1p53;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view reason) {
  fail(kName, fmt::format("{}: not the state of a descent: {}", path.native(), reason));
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), file_(SafetensorsFile::open(path)) {}

  // A tensor without rows or columns need not be there; columns < 0: any number of them.
  Matrix read(const char* name, Eigen::Index rows, Eigen::Index columns) const {
    if (!file_.contains(name)) refuse(path_, fmt::format("it has no tensor {}", name));
    Matrix values = file_.matrix(name);
    const bool fits = (rows < 0 || values.rows() == rows) && (columns < 0 || values.cols() == columns);
    if (!fits) {
      refuse(path_, fmt::format("{} is {} x {}", name, values.rows(), values.cols()));
    }
    if (!values.allFinite()) refuse(path_, fmt::format("{} has a number that is not finite", name));
    return values;
  }
  bool contains(const char* name) const { return file_.contains(name); }

  std::int64_t count(double value, const char* name) const {
    if (!(value >= 0 && value < kMostSteps && value == std::floor(value))) {
      refuse(path_, fmt::format("{} is {}, which is no count", name, value));
    }
    return static_cast<std::int64_t>(value);
  }

 private:
  const std::filesystem::path& path_;
  SafetensorsFile file_;
};

}  // namespace

void save_descent(const std::filesystem::path& path, const DescentState& state) {
  Matrix numbers(1, kNumbers);
  numbers << static_cast<double>(state.step), state.time, state.momentum_power, state.squares_power,
      state.first_loss, state.loss_sum, static_cast<double>(state.loss_count);
  std::vector<NamedMatrix> tensors{{"state", numbers}, {"parameters", state.parameters.transpose()}};
  if (state.momentum.size() > 0) tensors.push_back({"momentum", state.momentum.transpose()});
  if (state.squares.size() > 0) tensors.push_back({"squares", state.squares.transpose()});
  if (!state.records.empty()) {
    Matrix rows(static_cast<Eigen::Index>(state.records.size()), kRecordNumbers + state.parameters.size());
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      const DescentRecord& record = state.records[static_cast<std::size_t>(i)];
      rows.row(i) << static_cast<double>(record.step), record.time, record.loss,
          record.parameters.transpose();
    }
    tensors.push_back({"records", rows});
  }
  write_safetensors(path, tensors);
}

DescentState load_descent(const std::filesystem::path& path) {
  const Reader file(path);
  const Matrix numbers = file.read("state", 1, kNumbers);
  DescentState state;
  state.step = file.count(numbers(0), "step");
  state.time = numbers(1);
  state.momentum_power = numbers(2);
  state.squares_power = numbers(3);
  state.first_loss = numbers(4);
  state.loss_sum = numbers(5);
  state.loss_count = file.count(numbers(6), "loss_count");
  state.parameters = file.read("parameters", 1, -1).transpose();
  const Eigen::Index size = state.parameters.size();
  if (file.contains("momentum")) state.momentum = file.read("momentum", 1, size).transpose();
  if (file.contains("squares")) state.squares = file.read("squares", 1, size).transpose();
  if (file.contains("records")) {
    const Matrix rows = file.read("records", -1, kRecordNumbers + size);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      state.records.push_back({file.count(rows(i, 0), "step of a record"), rows(i, 1),
                               rows.row(i).tail(size).transpose(), rows(i, 2)});
    }
  }
  return state;
}

}  // namespace largo
