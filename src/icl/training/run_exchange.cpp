#include "icl/training/run_exchange.hpp"
#include "icl/training/fingerprint.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {
namespace {

using Numbers = runtime::AlignedVector<double>;

// Everything is passed as doubles, which ranks can gather; the same function writes and reads a run.
class Writer {
 public:
  explicit Writer(Numbers& to) : to_(to) {}
  void number(double& x) { to_.push_back(x); }

 private:
  Numbers& to_;
};

class Reader {
 public:
  explicit Reader(const double* from) : from_(from) {}
  void number(double& x) { x = *from_++; }

 private:
  const double* from_;
};

void pass(auto& archive, double& x) { archive.number(x); }

template <typename Whole>
void pass_whole(auto& archive, Whole& whole) {
  auto number = static_cast<double>(whole);
  archive.number(number);
  whole = static_cast<Whole>(number);
}

template <typename Values>
void pass_values(auto& archive, Values& values) {
  Eigen::Index rows = values.rows(), columns = values.cols();
  pass_whole(archive, rows);
  pass_whole(archive, columns);
  values.resize(rows, columns);
  for (double& x : values.reshaped()) archive.number(x);
}

void pass(auto& archive, DescentNoise& noise) {
  pass(archive, noise.excess);
  pass(archive, noise.spread);
}

void pass(auto& archive, PathDistance& distance) {
  for (TrajectoryDistance* one : {&distance.parameters, &distance.predictions}) {
    pass(archive, one->value);
    pass(archive, one->time);
  }
}

template <typename Value>
void pass(auto& archive, std::optional<Value>& value) {
  bool given = value.has_value();
  pass_whole(archive, given);
  if (given && !value) value.emplace();
  if (!given) value.reset();
  if (given) pass(archive, *value);
}

void pass(auto& archive, std::string& text) {
  std::size_t size = text.size();
  pass_whole(archive, size);
  text.resize(size);
  for (char& c : text) pass_whole(archive, c);
}

void pass(auto& archive, Trajectory& path) {
  std::size_t size = path.points().size();
  pass_whole(archive, size);
  Trajectory copy;
  for (std::size_t i = 0; i < size; ++i) {
    const bool known = i < path.points().size();
    TrajectoryPoint point = known ? path.points()[i] : TrajectoryPoint();
    Matrix values = known ? path.values()[i] : Matrix();
    pass(archive, point.time);
    pass_values(archive, point.parameters);
    pass(archive, point.risk);
    pass(archive, point.gradient_norm);
    pass_values(archive, values);
    copy.add(std::move(point), std::move(values));
  }
  path = std::move(copy);
}

void pass(auto& archive, TrainingRun& run, RunPart part) {
  if (part == RunPart::beside_flow) {
    pass(archive, run.to_flow);
    pass(archive, run.noise);
    pass(archive, run.predicted_noise);
    pass(archive, run.no_prediction);
    return;
  }
  pass(archive, run.path);
  pass_values(archive, run.last.U);
  pass_values(archive, run.last.v);
  pass(archive, run.final_risk.value);
  pass(archive, run.final_risk.error);
  std::size_t lengths = run.evaluated.size();
  pass_whole(archive, lengths);
  run.evaluated.resize(lengths);
  for (Estimate& risk : run.evaluated) {
    pass(archive, risk.value);
    pass(archive, risk.error);
  }
  pass(archive, run.record_error);
  std::size_t average = run.average ? 1 + static_cast<std::size_t>(*run.average) : 0;
  pass_whole(archive, average);
  if (average > 0) run.average = static_cast<PromptAverage>(average - 1);
  pass_whole(archive, run.stationary);
  pass_whole(archive, run.flat);
  pass_whole(archive, run.steps);
  pass(archive, run.balance_drift);
  pass(archive, run.to_limit_flow);
  pass(archive, run.to_theorem);
  pass(archive, run.gradient_gap);
}

}  // namespace

void exchange_runs(std::vector<TrainingRun>& runs, const std::vector<int>& owners, RunPart part,
                   const Execution& execution) {
  if (execution.ranks == nullptr || execution.ranks->size() == 1) return;
  Numbers mine;
  Writer writer(mine);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (owners[i] == execution.ranks->rank()) pass(writer, runs[i], part);
  }
  const Numbers all = runtime::gather_rows(std::move(mine), false, execution);
  Reader reader(all.data());
  for (int rank = 0; rank < execution.ranks->size(); ++rank) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (owners[i] == rank) pass(reader, runs[i], part);
    }
  }
}

void check_same_on_all(const TrainingPlan& plan, const Execution& execution) {
  if (execution.ranks == nullptr || execution.ranks->size() == 1) return;
  const std::uint64_t mine = plan_fingerprint(plan);
  // In halves, which doubles can hold.
  const Numbers all = runtime::gather_rows(
      {static_cast<double>(mine >> 32U), static_cast<double>(mine & 0xffffffffU)}, false, execution);
  bool same = true;
  for (std::size_t i = 2; i < all.size(); ++i) same = same && all[i] == all[i - 2];
  if (!same) fail("train", "the processes were given different plans: start all with the same arguments");
}

}  // namespace largo::icl
