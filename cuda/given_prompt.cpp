#include "given_prompt.hpp"

#include <algorithm>
#include <numbers>

#include "chunk_layout.hpp"
#include "measures/tilt_kernel.hpp"
#include "runtime/distribute.hpp"
#include "token_limit.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "attention on a GPU";
static_assert(token_row(7, false) == measures::KeptPrompt::row_size(7, false) &&
              token_row(7, true) == measures::KeptPrompt::row_size(7, true));
constexpr std::size_t kSpareBytes = std::size_t{1} << 29;  // left for others, and for small arrays

std::vector<float> to_floats(const ConstMatrixRef& values, double factor) {
  std::vector<float> floats;
  for (Eigen::Index q = 0; q < values.cols(); ++q) {
    for (Eigen::Index j = 0; j < values.rows(); ++j)
      floats.push_back(static_cast<float>(values(j, q) * factor));
  }
  return floats;
}

std::int64_t tokens_of_piece(const ArrayView& tokens, const GivenLimits& limits) {
  const std::int64_t wanted =
      std::min({limits.piece_tokens, limits.piece_numbers / tokens.columns, tokens.rows});
  return std::max<std::int64_t>(1, given_segments(wanted)) * kGivenSegment;
}

// The free memory, including what the pool keeps for reuse.
std::size_t free_bytes(int device) {
  constexpr const char* kWhat = "memory of the GPU";
  std::size_t left = 0, all = 0;
  cudaMemPool_t pool = nullptr;
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemGetInfo(&left, &all), kWhat);
  check(cudaDeviceGetDefaultMemPool(&pool, device), kWhat);
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), kWhat);
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), kWhat);
  return left + static_cast<std::size_t>(reserved - used);
}

}  // namespace

// What a pass over the pieces has on the device. All its work has ended by the time it is given back.
struct GivenPrompt::Pass {
  std::array<DeviceArray<std::byte>, 2> passing;  // pieces that do not stay
  std::array<Event, 2> summed;                    // for these pieces
  DeviceArray<float> centre, directions;
  DeviceArray<double> parts;
  std::array<DeviceArray<double>, 2> sums;  // over the pieces so far: without the last one, and with it
  std::array<Event, 2> launched;  // two launches are under way, so that a stop need not wait for more
  std::size_t launches = 0;
  Event arrived;
  StagingShelf& shelf;
  std::unique_ptr<Staging> staging;  // null until something has to be copied
  Stream copies, kernels;

  explicit Pass(StagingShelf& from) : shelf(from) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() {
    cudaStreamSynchronize(copies.get());
    cudaStreamSynchronize(kernels.get());
    if (staging != nullptr) shelf.put_back(std::move(staging));
  }
};

GivenPrompt::GivenPrompt(int device, const ArrayView& tokens, const GivenLimits& limits,
                         std::shared_ptr<StagingShelf> shelf)
    : device_(device),
      tokens_(tokens),
      limits_(limits),
      shelf_(std::move(shelf)),
      piece_tokens_(tokens_of_piece(tokens, limits)) {}

std::int64_t GivenPrompt::tokens_of(std::size_t piece) const {
  return std::min(piece_tokens_, tokens_.rows - first_token(piece));
}

std::size_t GivenPrompt::piece_bytes(std::size_t piece) const {
  return static_cast<std::size_t>(tokens_of(piece) * tokens_.columns) * number_size(halves_);
}

std::size_t GivenPrompt::bytes_there() const {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.there ? piece.memory.size() : 0;
  return bytes;
}

void GivenPrompt::look_at_tokens(const Execution& execution) {
  if (looked_at_) return;
  halves_ = limits_.pack && are_halves(tokens_, execution);
  const std::size_t room = free_bytes(device_);
  const std::size_t spare =
      kSpareBytes + 2 * static_cast<std::size_t>(piece_tokens_ * tokens_.columns) * number_size(halves_) +
      static_cast<std::size_t>(limits_.held_sums) * sizeof(double);
  const std::size_t kept = std::min(limits_.kept_bytes, room > spare ? room - spare : 0);
  const auto pieces = static_cast<std::size_t>((tokens_.rows + piece_tokens_ - 1) / piece_tokens_);
  kept_pieces_ = std::min(pieces, kept / piece_bytes(0));
  pieces_.resize(kept_pieces_);
  looked_at_ = true;
}

// The directions of one launch, so few that their sums fit and a stop need not wait for long: if tokens have
// many coordinates, a multiprocessor has a single warp, and takes ten times as long for an instruction.
std::size_t GivenPrompt::directions_of_launch(std::size_t segment_sums, bool covariance) const {
  int processors = 1;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_),
        "properties of the GPU");
  const std::int64_t d = tokens_.columns;
  const std::int64_t token_work = 32 + 8 * d + (covariance ? 6 * d * (d + 1) / 2 : 0);
  const std::int64_t held = limits_.held_sums / static_cast<std::int64_t>(segment_sums);
  const std::int64_t most =
      limits_.launch_work * processors / (token_work * std::min(piece_tokens_, tokens_.rows));
  return static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(held, most)));
}

const void* GivenPrompt::bring(std::size_t piece, const Execution& execution, Pass& pass) {
  const bool stays = piece < kept_pieces_;
  if (stays && pieces_[piece].there) return pieces_[piece].memory.data();
  DeviceArray<std::byte>& memory = stays ? pieces_[piece].memory : pass.passing[piece % 2];
  if (!stays) pass.summed[piece % 2].wait("attention");
  memory.resize(std::max(memory.size(), piece_bytes(piece)));
  if (pass.staging == nullptr) pass.staging = shelf_->take();
  pass.staging->copy(tokens_, first_token(piece), tokens_of(piece), halves_, execution, memory.data(),
                     pass.copies.get());
  pass.arrived.record(pass.copies.get());
  pass.arrived.hold(pass.kernels.get());
  if (stays) pieces_[piece].there = true;
  return memory.data();
}

void GivenPrompt::sum_pass(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
                           const Execution& execution, std::span<double> rows) {
  const std::size_t width = token_row(static_cast<int>(tokens_.columns), covariance);
  const auto count = static_cast<std::size_t>(directions.cols());
  const auto part = static_cast<std::size_t>(given_segments(std::min(piece_tokens_, tokens_.rows))) * width;
  const std::size_t at_once = std::min(count, directions_of_launch(part, covariance));
  Pass pass(*shelf_);
  pass.centre = DeviceArray<float>(std::span<const float>(to_floats(centre, 1)));
  pass.directions = DeviceArray<float>(std::span<const float>(to_floats(directions, std::numbers::log2e)));
  pass.parts.resize(at_once * part);
  for (DeviceArray<double>& sums : pass.sums) sums.resize(count * width);
  GivenJob job;
  job.halves = halves_;
  job.dimension = static_cast<std::int32_t>(tokens_.columns);
  job.covariance = covariance;
  job.centre = pass.centre.data();
  job.parts = pass.parts.data();
  std::size_t piece = 0;
  for (; first_token(piece) < tokens_.rows; ++piece) {
    job.tokens = bring(piece, execution, pass);
    job.length = tokens_of(piece);
    for (std::size_t first = 0; first < count; first += at_once) {
      runtime::check_stop(execution);
      Event& launched = pass.launched[pass.launches++ % 2];
      launched.wait("attention");
      job.directions = pass.directions.data() + first * static_cast<std::size_t>(tokens_.columns);
      job.directions_count = static_cast<std::int32_t>(std::min(at_once, count - first));
      job.before = piece == 0 ? nullptr : pass.sums[(piece - 1) % 2].data() + first * width;
      job.rows = pass.sums[piece % 2].data() + first * width;
      check(launch_given_sums(job, pass.kernels.get()), "launch of attention");
      launched.record(pass.kernels.get());
    }
    if (piece >= kept_pieces_) pass.summed[piece % 2].record(pass.kernels.get());
  }
  check(cudaStreamSynchronize(pass.kernels.get()), "attention");
  pass.sums[(piece - 1) % 2].read(rows);
}

void GivenPrompt::sum(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
                      const Execution& execution, std::span<double> rows) {
  const std::lock_guard lock(mutex_);
  check(cudaSetDevice(device_), "choice of the GPU");
  check_token_numbers(kName, tokens_.columns);
  look_at_tokens(execution);
  const std::size_t width = token_row(static_cast<int>(tokens_.columns), covariance);
  for (Eigen::Index first = 0; first < directions.cols(); first += measures::kDirectionsPerPass) {
    const Eigen::Index count =
        std::min<Eigen::Index>(measures::kDirectionsPerPass, directions.cols() - first);
    sum_pass(directions.middleCols(first, count), centre, covariance, execution,
             rows.subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width));
  }
}

}  // namespace largo::cuda
