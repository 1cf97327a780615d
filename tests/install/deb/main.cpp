// Exact statistics from the installed library.
#include <cmath>
#include <cstdio>

#include "largo/exact/softmax_moments.hpp"

int main() {
  const double P2 = largo::softmax_moments(2, 1e4).P2.value;
  std::printf("E[P2] = %.12e\n", P2);
  return std::abs(P2 / 4.507451445755e-03 - 1) < 1e-11 ? 0 : 1;
}
