#include "studies/unit_pool.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "runtime/start_thread.hpp"

namespace largo {
namespace {

// Each once: the results of a unit mostly come from the same samples.
std::string warning_of(const std::vector<UnitResult>& results) {
  std::vector<std::string> said;
  for (const UnitResult& result : results) {
    const bool fresh = std::find(said.begin(), said.end(), result.warning) == said.end();
    if (!result.warning.empty() && fresh) said.push_back(result.warning);
  }
  return fmt::format("{}", fmt::join(said, "; "));
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
    for (int i = 0; i < threads; ++i) workers_.push_back(start_thread([this] { work(); }));
  } catch (...) {  // those that were started do not outlive the pool
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

}  // namespace largo
