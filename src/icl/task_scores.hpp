// The law of a head's scores given one coordinate of the query.
//
// In standard coordinates (standard_coordinates.hpp), turned so that u_y = |label| ξ where ξ is the first
// coordinate of the query, only ξ multiplies the task. Given ξ, the vector û + u_y ŵ = m + N z is Gaussian,
// where z is all other coordinates of query and task. So s² = |m + N z|² + τ² u_y² is a quadratic form of a
// Gaussian in any dimension, and c, κ and y are quadratic forms of z too. As in query_law.hpp, let ζ be
// coordinates in which NᵀN = diag(λ), and Q = s² minus its smallest value. A tilt by e^{uQ} leaves ζ
// Gaussian, with variances D_j = 1/(1 - 2uλ_j) and means 2u σ_j m_j D_j. Averages given Q are integrals over
// u, on the same contour, of averages that the tilts have in closed form.
#pragma once

#include "largo/runtime/matrix.hpp"

namespace largo::icl {

/// A head and its problem in turned standard coordinates.
struct TurnedHead {
  Matrix hidden;   ///< û = hidden χ
  Matrix tasks;    ///< ŵ = tasks ω
  Matrix targets;  ///< y = <ω, targets χ>
  Vector v_hat;
  double label = 0;  ///< u_y = label ξ
  double v_y = 0;
  double noise = 0;
};

/// The integrand ½ (square c² + 2 cross c y + noise κ) at one s², the slope in s² of `square`, and the common
/// one of the others.
struct ScoreFactors {
  double square = 0, cross = 0, noise = 0;
  double square_slope = 0, slope = 0;
  double doubt = 0;  ///< error of `square`
};

/// Gradient in the fields of TurnedHead.
struct TurnedSlope {
  Matrix hidden, targets;
  Vector v_hat;
  double label = 0, v_y = 0;
};

/// Sums over values of Q. The matrices are for slopes: coefficients of the integrand's differential times 1,
/// ζ_i and ζ_i ζ_j; empty if not wanted.
struct TaskScoreSums {
  double value = 0;
  double coarse = 0;  ///< from every other node of the contours
  double size = 0;    ///< sum of absolute values
  double doubt = 0;   ///< error of the value from that of `square`
  Matrix scores;      ///< with the coefficient of dc
  Matrix squares;     ///< with twice the coefficient of ds²
  Matrix values;      ///< with twice the coefficient of dκ
  Matrix targets;     ///< with the coefficient of dy

  void operator+=(const TaskScoreSums& other);
  void operator*=(double factor);
};

class TaskScores {
 public:
  TaskScores(const TurnedHead& head, double xi);

  double smallest_square() const { return smallest_square_; }  ///< s² where Q = 0
  int rank() const { return rank_; }                           ///< number of λ_j > 0; zero: s² is constant

  /// The value q of Q whose saddle point u has the deviance w²/2 = uq - log E e^{uQ}, where w has the sign of
  /// u. As a function of w the law of Q is nearly standard normal for all λ_j and m_j: near where it begins,
  /// q is resolved as finely as necessary. The slope is dq/dw = w/u. Domain: w != 0.
  struct Place {
    double q = 0, slope = 0;
    double tilt = 0;         ///< -2λu, above -1
    double log_density = 0;  ///< of Q at q, approximately
  };
  Place place(double w) const;

  TaskScoreSums no_sums() const;
  TaskScoreSums no_sums_with_slopes() const;
  /// Adds `weight` times the density of the integrand at this place.
  void add(const Place& place, double weight, const ScoreFactors& factors, TaskScoreSums& sums) const;
  /// Adds `weight` times the average of the integrand, if s² is constant.
  void add_constant(double weight, const ScoreFactors& factors, TaskScoreSums& sums) const;

  /// Converts sums with slopes to a gradient in the parameters.
  TurnedSlope slope(const TaskScoreSums& sums) const;

 private:
  struct Form {  // c + 2 bᵀζ + ζᵀAζ
    Matrix A;
    Vector b;
    double c = 0;
  };
  struct Tilt;
  struct TiltedForm;
  void add_tilt(const Tilt& tilt, const ScoreFactors& factors, TaskScoreSums& sums) const;
  void add_slopes(const Tilt& tilt, const TiltedForm& c, const TiltedForm& y, const TiltedForm& kappa,
                  const ScoreFactors& factors, TaskScoreSums& sums) const;

  const TurnedHead& head_;
  double xi_;
  int rank_ = 0;
  double largest_ = 0, smallest_square_ = 0;
  Vector ratio_;                              // λ_j/λ
  Vector distance_;                           // m_j²/λ
  Vector shift_;                              // σ_j m_j/λ
  Matrix scores_, tasks_, queries_, omegas_;  // û + u_y ŵ, ŵ, χ and ω as maps of (1, ζ)
  Form c_, y_, kappa_;
  Matrix cc_, cy_;            // products of coefficients of the forms
  Vector rest_cc_, rest_cy_;  // sums of their rows where D_j = 1
};

}  // namespace largo::icl
