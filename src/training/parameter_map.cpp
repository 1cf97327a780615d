#include "largo/training/parameter_map.hpp"

#include <utility>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

template <typename Base>
class Mapped : public Base {
 public:
  Mapped(std::shared_ptr<const Base> risk, std::shared_ptr<const ParameterMap> map)
      : risk_(std::move(risk)), map_(std::move(map)) {
    check_size("in_parameters", "mapped parameters", map_->mapped_size(), risk_->size());
  }
  Eigen::Index size() const override { return map_->size(); }

 protected:
  RiskPoint pull_back(const ConstVectorRef& parameters, RiskPoint point) const {
    point.gradient = map_->pull_back(parameters, point.gradient);
    return point;
  }
  std::shared_ptr<const Base> risk_;
  std::shared_ptr<const ParameterMap> map_;
};

class MappedRisk final : public Mapped<Risk> {
 public:
  using Mapped::Mapped;
  RiskPoint at(const ConstVectorRef& parameters) const override {
    return pull_back(parameters, risk_->at(map_->map(parameters)));
  }
};

class MappedStochasticRisk final : public Mapped<StochasticRisk> {
 public:
  using Mapped::Mapped;
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    return pull_back(parameters, risk_->batch(map_->map(parameters), step));
  }
};

class ComposedMap final : public ParameterMap {
 public:
  ComposedMap(std::shared_ptr<const ParameterMap> inner, std::shared_ptr<const ParameterMap> outer)
      : inner_(std::move(inner)), outer_(std::move(outer)) {
    check_size("composed", "parameters between the maps", inner_->mapped_size(), outer_->size());
  }
  Eigen::Index size() const override { return inner_->size(); }
  Eigen::Index mapped_size() const override { return outer_->mapped_size(); }
  Vector map(const ConstVectorRef& parameters) const override { return outer_->map(inner_->map(parameters)); }
  Vector pull_back(const ConstVectorRef& parameters, const ConstVectorRef& gradient) const override {
    return inner_->pull_back(parameters, outer_->pull_back(inner_->map(parameters), gradient));
  }

 private:
  std::shared_ptr<const ParameterMap> inner_, outer_;
};

class IdentityMap final : public ParameterMap {
 public:
  explicit IdentityMap(Eigen::Index size) : size_(size) {}
  Eigen::Index size() const override { return size_; }
  Eigen::Index mapped_size() const override { return size_; }
  Vector map(const ConstVectorRef& parameters) const override { return parameters; }
  Vector pull_back(const ConstVectorRef& /*parameters*/, const ConstVectorRef& gradient) const override {
    return gradient;
  }

 private:
  Eigen::Index size_;
};

}  // namespace

std::shared_ptr<const ParameterMap> composed(std::shared_ptr<const ParameterMap> inner,
                                             std::shared_ptr<const ParameterMap> outer) {
  return std::make_shared<ComposedMap>(std::move(inner), std::move(outer));
}

std::shared_ptr<const ParameterMap> identity_map(Eigen::Index size) {
  return std::make_shared<IdentityMap>(size);
}

std::shared_ptr<const Risk> in_parameters(std::shared_ptr<const Risk> risk,
                                          std::shared_ptr<const ParameterMap> map) {
  return std::make_shared<MappedRisk>(std::move(risk), std::move(map));
}

std::shared_ptr<const StochasticRisk> in_parameters(std::shared_ptr<const StochasticRisk> risk,
                                                    std::shared_ptr<const ParameterMap> map) {
  return std::make_shared<MappedStochasticRisk>(std::move(risk), std::move(map));
}

}  // namespace largo
