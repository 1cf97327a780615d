// Attention with a device: one prompt goes to the device for a call, however many passes the call takes, and
// the results are those of the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "measures/tilt_engine.hpp"
#include "support/fake_device.hpp"

namespace largo::device_prompt_test {
namespace {

// The CPU's pass rounds to float32; the engine below computes in float64.
constexpr double kTolerance = 1e-5;

struct Calls {
  int kept = 0, passes = 0;
  Eigen::Index most_directions = 0;
};

// Computes the sums of KeptPrompt by their definition.
class CpuPrompt final : public measures::KeptPrompt {
 public:
  CpuPrompt(const ArrayView& tokens, Calls& calls) : tokens_(tokens), calls_(calls) { ++calls_.kept; }
  void sum(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
           const Execution& /*execution*/, std::span<double> rows) override {
    ++calls_.passes;
    calls_.most_directions = std::max(calls_.most_directions, directions.cols());
    Matrix Z(tokens_.rows, tokens_.columns);
    for (Eigen::Index i = 0; i < Z.rows(); ++i) {
      for (Eigen::Index j = 0; j < Z.cols(); ++j) Z(i, j) = tokens_(i, j) - centre[j];
    }
    double* next = rows.data();
    for (Eigen::Index q = 0; q < directions.cols(); ++q) {
      const Vector t = Z * directions.col(q) * std::numbers::log2e;
      const double top = std::ceil(t.maxCoeff());
      const Vector w = (t.array() - top).unaryExpr([](double x) { return std::exp2(x); });
      *next++ = w.sum();
      *next++ = w.squaredNorm();
      for (const double x : Vector(Z.transpose() * w)) *next++ = x;
      const Matrix moment = Z.transpose() * w.asDiagonal() * Z;
      for (Eigen::Index j = 0; covariance && j < Z.cols(); ++j)
        next = std::copy_n(moment.col(j).data(), j + 1, next);
      *next++ = top;
    }
    EXPECT_EQ(next, rows.data() + rows.size());
  }

 private:
  ArrayView tokens_;
  Calls& calls_;
};

class CpuTilts final : public measures::TiltEngine {
 public:
  std::shared_ptr<measures::KeptPrompt> keep(const ArrayView& tokens) const override {
    return std::make_shared<CpuPrompt>(tokens, calls);
  }
  mutable Calls calls;
};

class DevicePrompts : public ::testing::Test {
 protected:
  static RowMatrix normals(Eigen::Index rows, Eigen::Index columns, std::uint64_t id) {
    RowMatrix values(rows, columns);
    Stream(5, id).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
    return values;
  }
  static EmpiricalMeasure prompt_of(Eigen::Index d, Arithmetic arithmetic = Arithmetic::float32) {
    return EmpiricalMeasure(normals(400, d, 1), std::nullopt, arithmetic);
  }
  static MergedWeights weights_of(Eigen::Index d) {
    return {Matrix::Identity(d, d) / std::sqrt(static_cast<double>(d)), normals(3, d, 2), 0.7};
  }

  CpuTilts engine_;
  FakeDevice device_{{&engine_}};
  Execution there_{.device = &device_};
};

TEST_F(DevicePrompts, GoThereOnceForACall) {
  for (const Eigen::Index d : {3, 40}) {
    const EmpiricalMeasure prompt = prompt_of(d);
    const MergedWeights weights = weights_of(d);
    const RowMatrix queries = normals(5, d, 3), cotangents = normals(5, 3, 4);
    for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
      engine_.calls = {};
      const RowMatrix outputs = attend(kind, prompt, weights, queries, there_);
      EXPECT_EQ(engine_.calls.kept, 1);
      EXPECT_LT((outputs - attend(kind, prompt, weights, queries)).cwiseAbs().maxCoeff(), kTolerance);
      engine_.calls = {};
      const MergedGradient gradient = attention_vjp(kind, prompt, weights, queries, cotangents, there_);
      EXPECT_EQ(engine_.calls.kept, 1);
      EXPECT_GT(engine_.calls.passes, 1);
      const MergedGradient same = attention_vjp(kind, prompt, weights, queries, cotangents);
      EXPECT_LT((gradient.U - same.U).norm(), kTolerance * same.U.norm());
      EXPECT_LT((gradient.V - same.V).norm(), kTolerance * same.V.norm());
      engine_.calls = {};
      const auto jacobians = attention_jacobian(kind, prompt, weights, queries, there_);
      EXPECT_EQ(engine_.calls.kept, 1);
      const auto exact = attention_jacobian(kind, prompt, weights, queries);
      for (std::size_t q = 0; q < exact.size(); ++q) {
        EXPECT_LT((jacobians[q].U - exact[q].U).norm(), kTolerance * exact[q].U.norm());
      }
    }
  }
}

TEST_F(DevicePrompts, AreThereForAllCallsThatShareThem) {
  const EmpiricalMeasure kept = prompt_of(3).kept_on(device_);
  const EmpiricalMeasure copy = kept.kept_on(device_);
  for (const EmpiricalMeasure& prompt : {kept, copy}) {
    attend(AttentionKind::softmax, prompt, weights_of(3), normals(2, 3, 3), there_);
    attention_jacobian(AttentionKind::linear, prompt, weights_of(3), normals(2, 3, 3), there_);
  }
  EXPECT_EQ(engine_.calls.kept, 1);
  // Another device needs a copy of its own, and the CPU needs none.
  CpuTilts other_engine;
  const FakeDevice other({&other_engine});
  attend(AttentionKind::softmax, kept, weights_of(3), normals(2, 3, 3), {.device = &other});
  attend(AttentionKind::softmax, kept, weights_of(3), normals(2, 3, 3));
  EXPECT_EQ(other_engine.calls.kept, 1);
  EXPECT_EQ(engine_.calls.kept, 1);
}

TEST_F(DevicePrompts, HaveTheProductsOfManyDirectionsInOnePass) {
  const EmpiricalMeasure prompt = prompt_of(4);
  Matrix directions = 0.3 * normals(4, 150, 6);
  const Matrix vectors = normals(4, 150, 7);
  for (const Eigen::Index q : {1, 2, 64, 149})
    directions.col(q) = directions.col(q - 1);  // shared covariances
  const Matrix products = prompt.tilted_covariance_products(directions, vectors, there_);
  EXPECT_EQ(engine_.calls.kept, 1);
  EXPECT_EQ(engine_.calls.passes, 3);
  EXPECT_EQ(engine_.calls.most_directions, 64);
  const Matrix same = prompt.tilted_covariance_products(directions, vectors);
  for (Eigen::Index q = 0; q < same.cols(); ++q) {
    EXPECT_LT((products.col(q) - same.col(q)).norm(), kTolerance * same.col(q).norm()) << q;
  }
}

TEST_F(DevicePrompts, SayWhatIsMissing) {
  const auto message_of = [&](const EmpiricalMeasure& prompt) -> std::string {
    try {
      prompt.tilts(Matrix::Zero(2, 1), TiltOrder::log_partition, there_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message_of(prompt_of(2, Arithmetic::float64)).find("must be float32 on a GPU"),
            std::string::npos);
  EXPECT_NE(
      message_of(EmpiricalMeasure(normals(2, 2, 1), Vector::Ones(2), Arithmetic::float32)).find("on the CPU"),
      std::string::npos);
  RowMatrix bad = normals(3, 2, 1);
  bad(1, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message_of(EmpiricalMeasure(bad, std::nullopt, Arithmetic::float32)).find("token 1"),
            std::string::npos);
}

}  // namespace
}  // namespace largo::device_prompt_test
