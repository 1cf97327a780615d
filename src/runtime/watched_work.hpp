// Long work of which every process does its own part. The processes tell each other how far they have come,
// and when one of them fails.
#pragma once

#include <functional>

#include "largo/runtime/execution.hpp"

namespace largo::runtime {

using ShowShare = std::function<void(double share)>;

/// Runs work(own, show) on every process, each with its own part. `own` is the execution without ranks; its
/// stop is set when that of `execution` is, and also when another process fails. show() takes the share of
/// this part that is done. `progress` is called on the first process, on this thread, with the share of all
/// parts that is done; this part counts with `weight`. All processes must call watch_work(). They meet ten
/// times a second while another thread works, so an error soon ends all of them, the others with
/// OtherProcessFailed. Without ranks this is work(execution, progress).
void watch_work(const Execution& execution, double weight, const ShowShare& progress,
                const std::function<void(const Execution& own, const ShowShare& show)>& work);

}  // namespace largo::runtime
