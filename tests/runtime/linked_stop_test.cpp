#include "runtime/linked_stop.hpp"

#include <gtest/gtest.h>

namespace largo::linked_stop_test {
namespace {

TEST(LinkedStops, FollowTheStopOfAll) {
  std::atomic<bool> outer = false;
  runtime::LinkedStop inner(&outer);
  EXPECT_FALSE(*inner.flag());
  outer = true;
  for (int i = 0; i < 1000 && !*inner.flag(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(*inner.flag());
  EXPECT_TRUE(*runtime::LinkedStop(&outer).flag()) << "set before it was made";
}

TEST(LinkedStops, AreNoStopOfAll) {
  std::atomic<bool> outer = false;
  runtime::LinkedStop inner(&outer), alone(nullptr);
  inner.set();
  alone.set();
  EXPECT_TRUE(*inner.flag());
  EXPECT_TRUE(*alone.flag());
  EXPECT_FALSE(outer);
}

}  // namespace
}  // namespace largo::linked_stop_test
