#include "python_loss.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "arrays.hpp"
#include "interpreter.hpp"
#include "largo/runtime/check.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

// A number as itself, and several as a list of at most eight.
std::string shown(const ConstRowsRef& rows, Eigen::Index i) {
  constexpr Eigen::Index kShown = 8;
  if (rows.cols() == 1) return fmt::format("{:g}", rows(i, 0));
  const Vector head = rows.row(i).head(std::min(rows.cols(), kShown)).transpose();
  return fmt::format("[{:g}{}]", fmt::join(head.begin(), head.end(), ", "),
                     rows.cols() > kShown ? ", …" : "");
}

// Arrays of one output have no axis for it.
py::array to_argument(const ConstRowsRef& rows) {
  if (rows.cols() == 1) return to_numpy(Vector(rows.col(0)));
  return to_numpy(RowMatrix(rows));
}

class PythonLoss final : public Loss {
 public:
  PythonLoss(std::string name, py::object function)
      : name_(std::move(name)), function_(kept_alive(std::move(function))) {}

  LossRows rows(const ConstRowsRef& outputs, const ConstRowsRef& targets) const override {
    const Eigen::Index n = outputs.rows(), m = outputs.cols();
    const Locked lock;
    const py::handle function(static_cast<PyObject*>(const_cast<void*>(function_.get())));
    const py::object result = call(function, to_argument(outputs), to_argument(targets));
    if (!py::isinstance<py::sequence>(result) || py::len(result) != 2) {
      refuse_type({name_.c_str(), "loss"}, "must return a pair (values, slopes) of arrays");
    }
    const DoubleArray values = read("the values of the loss", result[py::int_(0)], n, 1);
    const DoubleArray slopes = read("the slopes of the loss", result[py::int_(1)], n, m);
    LossRows losses{Eigen::Map<const Vector>(values.data(), n),
                    Eigen::Map<const RowMatrix>(slopes.data(), n, m)};
    for (Eigen::Index i = 0; i < n; ++i) {
      if (!std::isfinite(losses.values[i])) refuse("value", losses.values[i], outputs, targets, i);
      for (Eigen::Index k = 0; k < m; ++k) {
        if (!std::isfinite(losses.slopes(i, k))) refuse("slope", losses.slopes(i, k), outputs, targets, i);
      }
    }
    return losses;
  }

 private:
  // One row for each prompt.
  DoubleArray read(const char* what, const py::object& values, Eigen::Index n, Eigen::Index m) const {
    DoubleArray array = double_array({name_.c_str(), what}, values);
    const bool fits = m == 1 ? array.ndim() == 1 && array.shape(0) == n
                             : array.ndim() == 2 && array.shape(0) == n && array.shape(1) == m;
    if (!fits) {
      const std::string shape = py::str(array.attr("shape"));
      const std::string expected = m == 1 ? fmt::format("({},)", n) : fmt::format("({}, {})", n, m);
      fail(name_, fmt::format("shape of {}", what), shape,
           fmt::format("{}: the function is called once for {} prompts", expected, n));
    }
    return array;
  }

  [[noreturn]] void refuse(const char* what, double number, const ConstRowsRef& outputs,
                           const ConstRowsRef& targets, Eigen::Index i) const {
    fail(name_,
         fmt::format("{} of the loss at output {} and target {}", what, shown(outputs, i), shown(targets, i)),
         number, "finite: mend the function, or scale down the parameters");
  }

  std::string name_;
  std::shared_ptr<const void> function_;
};

}  // namespace

LossPtr to_loss(const char* function, const py::object& loss) {
  if (py::isinstance<py::str>(loss)) return named_loss(py::cast<std::string>(loss));
  if (py::isinstance<Loss>(loss)) return py::cast<std::shared_ptr<Loss>>(loss);
  if (PyCallable_Check(loss.ptr()) == 0) {
    refuse_type({function, "loss"},
                "must be a name, an icl.Loss or a function (outputs, targets) -> (values, slopes)");
  }
  return std::make_shared<PythonLoss>(function, loss);
}

}  // namespace largo::python
