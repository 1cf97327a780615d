// A law without an exact formula: how far is attention over L uniform tokens from its limit?
#include <cmath>
#include <cstdio>

#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/product.hpp"

int main() {
  const int d = 8;
  const largo::ProductMeasure tokens(d, largo::uniform(std::sqrt(3.0)));  // unit variance
  const largo::Matrix U = 0.5 * largo::Matrix::Identity(d, d);
  const largo::Matrix V = largo::Matrix::Identity(d, d);
  const largo::Vector query = largo::Vector::Ones(d);

  std::printf("%7s  %10s  %23s  %8s  %9s  %6s\n", "L", "output", "95 % interval", "prompts", "variance/",
              "tokens");
  for (const std::int64_t L : {10, 100, 1000, 10000}) {
    largo::ErrorSampling sampling;
    sampling.length = L;
    sampling.plan.samples = 100000;  // at most
    sampling.plan.relative_error = 0.005;
    const largo::SampledErrors errors = largo::sample_attention_errors(tokens, U, V, query, sampling);
    const largo::SampledMean& output = errors.output;
    std::printf("%7ld  %10.3e  %10.3e - %10.3e  %8ld  %9.1f  %6.1f\n", static_cast<long>(L), output.value,
                output.low, output.high, static_cast<long>(output.samples), output.variance_reduction,
                1 / errors.p2.value);
    for (const std::string& warning : errors.warnings) std::printf("         %s\n", warning.c_str());
  }
}
