// Processes that are threads of one process, for tests of work shared among ranks.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "largo/runtime/ranks.hpp"

namespace largo::test {

// Where the threads meet. A call ends when every thread has brought its part.
class Meeting {
 public:
  explicit Meeting(int size) : parts_(static_cast<std::size_t>(size)) {}

  std::vector<double> exchange(int rank, std::span<const double> part) {
    std::unique_lock lock(mutex_);
    parts_[static_cast<std::size_t>(rank)].assign(part.begin(), part.end());
    if (++came_ == parts_.size()) {
      all_.clear();
      for (const auto& one : parts_) all_.insert(all_.end(), one.begin(), one.end());
      came_ = 0;
      ++round_;
      everybody_came_.notify_all();
    } else {
      // The next exchange cannot end, so all_ cannot change, before this call has returned.
      everybody_came_.wait(lock, [this, round = round_] { return round_ != round; });
    }
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable everybody_came_;
  std::vector<std::vector<double>> parts_;
  std::vector<double> all_;
  std::size_t came_ = 0;
  std::size_t round_ = 0;
};

class FakeRanks : public Ranks {
 public:
  FakeRanks(Meeting& meeting, int rank, int size) : meeting_(meeting), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<double> gather(std::span<const double> part) const override {
    return meeting_.exchange(rank_, part);
  }

 private:
  Meeting& meeting_;
  int rank_;
  int size_;
};

// Runs work(ranks) on each process, and returns what each threw.
inline std::vector<std::exception_ptr> run_on(int size, const std::function<void(const Ranks&)>& work) {
  Meeting meeting(size);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(size));
  std::vector<std::thread> processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.emplace_back([&, rank] {
      try {
        work(FakeRanks(meeting, rank, size));
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& process : processes) process.join();
  return thrown;
}

}  // namespace largo::test
