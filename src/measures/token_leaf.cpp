#include "largo/measures/token_leaf.hpp"

namespace largo {
namespace {

struct DimensionOf {
  std::ptrdiff_t operator()(const NormalTokens& base) const { return base.dimension; }
  std::ptrdiff_t operator()(const SphereTokens& base) const { return base.dimension; }
  std::ptrdiff_t operator()(const ProductTokens& base) const { return std::ssize(base.coordinates); }
  std::ptrdiff_t operator()(const SampledTokens& base) const { return base.law->dimension(); }
};

}  // namespace

std::ptrdiff_t TokenLeaf::base_dimension() const { return std::visit(DimensionOf{}, base); }

Matrix TokenLeaf::whole_map() const {
  if (map.rows() == 0) return scale * Matrix::Identity(base_dimension(), base_dimension());
  return scale * map;
}

Vector TokenLeaf::whole_offset() const {
  if (offset.size() > 0) return offset;
  return Vector::Zero(map.rows() == 0 ? base_dimension() : map.rows());
}

Vector TokenLeaf::pull_back(const ConstVectorRef& direction) const {
  if (map.rows() == 0) return scale * direction;
  return scale * (map.transpose() * direction);
}

Vector TokenLeaf::push_forward(const ConstVectorRef& x) const {
  if (map.rows() == 0) return scale * x;
  return scale * (map * x);
}

std::vector<TokenLeaf> Measure::token_leaves() const {
  TokenLeaf leaf;
  const Vector centre = mean();
  leaf.base = SampledTokens{this, centre};
  leaf.offset = centre;
  return {leaf};
}

}  // namespace largo
