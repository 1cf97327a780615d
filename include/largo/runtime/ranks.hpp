// The processes that share one computation, such as the ranks of an MPI program.
//
// Functions that take an Execution split their work over its ranks in fixed units and gather what each unit
// gave, so every process returns the same result, with the same bits as one process alone. All processes must
// make the same calls with the same arguments, in the same order.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

namespace largo {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;  ///< of this process, from 0 to size() - 1
  virtual int size() const = 0;

  /// Every process hands over its part, of any size, and gets the parts of all in order of their ranks.
  virtual std::vector<double> gather(std::span<const double> part) const = 0;

 protected:
  Ranks() = default;
  Ranks(const Ranks&) = default;
  Ranks& operator=(const Ranks&) = default;
};

/// Thrown on the processes that have not failed themselves.
class OtherProcessFailed : public std::runtime_error {
 public:
  OtherProcessFailed()
      : std::runtime_error("another process of this computation has failed or was stopped") {}
};

/// The end of a program: each process calls it once, last, with a number >= 0 (its exit code, say), and gets
/// the numbers of all, in order of their ranks. A process may come here early, because it failed between two
/// computations: those that go on to the next one then end it with OtherProcessFailed, and come here too.
std::vector<int> gather_at_end(const Ranks& ranks, int code);

}  // namespace largo
