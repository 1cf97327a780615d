#include "largo/icl/regression_maps.hpp"

#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

class FactoredMap final : public ParameterMap {
 public:
  explicit FactoredMap(Eigen::Index d) : n_(d + 1) {}
  Eigen::Index size() const override { return 3 * n_ * n_ + n_; }
  Eigen::Index mapped_size() const override { return n_ * n_ + n_; }

  Vector map(const ConstVectorRef& parameters) const override {
    return to_vector(unpack(parameters).merged());
  }

  Vector pull_back(const ConstVectorRef& parameters, const ConstVectorRef& gradient) const override {
    const RegressionParameters merged = to_parameters(gradient, n_ - 1);
    const FactoredParameters slope = factored_gradient(unpack(parameters), {0, merged.U, merged.v});
    Vector packed(size());
    packed << slope.K.reshaped(), slope.Q.reshaped(), slope.V.reshaped(), slope.output;
    return packed;
  }

 private:
  FactoredParameters unpack(const ConstVectorRef& parameters) const {
    check_size("factored_map", "parameters", parameters.size(), size());
    const auto matrix = [&](Eigen::Index i) {
      return Matrix(parameters.segment(i * n_ * n_, n_ * n_).reshaped(n_, n_));
    };
    return {matrix(0), matrix(1), matrix(2), parameters.tail(n_)};
  }
  Eigen::Index n_;
};

class InvariantMap final : public ParameterMap {
 public:
  explicit InvariantMap(Eigen::Index d) : d_(d) {}
  Eigen::Index size() const override { return d_ * d_ + 1; }
  Eigen::Index mapped_size() const override { return (d_ + 1) * (d_ + 2); }

  Vector map(const ConstVectorRef& parameters) const override {
    check_size("invariant_map", "parameters", parameters.size(), size());
    RegressionParameters merged{Matrix::Zero(d_ + 1, d_ + 1), Vector::Zero(d_ + 1)};
    merged.U.topLeftCorner(d_, d_) = parameters.head(d_ * d_).reshaped(d_, d_);
    merged.v[d_] = parameters[d_ * d_];
    return to_vector(merged);
  }

  Vector pull_back(const ConstVectorRef& /*parameters*/, const ConstVectorRef& gradient) const override {
    const RegressionParameters merged = to_parameters(gradient, d_);
    Vector packed(size());
    packed << Matrix(merged.U.topLeftCorner(d_, d_)).reshaped(), merged.v[d_];
    return packed;
  }

 private:
  Eigen::Index d_;
};

}  // namespace

std::shared_ptr<const ParameterMap> factored_map(Eigen::Index d) { return std::make_shared<FactoredMap>(d); }

std::shared_ptr<const ParameterMap> invariant_map(Eigen::Index d) {
  return std::make_shared<InvariantMap>(d);
}

std::shared_ptr<const ParameterMap> map_of(Parametrisation parameters, Eigen::Index d) {
  switch (parameters) {
    case Parametrisation::invariant: return invariant_map(d);
    case Parametrisation::merged: return identity_map((d + 1) * (d + 2));
    case Parametrisation::factored: return factored_map(d);
  }
  return nullptr;
}

}  // namespace largo
