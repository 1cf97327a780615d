#include "largo/measures/independent_pair.hpp"

#include <algorithm>
#include <utility>

#include "largo/runtime/check.hpp"
#include "measures/mixture_file.hpp"
#include "measures/sampling.hpp"

namespace largo {
namespace {

// The parts have streams of their own; 1 is for what a law draws beside its tokens.
constexpr std::uint64_t kFirstStream = 2;
constexpr std::uint64_t kSecondStream = 3;

std::ptrdiff_t common_dimension(const MeasurePtr& first, const MeasurePtr& second) {
  if (!first || !second) fail("IndependentPair", "a part is null");
  return first->dimension() + second->dimension();
}

}  // namespace

IndependentPair::IndependentPair(MeasurePtr first, MeasurePtr second)
    : Measure(common_dimension(first, second)), first_(std::move(first)), second_(std::move(second)) {
  nesting_ = nesting_around("IndependentPair", {first_, second_});
}

double IndependentPair::log_partition(const ConstVectorRef& direction) const {
  check_direction(direction);
  return first_->log_partition(direction.head(first_->dimension())) +
         second_->log_partition(direction.tail(second_->dimension()));
}

Tilt IndependentPair::join(const Tilt& first, const Tilt& second, TiltOrder order) const {
  Tilt result;
  result.log_partition = first.log_partition + second.log_partition;
  if (order >= TiltOrder::mean) result.mean = stack(first.mean, second.mean);
  if (order >= TiltOrder::covariance) result.covariance = block_diagonal(first.covariance, second.covariance);
  return finite(std::move(result));
}

Tilt IndependentPair::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  return join(first_->tilt(direction.head(first_->dimension()), order),
              second_->tilt(direction.tail(second_->dimension()), order), order);
}

std::vector<Tilt> IndependentPair::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                         const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension());
  std::vector<Tilt> results = first_->tilts(directions.topRows(first_->dimension()), order, execution);
  const std::vector<Tilt> others =
      second_->tilts(directions.bottomRows(second_->dimension()), order, execution);
  for (std::size_t q = 0; q < results.size(); ++q) results[q] = join(results[q], others[q], order);
  return results;
}

Matrix IndependentPair::tilted_covariance_products(const ConstMatrixRef& directions,
                                                   const ConstMatrixRef& vectors,
                                                   const Execution& execution) const {
  check_pairs(directions, vectors);
  const std::ptrdiff_t d1 = first_->dimension();
  const std::ptrdiff_t d2 = second_->dimension();
  Matrix products(dimension(), directions.cols());
  products.topRows(d1) =
      first_->tilted_covariance_products(directions.topRows(d1), vectors.topRows(d1), execution);
  products.bottomRows(d2) =
      second_->tilted_covariance_products(directions.bottomRows(d2), vectors.bottomRows(d2), execution);
  return products;
}

Vector IndependentPair::mean() const { return stack(first_->mean(), second_->mean()); }

Matrix IndependentPair::covariance() const {
  return block_diagonal(first_->covariance(), second_->covariance());
}

double IndependentPair::sub_gaussian_constant() const {
  return std::max(first_->sub_gaussian_constant(), second_->sub_gaussian_constant());
}

SubGaussianKind IndependentPair::sub_gaussian_kind() const {
  return std::max(first_->sub_gaussian_kind(), second_->sub_gaussian_kind());
}

void IndependentPair::sample(const Stream& stream, std::uint64_t first_token,
                             Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  first_->sample(stream.substream(kFirstStream), first_token, tokens.leftCols(first_->dimension()));
  second_->sample(stream.substream(kSecondStream), first_token, tokens.rightCols(second_->dimension()));
}

}  // namespace largo
