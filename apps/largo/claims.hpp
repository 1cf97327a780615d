// The claims of the paper: what is computed for each, its verdict, and how it is printed.
#pragma once

#include <cstdint>
#include <string>

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

Json new_claim(const char* id, std::string statement, std::string computed);
Json with_verdict(Json claim, bool holds);
void print_head(const char* title, const Json& claim);
void print_verdict(const Json& claim);

Claim lemma_claim(const ClaimOptions& options);
Claim exact_error_claim(const ClaimOptions& options);
Claim other_laws_claim(const ClaimOptions& options);
Claim exponent_claim(const ClaimOptions& options);
Claim audit_claim(const ClaimOptions& options);
Claim bounds_claim(const ClaimOptions& options);
Claim softmax_linear_claim(const ClaimOptions& options);
Claim infinite_limit_claim(const ClaimOptions& options);
Claim transfer_claim(const ClaimOptions& options);
Claim published_claim(const ClaimOptions& options);
Claim other_covariates_claim(const ClaimOptions& options);

}  // namespace largo
