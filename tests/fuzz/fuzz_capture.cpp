// Reads the input once as a capture of heads and once as the JSON header and data of one, and audits what is
// small.
#include "largo/heads/audit.hpp"
#include "touch.hpp"

namespace {

// An audit of many tokens takes long, and what it computes is not the point here.
bool is_small(const largo::CapturedHead& head) {
  return head.keys.rows * (head.keys.columns + head.values.columns) <= 256;
}

void read(std::string_view text) {
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
      for (const auto visibility : {largo::Visibility::all, largo::Visibility::causal})
        largo::audit(capture, {.visibility = visibility, .recent = 1, .queries = 3}, {.threads = 1});
    });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(largo::fuzz::with_length<std::uint64_t>({}, largo::fuzz::split(text)));
  return 0;
}
