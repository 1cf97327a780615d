// Runs on a GPU the functions that host and device share.
#pragma once

#include <cstdint>
#include <vector>

#include "draws.cuh"

namespace largo::cuda {

/// The draws of one token, to be compared bit by bit.
struct TokenDraws {
  std::uint32_t words[2];
  float normals[2], coin, interval, atom, to_sphere, two_sided, power, fixed_weight, weight;
};

/// The draws of tokens 0, 1, ... of the address.
std::vector<TokenDraws> draws_on_device(const Address& at, std::size_t count);

/// How many float32 numbers from 2^-40 to 2^40 have a root_of_squared_radius() other than √.
std::uint64_t wrong_roots_on_device();

struct Functions {
  double exponential, logarithm, root, chi_squared;
};
std::vector<Functions> functions_on_device(const std::vector<double>& arguments);

}  // namespace largo::cuda
