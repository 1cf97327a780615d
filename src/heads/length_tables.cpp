#include "heads/length_tables.hpp"

namespace largo::heads {

LengthTables::LengthTables() {
  for (std::size_t i = 0; i < kLengths; ++i) tables_.push_back(SoftmaxTable::shared(LengthLaw(length_at(i))));
}

std::array<double, kLengths> LengthTables::errors(double s, double variance, double shift) const {
  std::array<double, kLengths> result = {};
  for (std::size_t i = 0; i < kLengths; ++i) {
    const SoftmaxStatistics m = (*tables_[i])(s);
    result[i] = m.P2 * variance + shift * (m.P2 - 6 * m.P3 + 6 * m.P2P2);
  }
  return result;
}

}  // namespace largo::heads
