// Reads the input as CSV text, in a buffer of exactly its size.
#include "io/csv.hpp"

#include <cmath>
#include <vector>

#include "touch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  largo::fuzz::attempt([&] {
    const largo::Matrix values =
        largo::io::parse_csv(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.csv");
    largo::fuzz::require(values.rows() > 0 && values.cols() > 0);
    largo::fuzz::require(static_cast<std::size_t>(values.size()) <= size);
    largo::fuzz::require(values.allFinite());
  });
  return 0;
}
