// Reads the input once as a .safetensors file and once as the JSON header and data of one.
#include "largo/io/safetensors.hpp"

#include "touch.hpp"

namespace {

void read_tensors(std::string_view text) {
  largo::fuzz::attempt([&] {
    const auto file = largo::SafetensorsFile::from_bytes(largo::fuzz::bytes_of(text), "fuzz.safetensors");
    for (const std::string& name : file.names()) {
      largo::fuzz::require(file.contains(name));
      largo::fuzz::attempt([&] {
        const largo::Matrix copy = file.matrix(name);
        largo::fuzz::touch(file.view(name), copy);
      });
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  largo::fuzz::read_with_and_without_length(data, size, read_tensors);
  return 0;
}
