// Reads the input once as a .npy file and once as the dictionary and data of one.
#include "largo/io/npy.hpp"

#include "touch.hpp"

namespace {

void read(std::string_view file) {
  largo::fuzz::attempt([&] {
    const largo::NpyArray array = largo::NpyArray::from_bytes(largo::fuzz::bytes_of(file), "fuzz.npy");
    largo::fuzz::touch(array.view(), array.matrix());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace std::literals;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(largo::fuzz::with_length<std::uint32_t>("\x93NUMPY\x02\x00"sv, largo::fuzz::split(text)));
  return 0;
}
