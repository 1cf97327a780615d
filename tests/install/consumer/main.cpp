// A program that uses an installed largo: the version it was built with, an error from inside the library,
// and matrices that cross the interface by value, allocated on one side and freed on the other.
#include <cmath>
#include <iostream>
#include <largo/attention/attention.hpp>
#include <largo/measures/gaussian.hpp>
#include <largo/runtime/check.hpp>
#include <largo/version.hpp>
#include <string_view>

namespace {

bool attends() {
  const std::ptrdiff_t d = 37;
  const auto law = largo::GaussianMeasure::standard(d);
  const largo::MergedWeights weights{largo::Matrix::Identity(d, d), largo::Matrix::Identity(d, d)};
  const largo::RowMatrix queries = largo::RowMatrix::Random(5, d);
  const largo::RowMatrix outputs = largo::attend(largo::AttentionKind::softmax, law, weights, queries);
  return (outputs - queries).norm() < 1e-12;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || std::string_view(arguments[1]) != largo::kVersion) {
    std::cerr << "version.hpp says " << largo::kVersion << '\n';
    return 1;
  }
  if (!attends()) {
    std::cerr << "attention over a standard Gaussian is not the identity\n";
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
