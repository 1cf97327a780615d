// Writes the reference values of the softmax statistics: 10,000 random (s, L), see data/README.md.
//
//   make_reference OUT.npy [GROUPS]
//
// One group is one s and 25 L, because values of L share most of the work. The file is replaced after every
// group, and a shorter file is the beginning of a longer one.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "exact/oracle.hpp"
#include "largo/io/npy.hpp"

namespace {

using largo::oracle::OracleMoments;
using largo::oracle::Real;

constexpr int kGroups = 400;
constexpr int kPerGroup = 25;
constexpr int kIntegersPerGroup = 5;  // 1..64 over and over: 31 times each in all
constexpr int kColumns = 2 + OracleMoments::kCount;
constexpr std::uint64_t kSeed = 20260731;

class Draws {
 public:
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Computed in MPFR, so that the last bit does not depend on the C library.
  double log_uniform(int low, int high) {
    return pow(Real(10), low + (high - low) * Real(uniform())).convert_to<double>();
  }
  double score_scale() {
    const double kind = uniform();
    if (kind < 0.01) return 0;
    if (kind < 0.15) return log_uniform(-6, 0);
    return 30 * uniform();
  }
  double next_integer() {
    integer_ = integer_ % 64 + 1;
    return integer_;
  }

 private:
  std::mt19937_64 engine_{kSeed};
  int integer_ = 0;
};

void run(const char* path, int groups) {
  Draws draws;
  largo::Matrix rows(groups * kPerGroup, kColumns);
  const auto begin = std::chrono::steady_clock::now();
  double most_lost = 0;
  for (int group = 0; group < groups; ++group) {
    const double s = draws.score_scale();
    std::unique_ptr<largo::oracle::Oracle> oracle;
    for (int i = 0; i < kPerGroup; ++i) {
      const double L = i < kIntegersPerGroup ? draws.next_integer() : draws.log_uniform(0, 300);
      OracleMoments moments;
      if (s == 0 || L == 1) {
        moments = largo::oracle::closed_form(s, L);
      } else {
        if (!oracle) oracle = std::make_unique<largo::oracle::Oracle>(s);
        moments = oracle->at(L);
      }
      most_lost = std::max(most_lost, moments.digits_lost);
      const auto row = group * kPerGroup + i;
      rows(row, 0) = s;
      rows(row, 1) = L;
      Eigen::Index column = 2;
      for (const Real& value : moments.values()) rows(row, column++) = value.convert_to<double>();
    }
    const auto done = (group + 1) * kPerGroup;
    largo::write_npy(path, rows.topRows(done));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::printf("%d rows, %.0f s, at most %.1f digits lost (s = %.6g)\n", done, elapsed.count(), most_lost,
                s);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: make_reference OUT.npy [GROUPS]\n");
    return 2;
  }
  try {
    run(argv[1], argc == 3 ? std::atoi(argv[2]) : kGroups);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_reference: %s\n", error.what());
    return 1;
  }
}
