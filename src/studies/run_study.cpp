#include "largo/studies/run_study.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "runtime/parallel.hpp"
#include "studies/parameter_values.hpp"
#include "studies/quantity.hpp"
#include "studies/store.hpp"
#include "studies/unit_pool.hpp"

namespace largo {
namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;
using std::chrono::milliseconds;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool first_rank(const Execution& execution) {
  return execution.ranks == nullptr || execution.ranks->rank() == 0;
}

// Holds finished units on their way into the store: many go into a transaction, and none is held for long.
class Writer {
 public:
  Writer(studies::StudyStore& store, const Study& study) : store_(store), study_(study) {}

  void add(std::vector<studies::FinishedUnit> units) {
    std::move(units.begin(), units.end(), std::back_inserter(held_));
  }

  /// Writes the held units if there are many, or if they have been held for ten times as long as the last
  /// transaction took.
  void write_some() {
    if (held_.empty() || (std::ssize(held_) < kMost && Clock::now() < due_)) return;
    write();
  }

  void write_all() {
    const auto start = Clock::now();
    while (!held_.empty()) {
      write();
      if (!held_.empty() && Clock::now() - start > kPatience) {
        throw std::runtime_error("the store is being read by another program, which does not let go of it");
      }
    }
  }

 private:
  static constexpr std::ptrdiff_t kMost = 20000;
  static constexpr Duration kLongest = milliseconds(250);
  static constexpr Duration kPatience = std::chrono::seconds(60);

  void write() {
    const auto start = Clock::now();
    study_.check_files();  // the held results may be those of files that have changed since
    if (store_.write(held_)) held_.clear();
    const auto end = Clock::now();
    due_ = end + std::max<Duration>(kLongest, 10 * (end - start));
  }

  studies::StudyStore& store_;
  const Study& study_;
  std::vector<studies::FinishedUnit> held_;
  Clock::time_point due_ = Clock::now();
};

// Decides which process gets which units, from what all processes know, so that each computes all of it.
class Dealer {
 public:
  Dealer(std::vector<std::int64_t> units, int processes)
      : units_(std::move(units)), out_(static_cast<std::size_t>(processes)) {}

  void note(const std::vector<studies::UnitReport>& reports) {
    for (std::size_t r = 0; r < reports.size(); ++r) out_[r] -= std::ssize(reports[r].finished);
  }

  /// Gives each process work for some four times as long as the last exchange took; returns that of `mine`.
  std::vector<std::int64_t> deal(const std::vector<studies::UnitReport>& reports, std::size_t mine) {
    std::vector<std::int64_t> dealt;
    for (std::size_t r = 0; r < reports.size(); ++r) {
      const std::int64_t wanted =
          reports[r].threads + 4 * std::ssize(reports[r].finished) - reports[r].waiting;
      const std::int64_t count = std::clamp<std::int64_t>(wanted, 0, std::ssize(units_) - next_);
      const auto from = units_.begin() + next_;
      if (r == mine) dealt.assign(from, from + count);
      next_ += count;
      out_[r] += count;
    }
    return dealt;
  }

  bool are_more() const { return next_ < std::ssize(units_); }
  bool finished() const {
    return !are_more() && std::all_of(out_.begin(), out_.end(), [](std::int64_t n) { return n == 0; });
  }

 private:
  std::vector<std::int64_t> units_;
  std::ptrdiff_t next_ = 0;
  std::vector<std::int64_t> out_;  // units dealt to each process and not finished
};

bool asked_to_stop(const Execution& execution) {
  return execution.stop != nullptr && execution.stop->load(std::memory_order_relaxed);
}

// Exchanges are frequent at first, when nobody knows how long a unit takes.
Duration time_between(Clock::time_point start) {
  return std::min<Duration>(milliseconds(50), milliseconds(1) + (Clock::now() - start) / 8);
}

struct Progress {
  std::int64_t finished = 0;
  bool stopped = false;
};

Progress run_units(const Study& study, std::vector<std::int64_t> pending, studies::StudyStore* store,
                   const StudyRunPlan& plan, const Execution& execution, std::int64_t before) {
  const int processes = execution.ranks == nullptr ? 1 : execution.ranks->size();
  const auto mine = static_cast<std::size_t>(execution.ranks == nullptr ? 0 : execution.ranks->rank());
  const auto share = (std::ssize(pending) + processes - 1) / processes;
  const int threads = runtime::thread_count(execution);
  const int workers =
      execution.device != nullptr
          ? 1
          : static_cast<int>(std::min<std::ptrdiff_t>(threads, std::max<std::ptrdiff_t>(1, share)));
  const std::size_t names = study.quantity().results().size();
  Dealer dealer(std::move(pending), processes);
  std::optional<Writer> writer;
  if (store != nullptr) writer.emplace(*store, study);
  studies::UnitPool pool(study, workers, std::max(1, threads / workers), execution.device);
  const auto start = Clock::now();
  auto [finished, stopped] = Progress{};
  while (!dealer.finished() && !stopped) {
    pool.wait(dealer.are_more(), time_between(start));
    std::vector<studies::UnitReport> reports =
        studies::exchange({asked_to_stop(execution), pool.waiting(), workers, pool.take()}, names, execution);
    dealer.note(reports);
    if (dealer.are_more()) pool.add(dealer.deal(reports, mine));
    for (studies::UnitReport& report : reports) {
      stopped = stopped || report.stop;
      finished += std::ssize(report.finished);
      if (writer) writer->add(std::move(report.finished));
    }
    if (writer) {
      stopped || dealer.finished() ? writer->write_all() : writer->write_some();
      if (plan.progress) plan.progress(before + finished, study.size());
    }
  }
  return {finished, stopped};
}

// Refuses a device that would have nothing to do, which is a mistake.
void check_device(const Study& study, const Execution& execution) {
  if (execution.device == nullptr) return;
  const studies::Quantity& quantity = study.quantity();
  for (std::int64_t unit = 0; unit < study.size(); ++unit) {
    const std::vector<StudyValue> values = study.inputs(unit);
    try {
      if (quantity.draws_prompts(studies::UnitInputs(quantity, values))) return;
    } catch (const InputError&) {
      return;  // the unit will report it
    }
  }
  fail("run_study", fmt::format("no unit of this study of '{}' draws prompts on a device: run it on the CPU, "
                                "or sample errors (method = \"sampled\")",
                                quantity.name()));
}

}  // namespace

StudyRun run_study(const Study& study, const std::filesystem::path& path, const StudyRunPlan& plan,
                   const Execution& execution) {
  const auto start = Clock::now();
  StudyRun run;
  run.units = study.size();
  try {
    studies::check_inputs(study);
    check_device(study, execution);
    std::unique_ptr<studies::StudyStore> store;
    std::vector<std::int64_t> pending;
    if (first_rank(execution)) {
      store = std::make_unique<studies::StudyStore>(path, study, runtime::thread_count(execution),
                                                    execution.ranks == nullptr ? 1 : execution.ranks->size());
      pending = store->pending(plan.retry);
    }
    studies::check_same(study, execution);
    pending = studies::share_list(std::move(pending), execution);
    run.before = study.size() - std::ssize(pending);
    const Progress made = run_units(study, std::move(pending), store.get(), plan, execution, run.before);
    run.ran = made.finished;
    run.stopped = made.stopped;
    if (store) run.failed = store->failed();
  } catch (const OtherProcessFailed&) {
    throw;
  } catch (...) {
    studies::give_up(execution);
    throw;
  }
  run.seconds = seconds_since(start);
  return run;
}

namespace {

// The peak memory of this process, in bytes.
double peak_memory() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

}  // namespace

StudyEstimate estimate_study(const Study& study, const std::filesystem::path& path, bool retry,
                             const Execution& execution) {
  constexpr double kLongest = 2;
  studies::check_inputs(study);
  StudyEstimate estimate;
  estimate.units = study.size();
  std::vector<std::int64_t> pending = studies::pending_units(study, path, retry);
  estimate.pending = std::ssize(pending);
  const double memory = peak_memory();
  const auto start = Clock::now();
  double spent = 0;
  for (const std::ptrdiff_t at : {std::ssize(pending) / 2, std::ptrdiff_t{0}, std::ssize(pending) - 1}) {
    if (estimate.tried >= estimate.pending || seconds_since(start) > kLongest) break;
    const Execution one{.threads = 1, .stop = execution.stop, .device = execution.device};
    spent += studies::evaluate_unit(study, pending[static_cast<std::size_t>(at)], one).seconds;
    ++estimate.tried;
  }
  if (estimate.tried > 0) {
    estimate.core_seconds =
        spent / static_cast<double>(estimate.tried) * static_cast<double>(estimate.pending);
  }
  constexpr double kStore = 1e8, kUnit = 100;  // bytes: SQLite's cache, and what is known about each unit
  const double tried = peak_memory();
  estimate.memory = tried + (runtime::thread_count(execution) - 1) * (tried - memory) + kStore +
                    kUnit * static_cast<double>(study.size());
  return estimate;
}

}  // namespace largo
