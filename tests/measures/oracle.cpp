#include "measures/oracle.hpp"

#include <utility>

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/mpfr.hpp>

#include <boost/multiprecision/eigen.hpp>

namespace largo::test {
namespace {

namespace mp = boost::multiprecision;
using Wide = mp::number<mp::mpfr_float_backend<50, mp::allocate_stack>, mp::et_off>;
using Column = Eigen::Matrix<Wide, Eigen::Dynamic, 1>;
using Square = Eigen::Matrix<Wide, Eigen::Dynamic, Eigen::Dynamic>;

// Legendre nodes integrate e^{kx} on an interval of length w to 50 digits when k w < 100 or so: every
// integrand below is entire, and directions are chosen within that.
constexpr int kNodes = 90;
// The trapezoidal rule for a Gaussian integrand has an error of e^{-2π²/h²} = 1e-54 at h = 0.4, and its
// finite range one of e^{-16²/2}.
constexpr double kGaussianStep = 0.4;
constexpr double kGaussianRange = 16;

struct Node {
  Wide at;
  Wide weight;
};

/// Gauss-Legendre nodes on [-1, 1], by Newton's method on the recurrence.
std::vector<Node> legendre_nodes() {
  std::vector<Node> nodes;
  for (int i = 0; i < kNodes; ++i) {
    Wide x = cos(boost::math::constants::pi<Wide>() * (i + Wide(0.75)) / (kNodes + Wide(0.5)));
    Wide slope = 0;
    for (int step = 0; step < 8; ++step) {
      Wide before = 1;
      Wide value = x;
      for (int k = 2; k <= kNodes; ++k) {
        const Wide next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = std::exchange(value, next);
      }
      slope = kNodes * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    nodes.push_back({x, 2 / ((1 - x * x) * slope * slope)});
  }
  return nodes;
}

std::vector<Node> nodes_on(const Wide& low, const Wide& high) {
  static const std::vector<Node> unit = legendre_nodes();
  const Wide half = (high - low) / 2;
  std::vector<Node> nodes;
  for (const Node& node : unit) nodes.push_back({(low + high) / 2 + half * node.at, half * node.weight});
  return nodes;
}

/// The nodes of a law of one real variable; the weights sum to one.
std::vector<Node> nodes_of(const Line& line) {
  std::vector<Node> nodes;
  for (const LineAtom& atom : line.atoms) nodes.push_back({atom.at, atom.mass});
  for (const LinePiece& piece : line.pieces) {
    for (const Node& node : nodes_on(piece.low, piece.high)) {
      nodes.push_back({node.at, node.weight * exp(node.at * Wide(piece.rate))});
    }
  }
  Wide total = 0;
  for (const Node& node : nodes) total += node.weight;
  for (Node& node : nodes) node = {node.at + Wide(line.offset), node.weight / total};
  return nodes;
}

}  // namespace

struct WideVector {
  Column entries;
};

/// ∫ (1, z, zzᵀ) e^{<a,z>} dμ. MPFR's exponents do not overflow.
struct Moments {
  Wide mass;
  Column first;
  Square second;
};

namespace {

/// An oracle made from a function.
template <class F>
class Defined final : public Oracle {
 public:
  explicit Defined(F f) : f_(std::move(f)) {}
  Moments moments(const WideVector& direction) const override { return f_(direction.entries); }

 private:
  F f_;
};

template <class F>
OraclePtr define(F f) {
  return std::make_shared<Defined<F>>(std::move(f));
}

Moments zero_moments(std::ptrdiff_t d) { return {0, Column::Zero(d), Square::Zero(d, d)}; }

void accumulate(Moments& total, const Wide& weight, const Moments& part) {
  total.mass += weight * part.mass;
  total.first += weight * part.first;
  total.second += weight * part.second;
}

/// The moments of z + b from those of z.
Moments translated(const Moments& z, const Column& a, const Column& b) {
  const Square cross = z.first * b.transpose();
  const Wide factor = exp(a.dot(b));
  return {factor * z.mass, factor * (z.first + z.mass * b),
          factor * (z.second + cross + cross.transpose() + z.mass * (b * b.transpose()))};
}

/// Moments of one coordinate t of an isotropic x in R^d under e^{rho t}, and of a coordinate across it:
/// E e^{rho t} (1, t, t², x_2²).
struct Ray {
  Wide mass = 0;
  Wide first = 0;
  Wide second = 0;
  Wide across = 0;
  void add(const Wide& weight, const Wide& t, const Wide& across_square) {
    mass += weight;
    first += weight * t;
    second += weight * t * t;
    across += weight * across_square;
  }
};

Ray gaussian_ray(const Wide& rho) {
  Ray ray;
  const Wide factor = kGaussianStep / sqrt(2 * boost::math::constants::pi<Wide>());
  const int steps = static_cast<int>((kGaussianRange + abs(rho)) / kGaussianStep) + 1;
  for (int i = -steps; i <= steps; ++i) {
    const Wide t = i * Wide(kGaussianStep);
    ray.add(factor * exp(rho * t - t * t / 2), t, 1);
  }
  return ray;
}

/// A coordinate t = r cos θ of the sphere has density ∝ sin^{d-2} θ dθ, of the ball sin^d θ dθ; the other
/// coordinates share r²(1 - cos² θ) as on a sphere, or ball, of one dimension less.
Ray round_ray(int sine_power, int sharers, const Wide& radius, const Wide& rho) {
  Ray ray;
  Wide total = 0;
  for (const Node& node : nodes_on(0, boost::math::constants::pi<Wide>())) {
    const Wide sine = sin(node.at);
    const Wide weight = node.weight * pow(sine, sine_power);
    const Wide t = radius * cos(node.at);
    total += weight;
    ray.add(weight * exp(rho * t), t, radius * radius * sine * sine / sharers);
  }
  return {ray.mass / total, ray.first / total, ray.second / total, ray.across / total};
}

Ray sphere_ray(std::ptrdiff_t d, const Wide& radius, const Wide& rho) {
  const int dimension = static_cast<int>(d);
  if (dimension > 1) return round_ray(dimension - 2, dimension - 1, radius, rho);
  Ray ray;
  ray.add(exp(rho * radius) / 2, radius, 0);
  ray.add(exp(-rho * radius) / 2, -radius, 0);
  return ray;
}

/// Moments of Γ^{1/2} x along a, with x isotropic: x = t e + the rest, where e = Γ^{1/2}a/s.
template <class RayOf>
Moments isotropic_image(const Square& shape, const Column& a, const Wide& scale, const RayOf& ray_of) {
  const Column shifted = shape * a;
  const Wide square = a.dot(shifted);
  const Wide s = square > 0 ? Wide(sqrt(square)) : Wide(0);
  const Ray ray = ray_of(Wide(s * scale));
  const Column u = s > 0 ? Column(shifted / s) : Column::Zero(a.size());
  const Square along = u * u.transpose();
  // At s = 0 any direction serves as e: then across equals second, and the formula needs no u.
  return {ray.mass, scale * ray.first * u,
          scale * scale * (ray.second * along + (s > 0 ? ray.across : ray.second) * (shape - along))};
}

OraclePtr round_law(std::ptrdiff_t d, const std::function<Ray(const Wide&)>& ray_of) {
  return define([=](const Column& a) { return isotropic_image(Square::Identity(d, d), a, 1, ray_of); });
}

template <class RayOf>
OraclePtr elliptical(const Matrix& shape, const Line& radial, const RayOf& ray_of) {
  return define([=](const Column& a) {
    Moments total = zero_moments(a.size());
    for (const Node& node : nodes_of(radial)) {
      accumulate(total, node.weight, isotropic_image(shape.cast<Wide>(), a, sqrt(node.at), ray_of));
    }
    return total;
  });
}

}  // namespace

Expected expected_tilt(const Oracle& law, const Vector& direction) {
  const Moments moments = law.moments({direction.cast<Wide>()});
  const Column mean = moments.first / moments.mass;
  const Square covariance = moments.second / moments.mass - mean * mean.transpose();
  return {static_cast<double>(log(moments.mass)), mean.cast<double>(), covariance.cast<double>()};
}

OraclePtr atoms(const RowMatrix& tokens, const Vector& weights) {
  return define([=](const Column& a) {
    Moments total = zero_moments(tokens.cols());
    for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) {
      const Column z = tokens.row(l).transpose().cast<Wide>();
      accumulate(total, weights[l] * exp(a.dot(z)), {1, z, z * z.transpose()});
    }
    const Wide sum = weights.cast<Wide>().sum();
    return Moments{total.mass / sum, total.first / sum, total.second / sum};
  });
}

OraclePtr independent(const std::vector<Line>& coordinates) {
  return define([=](const Column& a) {
    const std::ptrdiff_t d = a.size();
    Moments total{1, Column(d), Square(d, d)};
    Column variance(d);
    for (std::ptrdiff_t j = 0; j < d; ++j) {
      Ray ray;
      for (const Node& node : nodes_of(coordinates[static_cast<std::size_t>(j)])) {
        ray.add(node.weight * exp(a[j] * node.at), node.at, 0);
      }
      total.mass *= ray.mass;
      total.first[j] = ray.first / ray.mass;
      variance[j] = ray.second / ray.mass - total.first[j] * total.first[j];
    }
    total.second = total.mass * (total.first * total.first.transpose());
    for (std::ptrdiff_t j = 0; j < d; ++j) total.second(j, j) += total.mass * variance[j];
    total.first *= total.mass;
    return total;
  });
}

OraclePtr gaussian(const Vector& mean, const Matrix& covariance) {
  return define([=](const Column& a) {
    return translated(isotropic_image(covariance.cast<Wide>(), a, 1, gaussian_ray), a, mean.cast<Wide>());
  });
}

OraclePtr sphere(std::ptrdiff_t dimension, double radius) {
  return round_law(dimension, [=](const Wide& rho) { return sphere_ray(dimension, radius, rho); });
}

OraclePtr ball(std::ptrdiff_t dimension, double radius) {
  const int d = static_cast<int>(dimension);
  return round_law(dimension, [=](const Wide& rho) { return round_ray(d, d + 1, radius, rho); });
}

OraclePtr elliptical_gaussian(const Matrix& shape, const Line& radial) {
  return elliptical(shape, radial, gaussian_ray);
}

OraclePtr elliptical_sphere(const Matrix& shape, const Line& radial) {
  const std::ptrdiff_t d = shape.rows();
  return elliptical(shape, radial,
                    [d](const Wide& rho) { return sphere_ray(d, sqrt(Wide(static_cast<double>(d))), rho); });
}

OraclePtr affine(const Matrix& map, const Vector& offset, const OraclePtr& base) {
  return define([=](const Column& a) {
    const Square m = map.cast<Wide>();
    const Moments z = base->moments({m.transpose() * a});
    return translated({z.mass, m * z.first, m * z.second * m.transpose()}, a, offset.cast<Wide>());
  });
}

OraclePtr mixture(const Vector& weights, const std::vector<OraclePtr>& components) {
  return define([=](const Column& a) {
    Moments total = zero_moments(a.size());
    for (std::size_t k = 0; k < components.size(); ++k) {
      const Wide weight = Wide(weights[static_cast<std::ptrdiff_t>(k)]) / weights.cast<Wide>().sum();
      accumulate(total, weight, components[k]->moments({a}));
    }
    return total;
  });
}

}  // namespace largo::test
