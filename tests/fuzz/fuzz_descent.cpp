// Reads the input as the checkpoint of a descent: as it is, with the checksum made to fit, and as the JSON
// header and data of one, so that mutations get past the checksum and the length.
#include "training/descent_file.hpp"

#include <string>

#include "touch.hpp"

namespace {

void read(std::string text) {
  largo::fuzz::attempt([&] {
    const largo::DescentState state =
        largo::training::read_descent(largo::fuzz::bytes_of(text), "fuzz.safetensors");
    largo::fuzz::require(state.step >= 0 && state.loss_count >= 0 && state.parameters.allFinite());
    largo::fuzz::require(state.momentum.size() == 0 || state.momentum.size() == state.parameters.size());
    largo::fuzz::require(state.squares.size() == 0 || state.squares.size() == state.parameters.size());
    for (const largo::DescentRecord& record : state.records) {
      largo::fuzz::require(record.parameters.size() == state.parameters.size());
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  read(text);
  largo::training::seal_descent(text);
  read(text);
  std::string whole = largo::fuzz::with_length<std::uint64_t>({}, largo::fuzz::split(text));
  largo::training::seal_descent(whole);
  read(whole);
  return 0;
}
