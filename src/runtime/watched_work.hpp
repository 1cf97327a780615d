// Long work of which every process has its own part. The others hear how far it has come, and when it fails.
#pragma once

#include <functional>

#include "largo/runtime/execution.hpp"

namespace largo::runtime {

using ShowShare = std::function<void(double share)>;

/// work(own, show) on every process, each with its own part: `own` is the execution without ranks, whose stop
/// is set where `execution`'s is, and also when another process fails. show() takes the share of the part
/// that is done; `progress`, on the first process and this thread, the share of all parts, `weight` being
/// what this one counts. All processes must call it, and meet ten times a second, while another thread works:
/// so an error ends all of them soon, the others with OtherProcessFailed. Without ranks it is work(execution,
/// progress).
void watch_work(const Execution& execution, double weight, const ShowShare& progress,
                const std::function<void(const Execution& own, const ShowShare& show)>& work);

}  // namespace largo::runtime
