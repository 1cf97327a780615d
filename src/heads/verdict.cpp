#include "largo/heads/verdict.hpp"

#include <array>

namespace largo {

std::string_view name_of(HeadKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"averaging", "affine",    "sink",
                                                      "local",     "retrieval", "mixed"};
  return kNames[static_cast<std::size_t>(kind)];
}

HeadKind kind_of(const HeadAudit& audit, double tolerance) {
  if (audit.errors.uniform <= tolerance) return HeadKind::averaging;
  if (audit.errors.affine <= tolerance) return HeadKind::affine;
  if (audit.sink_mass >= kSinkMass) return HeadKind::sink;
  if (audit.errors.sinks_affine <= tolerance && audit.sink_mass >= kSinkShare) return HeadKind::sink;
  if (audit.local_mass >= kLocalMass) return HeadKind::local;
  if (audit.max_weight >= kRetrievalWeight) return HeadKind::retrieval;
  return HeadKind::mixed;
}

}  // namespace largo
