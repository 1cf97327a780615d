// The tokens of which the shared memory of this GPU can hold a chunk.
#pragma once

namespace largo::cuda {

/// The largest dimension, for the current device.
int most_token_numbers();

/// Throws InputError, as the function `name`, for tokens with more coordinates than that, or with none.
void check_token_numbers(const char* name, long long numbers);

}  // namespace largo::cuda
