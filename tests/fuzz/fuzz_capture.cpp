// Reads the input once as a capture of heads and once as the JSON header and data of one, and audits what is
// small.
#include "largo/heads/audit.hpp"

#include <cmath>

#include "touch.hpp"

namespace {

// An audit of many tokens takes long, and what it computes is not the point here.
bool is_small(const largo::CapturedHead& head) {
  return head.keys.rows * (head.keys.columns + head.values.columns) <= 256;
}

// Whatever is audited has an answer: NaN is none.
void require_numbers(const largo::HeadAudit& audit) {
  for (const largo::HeadField& field : largo::head_fields())
    largo::fuzz::require(!std::isnan(field.value(audit)));
  for (const double share : audit.scores.shares) largo::fuzz::require(share >= 0 && share <= 1);
  for (const largo::SampledLength& one : audit.lengths)
    largo::fuzz::require(!std::isnan(one.measured) && !std::isnan(one.predicted) &&
                         !std::isnan(one.certified));
}

void read_capture(std::string_view text) {
  largo::fuzz::attempt([&] {
    const auto capture = largo::Capture::from_bytes(largo::fuzz::bytes_of(text), "fuzz.safetensors");
    largo::fuzz::require(!capture.heads().empty());
    for (const largo::CapturedHead& head : capture.heads()) {
      largo::fuzz::require(head.keys.rows == head.values.rows && head.queries.rows <= head.keys.rows);
      largo::fuzz::require(head.queries.columns == head.keys.columns);
      largo::fuzz::attempt([&] { largo::check_finite(head); });
    }
    if (capture.heads().size() > 2 || !is_small(capture.heads().front())) return;
    largo::fuzz::attempt([&] {
      for (const auto visibility : {largo::Visibility::all, largo::Visibility::causal}) {
        for (const largo::HeadAudit& one :
             largo::audit(capture, {.visibility = visibility, .recent = 1, .queries = 3}, {.threads = 1}))
          require_numbers(one);
      }
    });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  largo::fuzz::read_with_and_without_length(data, size, read_capture);
  return 0;
}
