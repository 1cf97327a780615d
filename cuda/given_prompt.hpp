// A given prompt on a GPU, in pieces: those that fit stay there, the others are copied again in every pass.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "attention_kernel.hpp"
#include "measures/tilt_engine.hpp"
#include "runtime.hpp"
#include "staging.hpp"

namespace largo::cuda {

/// How much is done at a time; the results are bit-identical for all values.
struct GivenLimits {
  std::int64_t piece_tokens = std::int64_t{1} << 22;   // rounded up to whole segments
  std::int64_t piece_numbers = std::int64_t{1} << 28;  // limit for tokens with many coordinates
  std::int64_t held_sums = std::int64_t{1} << 27;      // sums of segments, in float64
  std::int64_t launch_work = std::int64_t{1} << 32;    // thread instructions per multiprocessor
  bool pack = true;                                    // store bfloat16 tokens in two bytes per number
  std::size_t kept_bytes = std::numeric_limits<std::size_t>::max();  // in addition to the limit of memory
};

class GivenPrompt final : public measures::KeptPrompt {
 public:
  GivenPrompt(int device, const ArrayView& tokens, const GivenLimits& limits,
              std::shared_ptr<StagingShelf> shelf);
  void sum(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
           const Execution& execution, std::span<double> rows) override;
  /// Bytes of tokens that stay on the device between passes.
  std::size_t bytes_there() const;

 private:
  struct Piece {
    DeviceArray<std::byte> memory;
    bool there = false;
  };
  struct Pass;

  std::int64_t first_token(std::size_t piece) const {
    return static_cast<std::int64_t>(piece) * piece_tokens_;
  }
  std::int64_t tokens_of(std::size_t piece) const;
  std::size_t piece_bytes(std::size_t piece) const;
  void look_at_tokens(const Execution& execution);
  std::size_t directions_of_launch(std::size_t segment_sums, bool covariance) const;
  void sum_pass(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
                const Execution& execution, std::span<double> rows);
  const void* bring(std::size_t piece, const Execution& execution, Pass& pass);

  int device_;
  ArrayView tokens_;
  GivenLimits limits_;
  std::shared_ptr<StagingShelf> shelf_;
  std::int64_t piece_tokens_;
  std::mutex mutex_;  // one pass at a time
  bool looked_at_ = false, halves_ = false;
  std::vector<Piece> pieces_;
  std::size_t kept_pieces_ = 0;  // the first kept_pieces_ pieces stay
};

}  // namespace largo::cuda
