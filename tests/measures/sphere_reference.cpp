#include <boost/multiprecision/mpfr.hpp>

#include "measures/oracle.hpp"

namespace largo::test {
namespace {

namespace mp = boost::multiprecision;
using Wider = mp::number<mp::mpfr_float_backend<100, mp::allocate_stack>, mp::et_off>;

}  // namespace

// With y = x², e^{Λ_n} = F(y) = Σ_k (y/4)^k / (k! (n/2)_k), whose terms are all positive.
SphereReference sphere_reference(double n, double x) {
  const Wider wide_x = x;
  if (n == 1) {
    const Wider cosh_x = cosh(wide_x);
    const Wider tanh_x = tanh(wide_x);
    return {static_cast<double>(log(cosh_x)), static_cast<double>(tanh_x),
            static_cast<double>(1 / (cosh_x * cosh_x)), x > 0 ? static_cast<double>(tanh_x / wide_x) : 1};
  }
  const Wider y = wide_x * wide_x;
  Wider coefficient = 1;  // of y^k
  Wider f = 1;
  Wider f_y = 0;
  Wider f_yy = 0;
  Wider power = 1;  // y^{k-1}
  Wider previous_power = 0;
  for (int k = 1; k < 3 || coefficient * power * y > f * Wider(1e-110); ++k) {
    coefficient /= 4 * Wider(k) * (Wider(n) / 2 + (k - 1));
    f += coefficient * power * y;
    f_y += k * coefficient * power;
    if (k > 1) f_yy += Wider(k) * (k - 1) * coefficient * previous_power;
    previous_power = power;
    power *= y;
  }
  const Wider slope = f_y / f;
  return {static_cast<double>(log(f)), static_cast<double>(2 * wide_x * slope),
          static_cast<double>(2 * slope + 4 * y * (f_yy / f - slope * slope)),
          static_cast<double>(2 * slope)};
}

}  // namespace largo::test
