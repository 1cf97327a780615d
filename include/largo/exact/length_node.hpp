// A length and its weight in an average over prompt lengths.
#pragma once

namespace largo {

struct LengthNode {
  double L, weight;
};

}  // namespace largo
