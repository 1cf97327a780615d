// The processes that share one computation, such as the ranks of an MPI program.
//
// Functions that take an Execution split their work over its ranks in fixed units and gather the results of
// the units. So every process returns the same result, with the same bits as one process alone. All processes
// must make the same calls with the same arguments, in the same order.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

namespace largo {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;  ///< number of this process, from 0 to size() - 1
  virtual int size() const = 0;

  /// Every process passes its part, of any size, and gets the parts of all processes in order of rank.
  virtual std::vector<double> gather(std::span<const double> part) const = 0;

 protected:
  Ranks() = default;
  Ranks(const Ranks&) = default;
  Ranks& operator=(const Ranks&) = default;
};

/// Thrown on the processes that did not fail themselves.
class OtherProcessFailed : public std::runtime_error {
 public:
  OtherProcessFailed()
      : std::runtime_error("another process of this computation has failed or was stopped") {}
};

/// Ends a program. Each process calls it once, as its last call, with a number >= 0 (its exit code, for
/// example), and gets the numbers of all processes in order of rank. A process that failed between two
/// computations may call it early. The others then leave their next computation with OtherProcessFailed and
/// call it too.
std::vector<int> gather_at_end(const Ranks& ranks, int code);

}  // namespace largo
