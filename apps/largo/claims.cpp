#include "claims.hpp"

#include <utility>

#include <fmt/core.h>

namespace largo {

Json new_claim(const char* id, std::string statement, std::string computed) {
  return {{"id", id}, {"statement", std::move(statement)}, {"computed", std::move(computed)}};
}

Json with_verdict(Json claim, bool holds) {
  claim["verdict"] = holds ? "holds" : "fails";
  return claim;
}

void print_head(const char* title, const Json& claim) {
  fmt::print("{}: {}\n  {}\n", title, claim["statement"].get<std::string>(),
             claim["computed"].get<std::string>());
}

void print_verdict(const Json& claim) {
  fmt::print("  verdict: {}\n\n", claim["verdict"].get<std::string>());
}

}  // namespace largo
