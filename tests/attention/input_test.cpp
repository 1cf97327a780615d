// Every user mistake is an InputError that names what is wrong.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"

namespace largo::input_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr AttentionKind kKinds[] = {AttentionKind::softmax, AttentionKind::linear};

void expect_message(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "no error, expected: " << part;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << "\nexpected: " << part;
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

RowMatrix some_tokens(std::ptrdiff_t length) {
  RowMatrix tokens(length, 3);
  for (std::ptrdiff_t i = 0; i < tokens.size(); ++i)
    tokens.data()[i] = 0.01 * static_cast<double>(i % 97) + 0.1;
  return tokens;
}

class AttentionInput : public ::testing::Test {
 protected:
  // Tries every entry point that takes weights and queries.
  void expect_refused(const std::string& part) const {
    for (const AttentionKind kind : kKinds) {
      for (const Measure* law : std::vector<const Measure*>{&prompt_, &gaussian_}) {
        expect_message([&] { attend(kind, *law, weights_, queries_); }, part);
        expect_message([&] { attention_vjp(kind, *law, weights_, queries_, cotangents_); }, part);
        expect_message([&] { attention_jacobian(kind, *law, weights_, queries_); }, part);
      }
    }
  }

  EmpiricalMeasure prompt_{some_tokens(20)};
  GaussianMeasure gaussian_ = GaussianMeasure::standard(3);
  MergedWeights weights_{Matrix::Ones(3, 4), Matrix::Ones(2, 3)};
  RowMatrix queries_ = RowMatrix::Ones(5, 4);
  RowMatrix cotangents_ = RowMatrix::Ones(5, 2);
};

TEST_F(AttentionInput, RowsOfU) {
  weights_.U.resize(2, 4);
  weights_.U.setOnes();
  expect_refused("attention: shape of U is 2 x 4, must be 3 x 4");
}

TEST_F(AttentionInput, ColumnsOfUAreTheSizeOfAQuery) {
  queries_ = RowMatrix::Ones(5, 3);
  expect_refused("attention: size of a query is 3, must be 4, the number of columns of U");
}

TEST_F(AttentionInput, ColumnsOfV) {
  weights_.V = Matrix::Ones(2, 4);
  expect_refused("attention: shape of V is 2 x 4, must be 2 x 3");
}

TEST_F(AttentionInput, NoQueries) {
  queries_.resize(0, 4);
  cotangents_.resize(0, 2);
  expect_refused("attention: number of queries is 0, must be at least 1");
}

TEST_F(AttentionInput, NotFinite) {
  weights_.U(1, 2) = kNaN;
  expect_refused("attention: U(1,2) is nan, must be finite");
  weights_.U(1, 2) = 1;
  weights_.V(0, 1) = kInf;
  expect_refused("attention: V(0,1) is inf, must be finite");
  weights_.V(0, 1) = 1;
  queries_(4, 3) = -kInf;
  expect_refused("attention: queries(4,3) is -inf, must be finite");
  queries_(4, 3) = 1;
  weights_.score_scale = kNaN;
  expect_refused("attention: score_scale is nan, must be finite");
}

TEST_F(AttentionInput, DirectionsThatOverflow) {
  weights_.U *= 1e308;
  expect_refused("attention: score_scale * U * query");
}

TEST_F(AttentionInput, ResultsThatOverflow) {
  const auto* message = "attention: a result overflows float64";
  weights_.V *= 1e308;
  const GaussianMeasure law(Vector::Constant(3, 10), Matrix::Identity(3, 3));
  for (const AttentionKind kind : kKinds) {
    expect_message([&] { attend(kind, law, weights_, queries_); }, message);
    MergedWeights large = weights_;
    large.score_scale = 100;
    expect_message([&] { attention_jacobian(kind, law, large, queries_); }, message);
  }
}

TEST_F(AttentionInput, Cotangents) {
  for (const AttentionKind kind : kKinds) {
    const auto call = [&] { attention_vjp(kind, prompt_, weights_, queries_, cotangents_); };
    cotangents_ = RowMatrix::Ones(4, 2);
    expect_message(call, "attention_vjp: shape of cotangents is 4 x 2, must be 5 x 2");
    cotangents_ = RowMatrix::Ones(5, 3);
    expect_message(call, "attention_vjp: shape of cotangents is 5 x 3, must be 5 x 2");
    cotangents_ = RowMatrix::Ones(5, 2);
    cotangents_(3, 1) = kNaN;
    expect_message(call, "attention_vjp: cotangents(3,1) is nan, must be finite");
  }
}

TEST_F(AttentionInput, FactorsThatDoNotMatch) {
  FactoredWeights factored{Matrix::Ones(2, 3), Matrix::Ones(3, 4), Matrix::Ones(2, 3)};
  expect_message([&] { factored.merged(); }, "attention: shape of Q is 3 x 4, must be 2 x 4");
  expect_message([&] { attend(AttentionKind::softmax, prompt_, factored, queries_); }, "shape of Q");
  for (const AttentionKind kind : kKinds) {
    for (const bool token_side : {true, false}) {
      factored.K = Matrix::Ones(2, token_side ? 5 : 3);
      factored.Q = Matrix::Ones(2, token_side ? 4 : 5);
      const auto* part = token_side ? "shape of K is 2 x 5, must be 2 x 3"
                                    : "size of a query is 4, must be 5, the number of columns of Q";
      expect_message([&] { attend(kind, prompt_, factored, queries_); }, part);
      expect_message([&] { attention_vjp(kind, prompt_, factored, queries_, cotangents_); }, part);
      expect_message([&] { attention_jacobian(kind, prompt_, factored, queries_); }, part);
    }
  }
  factored.Q = Matrix::Constant(2, 4, kNaN);
  expect_message([&] { factored.merged(); }, "attention: Q(0,0) is nan");
  factored.Q = Matrix::Ones(2, 4);
  factored.K(1, 2) = kInf;
  expect_message([&] { factored.merged(); }, "attention: K(1,2) is inf");
}

TEST(PromptInput, ABadTokenIsNamed) {
  const Vector a = Vector::Ones(3);
  for (const double bad : {kNaN, kInf}) {
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
      for (const std::ptrdiff_t place : {0, 17, 299, 9000}) {
        RowMatrix tokens = some_tokens(9001);
        tokens(place, 2) = bad;
        const EmpiricalMeasure prompt(tokens, std::nullopt, arithmetic);
        const std::string part = "EmpiricalMeasure: token " + std::to_string(place) + ", coordinate 2 is " +
                                 (bad > 0 ? "inf" : "nan") + ", must be finite";
        for (const TiltOrder order : {TiltOrder::log_partition, TiltOrder::mean, TiltOrder::covariance}) {
          expect_message([&] { prompt.tilt(a, order); }, part);
        }
        expect_message([&] { prompt.tilted_covariance_products(a, a); }, part);
        expect_message([&] { (void)prompt.softmax_weights(a); }, part);
        const MergedWeights weights{Matrix::Identity(3, 3), Matrix::Identity(3, 3)};
        expect_message([&] { attend(AttentionKind::linear, prompt, weights, a.transpose()); }, part);
      }
    }
  }
}

TEST(PromptInput, ATokenAtMinusInfinityHasNoMean) {
  RowMatrix tokens = some_tokens(10);
  tokens(4, 1) = -kInf;
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
    const EmpiricalMeasure prompt(tokens, std::nullopt, arithmetic);
    expect_message([&] { prompt.tilt(Vector::Ones(3), TiltOrder::mean); }, "token 4, coordinate 1 is -inf");
  }
}

TEST(PromptInput, Overflow) {
  const RowMatrix tokens = 1e30 * some_tokens(10);
  const EmpiricalMeasure narrow(tokens, std::nullopt, Arithmetic::float32);
  const auto message = "a score or a moment overflows float32: use float64 arithmetic";
  expect_message([&] { narrow.tilt(1e10 * Vector::Ones(3), TiltOrder::mean); }, message);
  expect_message([&] { narrow.tilt(Vector::Ones(3), TiltOrder::covariance); }, message);
  EXPECT_TRUE(EmpiricalMeasure(tokens).tilt(1e10 * Vector::Ones(3), TiltOrder::covariance).mean.allFinite());
  const EmpiricalMeasure wide(1e300 * some_tokens(10));
  expect_message([&] { wide.tilt(1e10 * Vector::Ones(3), TiltOrder::mean); },
                 "a score or a moment overflows float64: scale down U or the tokens");
}

TEST(PromptInput, NoTokens) {
  expect_message([] { EmpiricalMeasure(RowMatrix(0, 3)); }, "EmpiricalMeasure: number of tokens is 0");
  expect_message([] { EmpiricalMeasure(RowMatrix(4, 0)); }, "dimension is 0, must be at least 1");
}

TEST(PromptInput, Weights) {
  const RowMatrix tokens = some_tokens(4);
  const auto with = [&](const Vector& weights) {
    return [&, weights] { EmpiricalMeasure(tokens, weights); };
  };
  expect_message(with(Vector::Ones(3)), "EmpiricalMeasure: size of weights is 3, must be 4");
  expect_message(with((Vector(4) << 1, -0.5, 1, 1).finished()), "weights[1] is -0.5");
  expect_message(with((Vector(4) << 1, 1, kNaN, 1).finished()), "weights[2] is nan");
  expect_message(with((Vector(4) << 1, 1, 1, kInf).finished()), "weights[3] is inf");
  expect_message(with(Vector::Zero(4)), "weights");
}

TEST(PromptInput, Directions) {
  const EmpiricalMeasure prompt(some_tokens(4));
  expect_message([&] { prompt.tilt(Vector::Ones(2), TiltOrder::mean); }, "direction is 2, must be 3");
  expect_message([&] { prompt.tilt(Vector::Constant(3, kNaN), TiltOrder::mean); }, "is nan, must be finite");
  expect_message([&] { (void)prompt.softmax_weights(Vector::Ones(4)); }, "direction is 4, must be 3");
  expect_message([&] { prompt.tilted_covariance_products(Matrix::Ones(3, 2), Matrix::Ones(3, 1)); },
                 "shape of vectors is 3 x 1, must be 3 x 2");
}

}  // namespace
}  // namespace largo::input_test
