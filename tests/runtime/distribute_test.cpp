// Work over processes, which here are threads of one process: every unit is done once, all have the same
// rows, and no process is left waiting when another fails. (tests/mpi tests the same with MPI.)
#include "runtime/distribute.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/watched_work.hpp"
#include "support/thread_ranks.hpp"

namespace largo::distribute_test {
namespace {

using test::FakeRanks;
using test::Meeting;
using test::run_on;

template <typename Exception>
bool is(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return false;
  try {
    std::rethrow_exception(thrown);
  } catch (const Exception&) {
    return true;
  } catch (...) {
    return false;
  }
}

TEST(ShareOf, CoversEveryUnitOnceInOrder) {
  Meeting meeting(1);
  for (int size = 1; size <= 9; ++size) {
    for (const std::ptrdiff_t count : {0, 1, 2, 3, 8, 9, 10, 100, 1001}) {
      std::ptrdiff_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const FakeRanks ranks(meeting, rank, size);
        const runtime::Share share = runtime::share_of(count, {.ranks = &ranks});
        EXPECT_EQ(share.first, next);
        EXPECT_LE(share.count, count / size + 1);
        EXPECT_GE(share.count, count / size);
        next += share.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ShareOf, DoesNotOverflow) {
  Meeting meeting(1);
  constexpr std::ptrdiff_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  const FakeRanks last(meeting, 999, 1000);
  const runtime::Share share = runtime::share_of(kMost, {.ranks = &last});
  EXPECT_EQ(share.first + share.count, kMost);
}

TEST(DistributeRows, EveryUnitOnceAndTheSameRowsEverywhere) {
  constexpr std::size_t kWidth = 3;
  for (const int size : {1, 2, 3, 4, 7}) {
    for (const std::ptrdiff_t count : {0, 1, 2, 6, 7, 50}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      const auto thrown = run_on(size, [&](const Ranks& ranks) {
        const Execution execution{.threads = 2, .ranks = &ranks};
        const auto rows =
            runtime::distribute_rows(count, kWidth, execution, [&](std::ptrdiff_t i, std::span<double> row) {
              ++visits[static_cast<std::size_t>(i)];
              row[0] += static_cast<double>(i);  // rows start at zero
              row[2] += 1.5;
            });
        ASSERT_EQ(rows.size(), static_cast<std::size_t>(count) * kWidth);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          EXPECT_EQ(rows[i * kWidth], static_cast<double>(i));
          EXPECT_EQ(rows[i * kWidth + 1], 0);
          EXPECT_EQ(rows[i * kWidth + 2], 1.5);
        }
      });
      for (const auto& exception : thrown) EXPECT_EQ(exception, nullptr);
      for (const auto& visit : visits) EXPECT_EQ(visit, 1);
    }
  }
}

TEST(DistributeRows, AnExceptionOnOneProcessEndsTheWorkOnAll) {
  for (const int size : {2, 3, 4}) {
    // Unit 0 is on the first process, and the last unit on the last one.
    for (const std::ptrdiff_t bad : {0, 9}) {
      const auto thrown = run_on(size, [&](const Ranks& ranks) {
        runtime::distribute_rows(10, 1, {.threads = 1, .ranks = &ranks},
                                 [&](std::ptrdiff_t i, std::span<double>) {
                                   if (i == bad) throw std::domain_error("unit " + std::to_string(i));
                                 });
      });
      const std::size_t where = bad == 0 ? 0 : thrown.size() - 1;
      for (std::size_t rank = 0; rank < thrown.size(); ++rank) {
        EXPECT_EQ(is<std::domain_error>(thrown[rank]), rank == where);
        EXPECT_EQ(is<OtherProcessFailed>(thrown[rank]), rank != where);
      }
    }
  }
}

TEST(DistributeRows, StopOnOneProcessStopsAll) {
  const std::atomic<bool> stop = true;
  const auto thrown = run_on(3, [&](const Ranks& ranks) {
    const Execution execution{.threads = 1, .ranks = &ranks, .stop = ranks.rank() == 1 ? &stop : nullptr};
    runtime::distribute_rows(30, 1, execution, [](std::ptrdiff_t, std::span<double>) {});
  });
  EXPECT_TRUE(is<OtherProcessFailed>(thrown[0]));
  EXPECT_TRUE(is<Stopped>(thrown[1]));
  EXPECT_TRUE(is<OtherProcessFailed>(thrown[2]));
}

TEST(DistributeRows, GoesOnAfterAFailure) {
  const auto thrown = run_on(3, [&](const Ranks& ranks) {
    const Execution execution{.threads = 1, .ranks = &ranks};
    const auto fail_on = [&](std::ptrdiff_t bad) {
      return runtime::distribute_rows(6, 1, execution, [bad](std::ptrdiff_t i, std::span<double> row) {
        if (i == bad) throw std::domain_error("bad");
        row[0] = static_cast<double>(i);
      });
    };
    EXPECT_ANY_THROW(fail_on(0));
    EXPECT_ANY_THROW(fail_on(5));
    EXPECT_EQ(fail_on(-1), (runtime::AlignedVector<double>{0, 1, 2, 3, 4, 5}));
  });
  for (const auto& exception : thrown) EXPECT_EQ(exception, nullptr);
}

TEST(GatherRows, TakesPartsOfAnySize) {
  const auto thrown = run_on(4, [&](const Ranks& ranks) {
    // Sizes 0, 3, 0, 1
    const runtime::AlignedVector<double> parts[] = {{}, {1, 2, 3}, {}, {4}};
    const auto all = runtime::gather_rows(parts[ranks.rank()], false, {.ranks = &ranks});
    EXPECT_EQ(all, (runtime::AlignedVector<double>{1, 2, 3, 4}));
  });
  for (const auto& exception : thrown) EXPECT_EQ(exception, nullptr);
}

TEST(GatherAtEnd, GivesTheCodesOfAll) {
  run_on(3, [](const Ranks& ranks) {
    EXPECT_EQ(gather_at_end(ranks, 10 * ranks.rank()), (std::vector<int>{0, 10, 20}));
  });
}

// A process that failed between two computations is at its end while the others are in the middle of one of
// up to three: all must end, and each must know what the others said.
TEST(GatherAtEnd, OneProcessComesEarly) {
  for (int early = 0; early < 3; ++early) {
    for (int computations = 1; computations <= 3; ++computations) {
      run_on(3, [&](const Ranks& ranks) {
        int code = ranks.rank() == early ? 5 : 0;
        try {
          const Execution execution{.threads = 1, .ranks = &ranks};
          for (int done = 0; done < computations; ++done) {
            if (ranks.rank() == early && done == computations - 1) break;
            runtime::distribute_rows(5, 2, execution, [](std::ptrdiff_t, std::span<double>) {});
          }
        } catch (const OtherProcessFailed&) {
          code = 1;
        }
        std::vector<int> expected(3, 1);
        expected[static_cast<std::size_t>(early)] = 5;
        EXPECT_EQ(gather_at_end(ranks, code), expected);
      });
    }
  }
}

TEST(Deal, SpreadsCostsEvenlyAndAlwaysAlike) {
  using Owners = std::vector<int>;
  EXPECT_EQ(runtime::deal({1, 1, 1, 1, 1}, 2), (Owners{0, 1, 0, 1, 0}));
  EXPECT_EQ(runtime::deal({1, 2, 3, 4, 10}, 2), (Owners{1, 1, 1, 1, 0}));
  EXPECT_EQ(runtime::deal({5, 4, 3, 3, 3}, 2), (Owners{0, 1, 1, 0, 1}));
  EXPECT_EQ(runtime::deal({}, 3), Owners());
  EXPECT_EQ(runtime::deal({7}, 3), Owners{0});
  EXPECT_EQ(runtime::deal({2, 3}, 1), (Owners{0, 0}));
}

// Processes that work at the same time exchange their progress and failures.
TEST(WatchedWork, IsToldToTheFirstProcess) {
  std::vector<double> shares;
  const auto thrown = test::run_on(3, [&](const Ranks& ranks) {
    const double weight = ranks.rank() == 2 ? 2 : 1;
    bool worked = false;
    runtime::watch_work(
        {.threads = 1, .ranks = &ranks}, weight,
        [&](double share) {
          EXPECT_EQ(ranks.rank(), 0);
          shares.push_back(share);
        },
        [&](const Execution& own, const runtime::ShowShare& show) {
          EXPECT_EQ(own.ranks, nullptr);
          worked = true;
          show(0.5);
          if (ranks.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(250));
        });
    EXPECT_TRUE(worked);
  });
  for (const auto& error : thrown) EXPECT_EQ(error, nullptr);
  ASSERT_GE(shares.size(), 2U);
  EXPECT_EQ(shares.front(), 3.5 / 4);  // the others are done, the first is half way
  EXPECT_EQ(shares.back(), 1);
}

TEST(WatchedWork, AFailureStopsTheOthers) {
  const auto thrown = test::run_on(3, [&](const Ranks& ranks) {
    runtime::watch_work({.threads = 1, .ranks = &ranks}, 1, {},
                        [&](const Execution& own, const runtime::ShowShare&) {
                          if (ranks.rank() == 1) throw std::domain_error("bad");
                          while (true) {
                            runtime::check_stop(own);
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          }
                        });
  });
  EXPECT_THROW(std::rethrow_exception(thrown[0]), OtherProcessFailed);
  EXPECT_THROW(std::rethrow_exception(thrown[1]), std::domain_error);
  EXPECT_THROW(std::rethrow_exception(thrown[2]), OtherProcessFailed);
}

TEST(WatchedWork, IsStoppedFromOutside) {
  const std::atomic<bool> stop = true;
  const auto thrown = test::run_on(2, [&](const Ranks& ranks) {
    const Execution execution{.threads = 1, .ranks = &ranks, .stop = ranks.rank() == 0 ? &stop : nullptr};
    runtime::watch_work(execution, 1, {}, [&](const Execution& own, const runtime::ShowShare&) {
      while (true) {
        runtime::check_stop(own);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  });
  EXPECT_THROW(std::rethrow_exception(thrown[0]), Stopped);
  EXPECT_THROW(std::rethrow_exception(thrown[1]), OtherProcessFailed);
}

}  // namespace
}  // namespace largo::distribute_test
