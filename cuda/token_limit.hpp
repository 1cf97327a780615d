// Tokens of which the shared memory of this GPU holds a chunk.
#pragma once

namespace largo::cuda {

/// The largest dimension; of the device that is chosen.
int most_token_numbers();

/// InputError of the function `name` for tokens of more coordinates than that, or of none.
void check_token_numbers(const char* name, long long numbers);

}  // namespace largo::cuda
