#include "studies/unit_pool.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"
#include "runtime/sha256.hpp"

namespace largo::studies {
namespace {

// Each warning appears once: the results of a unit mostly come from the same samples.
std::string warning_of(const std::vector<UnitResult>& results) {
  std::vector<std::string> said;
  for (const UnitResult& result : results) {
    const bool fresh = std::find(said.begin(), said.end(), result.warning) == said.end();
    if (!result.warning.empty() && fresh) said.push_back(result.warning);
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

using Numbers = runtime::AlignedVector<double>;

bool alone(const Execution& execution) { return execution.ranks == nullptr || execution.ranks->size() == 1; }

// Everything is sent as doubles, which is what ranks gather; a message goes character by character.
void append(Numbers& numbers, const std::string& text) {
  numbers.push_back(static_cast<double>(text.size()));
  for (const char c : text) numbers.push_back(static_cast<unsigned char>(c));
}

std::string read_text(const double*& next) {
  std::string text(static_cast<std::size_t>(*next++), ' ');
  for (char& c : text) c = static_cast<char>(static_cast<unsigned char>(*next++));
  return text;
}

void append(Numbers& numbers, const FinishedUnit& unit) {
  numbers.push_back(static_cast<double>(unit.unit));
  numbers.push_back(unit.seconds);
  append(numbers, unit.failure);
  append(numbers, unit.warning);
  for (const UnitResult& result : unit.results) {
    numbers.insert(numbers.end(), {result.value, result.error, result.given ? 1.0 : 0.0});
  }
}

FinishedUnit read_unit(const double*& next, std::size_t names) {
  FinishedUnit unit;
  unit.unit = static_cast<std::int64_t>(*next++);
  unit.seconds = *next++;
  unit.failure = read_text(next);
  unit.warning = read_text(next);
  if (!unit.failure.empty()) return unit;
  unit.results.resize(names);
  for (UnitResult& result : unit.results) {
    result.value = next[0];
    result.error = next[1];
    result.given = next[2] != 0;
    next += 3;
  }
  return unit;
}

}  // namespace

FinishedUnit evaluate_unit(const Study& study, std::int64_t unit, const Execution& execution) {
  FinishedUnit finished;
  finished.unit = unit;
  const auto start = std::chrono::steady_clock::now();
  try {
    const std::vector<StudyValue> values = study.inputs(unit);
    const Quantity& quantity = study.quantity();
    finished.results = quantity.evaluate(UnitInputs(quantity, values), execution);
    finished.warning = warning_of(finished.results);
  } catch (const Stopped&) {
    throw;
  } catch (const std::bad_alloc&) {
    finished.failure = "out of memory";
  } catch (const std::exception& error) {
    finished.failure = *error.what() == '\0' ? "failed" : error.what();
    finished.results.clear();
  }
  finished.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return finished;
}

UnitPool::UnitPool(const Study& study, int threads, int inner, const Device* device)
    : study_(study), inner_(inner), device_(device) {
  try {
    for (int i = 0; i < threads; ++i) workers_.push_back(runtime::start_thread([this] { work(); }));
  } catch (...) {  // the threads already started must not outlive the pool
    end();
    throw;
  }
}

UnitPool::~UnitPool() { end(); }

void UnitPool::end() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  more_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void UnitPool::work() {
  const Execution execution{.threads = inner_, .stop = &stop_, .device = device_};
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const std::int64_t unit = queue_.front();
    queue_.pop_front();
    ++active_;
    if (queue_.empty()) low_.notify_all();
    lock.unlock();
    FinishedUnit finished;
    std::exception_ptr error;
    try {
      finished = evaluate_unit(study_, unit, execution);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --active_;
    if (error) {
      if (!error_ && !stop_) error_ = error;
      low_.notify_all();
      return;
    }
    finished_.push_back(std::move(finished));
    if (queue_.empty() && active_ == 0) low_.notify_all();
  }
}

void UnitPool::add(std::span<const std::int64_t> units) {
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), units.begin(), units.end());
  }
  more_.notify_all();
}

void UnitPool::wait(bool are_more, std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  low_.wait_for(lock, patience, [&] { return error_ || (queue_.empty() && (are_more || active_ == 0)); });
}

std::vector<FinishedUnit> UnitPool::take() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return std::exchange(finished_, {});
}

std::int64_t UnitPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(queue_);
}

std::vector<UnitReport> exchange(UnitReport mine, std::size_t names, const Execution& execution) {
  std::vector<UnitReport> reports;
  if (alone(execution)) {
    reports.push_back(std::move(mine));
    return reports;
  }
  Numbers numbers = {mine.stop ? 1.0 : 0.0, static_cast<double>(mine.waiting),
                     static_cast<double>(mine.threads), static_cast<double>(mine.finished.size())};
  for (const FinishedUnit& unit : mine.finished) append(numbers, unit);
  const Numbers all = runtime::gather_rows(std::move(numbers), false, execution);
  const double* next = all.data();
  for (int rank = 0; rank < execution.ranks->size(); ++rank) {
    UnitReport report;
    report.stop = *next++ != 0;
    report.waiting = static_cast<std::int64_t>(*next++);
    report.threads = static_cast<int>(*next++);
    report.finished.resize(static_cast<std::size_t>(*next++));
    for (FinishedUnit& unit : report.finished) unit = read_unit(next, names);
    reports.push_back(std::move(report));
  }
  return reports;
}

void check_same(const Study& study, const Execution& execution) {
  if (alone(execution)) return;
  runtime::Sha256 hash;
  for (std::int64_t i = 0; i < study.size(); ++i)
    hash.add(study.id(i).bytes.data(), study.id(i).bytes.size());
  const runtime::Sha256::Digest digest = hash.finish();
  const Numbers all = runtime::gather_rows(Numbers(digest.begin(), digest.end()), false, execution);
  for (std::size_t k = digest.size(); k < all.size(); ++k) {
    if (all[k] != all[k - digest.size()]) {
      fail("run_study", "the processes have read different studies, or different files that these name");
    }
  }
}

std::vector<std::int64_t> share_list(std::vector<std::int64_t> list, const Execution& execution) {
  if (alone(execution)) return list;
  Numbers runs;  // pairs (first, count): a study that is resumed has only a few of them
  if (execution.ranks->rank() == 0) {
    for (const std::int64_t i : list) {
      if (!runs.empty() && runs[runs.size() - 2] + runs.back() == static_cast<double>(i)) {
        ++runs.back();
      } else {
        runs.insert(runs.end(), {static_cast<double>(i), 1.0});
      }
    }
  }
  const Numbers all = runtime::gather_rows(std::move(runs), false, execution);
  list.clear();
  for (std::size_t k = 0; k < all.size(); k += 2) {
    const auto first = static_cast<std::int64_t>(all[k]), count = static_cast<std::int64_t>(all[k + 1]);
    for (std::int64_t i = 0; i < count; ++i) list.push_back(first + i);
  }
  return list;
}

void give_up(const Execution& execution) {
  if (!alone(execution)) runtime::gather_rows({}, true, execution);
}

}  // namespace largo::studies
