// The claims of the paper: what is computed for each, its verdict, and how it is printed.
#pragma once

#include <cstdint>

#include "largo/numerics/execution.hpp"
#include "output.hpp"

namespace largo {

struct ClaimOptions {
  std::uint64_t seed = 1;
  bool quick = false, full = false;
  Execution execution;
};

struct Claim {
  Json json;  ///< id, statement, computed, numbers, verdict: "holds" or "fails"
  void (*print)(const Json& json);
};

Claim lemma_claim(const ClaimOptions& options);
Claim exact_error_claim(const ClaimOptions& options);
Claim other_laws_claim(const ClaimOptions& options);
Claim exponent_claim(const ClaimOptions& options);
Claim audit_claim(const ClaimOptions& options);
Claim bounds_claim(const ClaimOptions& options);
Claim softmax_linear_claim(const ClaimOptions& options);

}  // namespace largo
