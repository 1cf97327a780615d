#include "processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/core.h>

#include "usage.hpp"

#ifdef LARGO_HAS_MPI
#include "largo/mpi/mpi_session.hpp"
#endif

namespace largo {
namespace {

const Ranks* shared_ranks = nullptr;

}  // namespace

void print_error(std::string_view message) {
  if (message.empty()) return;
  const std::string line = fmt::format("largo: {}\n", shortened_line(message));
  // If this fails, there is nobody to tell.
  [[maybe_unused]] const std::size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void hold_standard_streams() {
  const struct {
    int stream, mode;  // the mode that the stream is not used in
  } kStreams[] = {{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}};
  for (const auto& [stream, mode] : kStreams) {
    // open() takes the lowest free number, which is this one, since those below are taken.
    if (::fcntl(stream, F_GETFD) == -1 && ::open("/dev/null", mode) < 0) return;
  }
}

#ifdef LARGO_HAS_MPI

struct Processes::State {
  MpiSession session;
};

Processes::Processes() {
  if (!started_by_mpi()) return;
  state_ = std::make_unique<State>();
  shared_ranks = &state_->session.ranks();
  if (first_process()) return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

std::string mpi_in_this_build() { return mpi_library(); }

#else

struct Processes::State {};
Processes::Processes() = default;
std::string mpi_in_this_build() { return {}; }

#endif

Processes::~Processes() { shared_ranks = nullptr; }

const Ranks* process_ranks() { return shared_ranks; }

bool first_process() { return shared_ranks == nullptr || shared_ranks->rank() == 0; }

int Processes::end(const Outcome& outcome) const {
  if (shared_ranks == nullptr) {
    print_error(outcome.message);
    return outcome.code;
  }
  // Among processes with the same code, the first that failed by itself explains the most.
  const std::vector<int> all = gather_at_end(*shared_ranks, 2 * outcome.code + (outcome.echo ? 0 : 1));
  const auto worst = std::max_element(all.begin(), all.end());
  if (worst - all.begin() == shared_ranks->rank()) print_error(outcome.message);
  return *worst / 2;
}

}  // namespace largo
