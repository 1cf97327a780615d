// A user of an installed largo: the version it was built with and an error from inside the library.
#include <iostream>
#include <largo/numerics/check.hpp>
#include <largo/version.hpp>
#include <string_view>

int main(int count, char** arguments) {
  if (count != 2 || std::string_view(arguments[1]) != largo::kVersion) {
    std::cerr << "version.hpp says " << largo::kVersion << '\n';
    return 1;
  }
  try {
    largo::check_positive("consumer", "length", -1.0);
  } catch (const largo::InputError& error) {
    std::cout << error.what() << '\n';
    return 0;
  }
  std::cerr << "check_positive let -1 pass\n";
  return 1;
}
