// Reads the input as a formula of one variable, and as a law of temperature.
#include "io/formula.hpp"

#include <string>
#include <string_view>

#include "largo/exact/temperature.hpp"
#include "touch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  largo::fuzz::attempt([&] {
    const largo::io::Formula formula("--beta", text, "L");
    largo::fuzz::require(size <= 1000);
    formula(4096);
  });
  // Laws may name files; what is wrong with a file is for the reader of tables.
  if (text.find(".csv") != std::string_view::npos) return 0;
  largo::fuzz::attempt([&] {
    const largo::TemperatureLaw law("--beta", text);
    const double beta = law(4096);
    largo::fuzz::require(beta >= 0 && beta * 0 == 0);
  });
  return 0;
}
