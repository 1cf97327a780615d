#include <algorithm>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>

#include "measures/tilt_kernel.hpp"
#include "runtime/distribute.hpp"

namespace largo::measures {

SumLayout::SumLayout(TiltTask task, std::int64_t d) {
  const bool has_tokens = task == TiltTask::mean || task == TiltTask::covariance;
  tokens = partition + 1;
  centred = tokens + (has_tokens ? d : 0);
  pairs = centred + (task == TiltTask::covariance_product ? d : 0);
  products = pairs + (task == TiltTask::covariance ? d * (d + 1) / 2 : 0);
  rows = products + (task == TiltTask::covariance_product ? d : 0);
}

template <typename T>
std::int64_t TiltProblem<T>::rows() const {
  return SumLayout(task, dimension()).rows;
}

// Segments are computed on any thread and merged by an in-order filter: the sums are those of a plain loop.
template <typename T>
WeightedSums accumulate_prompt(const TiltProblem<T>& problem, const Execution& execution) {
  const std::int64_t length = problem.tokens.rows;
  const std::int64_t segments = (length + kSegment - 1) / kSegment;
  // A task holds the sums of all its segments: more than a few would only cost memory.
  const std::int64_t per_task = std::clamp<std::int64_t>(execution.chunk / kSegment, 1, 8);
  const auto empty = [&] {
    return WeightedSums(problem.rows(), problem.groups, problem.width, problem.rounding(), kScoreUnit<T>);
  };
  const auto segment_sums = [&](std::int64_t segment) {
    runtime::check_stop(execution);
    WeightedSums sums = empty();
    accumulate_segment(problem, segment * kSegment, std::min(length, (segment + 1) * kSegment), sums);
    return sums;
  };
  WeightedSums total = empty();
  const int threads = runtime::thread_count(execution);
  if (threads == 1 || segments <= per_task) {
    for (std::int64_t segment = 0; segment < segments; ++segment) total.merge(segment_sums(segment));
    return total;
  }

  // No more tasks are under way than there are places for their sums.
  const auto places = static_cast<std::size_t>(2 * threads);
  std::vector<std::vector<WeightedSums>> sums(places);
  const auto sums_of = [&](std::int64_t first) -> std::vector<WeightedSums>& {
    return sums[static_cast<std::size_t>(first / per_task) % places];
  };
  std::int64_t next = 0;
  const auto hand_out = [&](tbb::flow_control& control) {
    const runtime::race_detector::Stage stage;
    const std::int64_t first = next;
    if (first >= segments) control.stop();
    next += per_task;
    return first;
  };
  const auto compute = [&](std::int64_t first) {
    const runtime::race_detector::Stage stage;
    for (std::int64_t k = first; k < std::min(segments, first + per_task); ++k) {
      sums_of(first).push_back(segment_sums(k));
    }
    return first;
  };
  const auto merge = [&](std::int64_t first) {
    const runtime::race_detector::Stage stage;
    for (const WeightedSums& segment : sums_of(first)) total.merge(segment);
    sums_of(first).clear();
  };
  runtime::run_with_threads(execution, [&] {
    using First = std::int64_t;
    tbb::parallel_pipeline(places,
                           tbb::make_filter<void, First>(tbb::filter_mode::serial_in_order, hand_out) &
                               tbb::make_filter<First, First>(tbb::filter_mode::parallel, compute) &
                               tbb::make_filter<First, void>(tbb::filter_mode::serial_in_order, merge));
  });
  return total;
}

template struct TiltProblem<float>;
template struct TiltProblem<double>;
template WeightedSums accumulate_prompt(const TiltProblem<float>&, const Execution&);
template WeightedSums accumulate_prompt(const TiltProblem<double>&, const Execution&);

}  // namespace largo::measures
