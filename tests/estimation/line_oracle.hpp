// The errors of attention on the line, d = 1, for any laws of tokens and queries given by nodes and weights:
// an oracle for sampled errors that sees every rare token and every rare query.
//
// With y = x − mean(ν_a), h = y² − var(ν_a), weights e^{u}, u = ax − Λ(a), and sums S[f] = Σ_i e^{u_i} f(x_i)
// over L tokens, T̂ − T = S[y]/S[1] and Ĉ − C = S[h]/S[1] − (S[y]/S[1])². Means of products of r such ratios
// are 1/Γ(r) ∫ t^{r−1} E[∏ S[f_j] e^{−t S[1]}] dt. The tokens are independent, so that the expectation is a
// sum over set partitions of the factors. The trapezoidal rule in ln t has the error e^{−π²/step}.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace largo::test {

/// A law on the line, by nodes and probabilities.
struct LineLaw {
  std::vector<double> x, p;
};

/// The trapezoidal rule for a density that need not be normalised.
inline LineLaw density_nodes(double low, double high, int count,
                             const std::function<double(double)>& density) {
  LineLaw law;
  double sum = 0;
  for (int k = 0; k <= count; ++k) {
    law.x.push_back(low + (high - low) * k / count);
    law.p.push_back(density(law.x.back()) * (k == 0 || k == count ? 0.5 : 1));
    sum += law.p.back();
  }
  for (double& p : law.p) p /= sum;
  return law;
}

inline LineLaw normal_nodes(double mean, double deviation, int count) {
  return density_nodes(mean - 12 * deviation, mean + 12 * deviation, count, [=](double x) {
    return std::exp(-(x - mean) * (x - mean) / (2 * deviation * deviation));
  });
}

struct LineErrors {
  double output = 0, gradient_U = 0;
};

class LineOracle {
 public:
  /// U = V = 1, and a is the tilt.
  LineOracle(const LineLaw& law, double a, double length) : L_(length), p_(law.p) {
    const std::size_t n = law.x.size();
    u_.resize(n);
    y_.resize(n);
    h_.resize(n);
    double top = -1e300;
    for (const double x : law.x) top = std::max(top, a * x);
    double sum = 0, mean = 0;
    for (std::size_t k = 0; k < n; ++k) sum += p_[k] * std::exp(a * law.x[k] - top);
    for (std::size_t k = 0; k < n; ++k) {
      u_[k] = a * law.x[k] - top - std::log(sum);
      mean += p_[k] * std::exp(u_[k]) * law.x[k];
    }
    double variance = 0;
    for (std::size_t k = 0; k < n; ++k) {
      y_[k] = law.x[k] - mean;
      variance += p_[k] * std::exp(u_[k]) * y_[k] * y_[k];
    }
    for (std::size_t k = 0; k < n; ++k) h_[k] = y_[k] * y_[k] - variance;
  }

  LineErrors errors(double query) {
    // E[y²], E[h²], E[h y y] and E[y⁴], where each factor stands for its S[·]/S[1].
    const double top = *std::max_element(u_.begin(), u_.end());
    const double bottom = *std::min_element(u_.begin(), u_.end());
    LineErrors sum;
    double M22 = 0, M211 = 0, M1111 = 0;
    for (double log_t = -std::log(L_) - top - 40; log_t < 5 - bottom; log_t += kStep) {
      const double t = std::exp(log_t);
      set(t);
      if (L_ * log_phi_ < -700 && t > 1) break;
      const double t2 = t * t;
      sum.output += kStep * t2 * product({{1, 0}, {1, 0}});
      M22 += kStep * t2 * product({{0, 1}, {0, 1}});
      M211 += kStep * t2 * t / 2 * product({{0, 1}, {1, 0}, {1, 0}});
      M1111 += kStep * t2 * t2 / 6 * product({{1, 0}, {1, 0}, {1, 0}, {1, 0}});
    }
    sum.gradient_U = query * query * (M22 - 2 * M211 + M1111);
    return sum;
  }

 private:
  static constexpr double kStep = 0.125;
  struct Powers {
    int y, h;
  };

  // Φ of every product of at most four factors at t.
  void set(double t) {
    for (auto& row : phi_) row.fill(0);
    double missing = 0;
    for (std::size_t k = 0; k < u_.size(); ++k) {
      const double e = std::exp(u_[k]);
      missing += p_[k] * -std::expm1(-t * e);
      const double decay = p_[k] * std::exp(-t * e);
      if (decay == 0) continue;
      double power = decay;
      for (std::size_t i = 0; i <= 4; ++i, power *= e * y_[k]) {
        double factor = power;
        for (std::size_t j = 0; i + j <= 4 && j <= 2; ++j, factor *= e * h_[k]) phi_[i][j] += factor;
      }
    }
    log_phi_ = std::log1p(-missing);
  }
  // E[∏ S[f_j] e^{−t S[1]}]: each factor joins a block of the partition, or opens one.
  double product(const std::vector<Powers>& factors) const {
    std::vector<Powers> blocks;
    const std::function<double(std::size_t)> rest = [&](std::size_t next) -> double {
      if (next == factors.size()) {
        double value = 1;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          value *= (L_ - static_cast<double>(b)) *
                   phi_[static_cast<std::size_t>(blocks[b].y)][static_cast<std::size_t>(blocks[b].h)];
        }
        return value == 0 ? 0 : value * std::exp((L_ - static_cast<double>(blocks.size())) * log_phi_);
      }
      double sum = 0;
      for (std::size_t b = 0; b <= blocks.size(); ++b) {
        if (b == blocks.size()) {
          blocks.push_back(factors[next]);
          sum += rest(next + 1);
          blocks.pop_back();
          break;
        }
        blocks[b] = {blocks[b].y + factors[next].y, blocks[b].h + factors[next].h};
        sum += rest(next + 1);
        blocks[b] = {blocks[b].y - factors[next].y, blocks[b].h - factors[next].h};
      }
      return sum;
    };
    return rest(0);
  }

  double L_, log_phi_ = 0;
  std::vector<double> u_, p_, y_, h_;
  std::array<std::array<double, 3>, 5> phi_{};
};

/// The errors averaged over queries, with U = V = 1.
inline LineErrors line_errors(const LineLaw& tokens, const LineLaw& queries, double length) {
  LineErrors average;
  for (std::size_t j = 0; j < queries.x.size(); ++j) {
    if (queries.p[j] < 1e-60) continue;
    const LineErrors here = LineOracle(tokens, queries.x[j], length).errors(queries.x[j]);
    average.output += queries.p[j] * here.output;
    average.gradient_U += queries.p[j] * here.gradient_U;
  }
  return average;
}

}  // namespace largo::test
