// Run by mpirun with one to four processes: the results have the bits of one process without MPI, and no
// process is left waiting when another fails.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "largo/mpi/mpi_session.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "mpi/mpi_ranks.hpp"
#include "runtime/distribute.hpp"
#include "support/random_matrices.hpp"

namespace largo {
namespace {

const Ranks* ranks = nullptr;  // set by main

constexpr test::RandomMatrices normals(23);

std::vector<std::uint64_t> bits(const RegressionGradient& gradient) {
  std::vector<std::uint64_t> result = {std::bit_cast<std::uint64_t>(gradient.loss)};
  for (const double x : gradient.U.reshaped()) result.push_back(std::bit_cast<std::uint64_t>(x));
  for (const double x : gradient.v) result.push_back(std::bit_cast<std::uint64_t>(x));
  return result;
}

TEST(RegressionGradient, HasTheBitsOfOneProcess) {
  for (const std::ptrdiff_t d : {2, 5}) {
    const auto id = static_cast<std::uint64_t>(10 * d);
    const RegressionTask task{0.7 * normals(d, d, id), 0.8 * normals(d, d, id + 1),
                              0.6 * normals(d, d, id + 2), 0.4, 0.5};
    const RegressionParameters parameters{normals(d + 1, d + 1, id + 3), normals(d + 1, 1, id + 4)};
    for (const PromptKernel kernel : {PromptKernel::full, PromptKernel::collapsed}) {
      // Blocks of 16 prompts: fewer than there are processes, one more than they share evenly, and many.
      for (const std::int64_t prompts : {1, 33, 500}) {
        const RegressionBatch batch{
            .first = 1000, .prompts = prompts, .length = 77, .seed = 5, .kernel = kernel};
        const auto alone = bits(regression_gradient(task, parameters, batch, {.threads = 1}));
        for (const int threads : {1, 2, 3, 7}) {
          const Execution execution{.threads = threads, .ranks = ranks};
          EXPECT_EQ(bits(regression_gradient(task, parameters, batch, execution)), alone)
              << d << " " << prompts << " " << threads;
        }
      }
    }
  }
}

// Rank r brings sizes(r) numbers that show where they come from.
template <typename Sizes>
void check_gather(const Ranks& over, const Sizes& sizes) {
  const auto part_of = [&](int rank) {
    std::vector<double> part(static_cast<std::size_t>(sizes(rank)));
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = 1e6 * rank + static_cast<double>(i);
    return part;
  };
  std::vector<double> expected;
  for (int rank = 0; rank < over.size(); ++rank) {
    const auto part = part_of(rank);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(over.gather(part_of(over.rank())), expected);
}

void check_gathers(const Ranks& over) {
  check_gather(over, [](int) { return 0; });
  check_gather(over, [](int) { return 1; });
  check_gather(over, [](int rank) { return rank; });
  check_gather(over, [](int rank) { return rank % 2 == 0 ? 0 : 1000 + rank; });
  check_gather(over, [&](int rank) { return rank == over.size() - 1 ? 0 : 7; });
  check_gather(over, [](int rank) { return rank == 0 ? 100000 : 1; });
}

TEST(Gather, PartsOfAnySize) { check_gathers(*ranks); }

// More than 2^31 - 1 numbers are gathered in pieces; here, more than 3 and more than 40,000 are.
TEST(Gather, InPieces) {
  const mpi::MpiRanks few(MPI_COMM_WORLD, 3);
  check_gather(few, [](int) { return 0; });
  check_gather(few, [](int rank) { return 1 + rank; });
  check_gather(few, [](int rank) { return rank % 2 == 0 ? 0 : 9; });
  const mpi::MpiRanks many(MPI_COMM_WORLD, 40000);
  check_gather(many, [](int rank) { return rank == 0 ? 100000 : 1; });
}

TEST(Gather, FromAnotherThread) {
  std::thread([] { check_gather(*ranks, [](int rank) { return 3 + rank; }); }).join();
}

TEST(Gather, MpiErrorsAreExceptions) {
  try {
    mpi::check_mpi(MPI_ERR_COUNT, "MPI_Something");
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, 15), "MPI_Something: ");
    EXPECT_GT(std::string_view(error.what()).size(), 20U);
  }
}

TEST(Failure, OfOneProcessReachesAll) {
  for (int bad = 0; bad < ranks->size(); ++bad) {
    const auto work = [&] {
      runtime::distribute_rows(20, 3, {.threads = 2, .ranks = ranks}, [&](std::ptrdiff_t, std::span<double>) {
        if (ranks->rank() == bad) throw std::domain_error("bad");
      });
    };
    if (ranks->rank() == bad) {
      EXPECT_THROW(work(), std::domain_error);
    } else {
      EXPECT_THROW(work(), OtherProcessFailed);
    }
  }
  check_gathers(*ranks);  // all are still in step
}

TEST(Failure, StopOfOneProcessReachesAll) {
  const std::atomic<bool> stop = true;
  const int stopped = ranks->size() - 1;
  const RegressionTask task{Matrix::Identity(2, 2), Matrix::Identity(2, 2), Matrix::Identity(2, 2)};
  const RegressionParameters parameters{Matrix::Identity(3, 3), Vector::Unit(3, 2)};
  const auto work = [&] {
    const Execution execution{
        .threads = 2, .ranks = ranks, .stop = ranks->rank() == stopped ? &stop : nullptr};
    regression_gradient(task, parameters, {.prompts = 1000, .length = 10}, execution);
  };
  if (ranks->rank() == stopped) {
    EXPECT_THROW(work(), Stopped);
  } else {
    EXPECT_THROW(work(), OtherProcessFailed);
  }
}

TEST(Failure, OutsideAComputationEndsInOrder) {
  // The last process has reached its end while the others begin another computation.
  const bool early = ranks->rank() == ranks->size() - 1;
  int code = early ? 3 : 0;
  try {
    if (!early)
      runtime::distribute_rows(5, 1, {.threads = 1, .ranks = ranks},
                               [](std::ptrdiff_t, std::span<double>) {});
  } catch (const OtherProcessFailed&) {
    code = 1;
  }
  std::vector<int> expected(static_cast<std::size_t>(ranks->size()), 1);
  expected.back() = 3;
  EXPECT_EQ(gather_at_end(*ranks, code), expected);
}

TEST(Session, KnowsItsProcesses) {
  int rank = -1, size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(ranks->rank(), rank);
  EXPECT_EQ(ranks->size(), size);
  EXPECT_EQ(started_by_mpi(), size > 1);
  EXPECT_FALSE(mpi_library().empty());
}

TEST(Session, ASecondOneUsesTheSameMpi) {
  {
    const MpiSession second;
    check_gather(second.ranks(), [](int rank) { return rank; });
  }
  check_gather(*ranks, [](int rank) { return rank; });
}

}  // namespace
}  // namespace largo

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const largo::MpiSession session;
  largo::ranks = &session.ranks();
  // The first process reports everything, and the others only failures.
  if (session.ranks().rank() != 0) ::testing::GTEST_FLAG(brief) = true;
  return RUN_ALL_TESTS();
}
