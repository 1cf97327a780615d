// Exchanges files with the NumPy on this machine, and is skipped, visibly, where there is none.
#include "largo/io/npy.hpp"
#include "support/fixtures.hpp"

namespace largo::test::numpy_interchange_test {
namespace {

TEST(NumpyInterchange, ReadsWhatNumpyWrites) {
  const TemporaryDirectory directory;
  if (!run_python(directory, "import numpy")) GTEST_SKIP() << "no NumPy in " LARGO_PYTHON;
  ASSERT_TRUE(run_python(directory, R"(
import numpy as np
from numpy.lib import format
a = np.arange(12.0).reshape(3, 4) / 8
np.save('c8.npy', a)
np.save('f8.npy', np.asfortranarray(a))
np.save('c4.npy', a.astype('<f4'))
np.save('one.npy', a[1])
np.save('none.npy', a[:0])
for version in (1, 2, 3):
    with open('v%d.npy' % version, 'wb') as file:
        format.write_array(file, a, version=(version, 0))
np.save('big.npy', a.astype('>f8'))
np.save('int.npy', a.astype('<i4'))
np.save('complex.npy', a.astype('<c16'))
np.save('object.npy', a.astype(object))
np.save('record.npy', np.zeros(3, dtype=[('x', '<f8'), ('y', '<f4')]))
np.save('scalar.npy', np.float64(1))
np.save('cube.npy', np.zeros((2, 2, 2)))
np.savez('archive.npz', a)
)"));
  Matrix expected(3, 4);
  for (int k = 0; k < 12; ++k) expected(k / 4, k % 4) = k / 8.0;
  for (const char* const name : {"c8.npy", "f8.npy", "c4.npy", "v1.npy", "v2.npy", "v3.npy"}) {
    EXPECT_EQ(NpyArray::open(directory / name).matrix(), expected) << name;
  }
  EXPECT_EQ(NpyArray::open(directory / "f8.npy").view().column_stride, 3);
  EXPECT_EQ(NpyArray::open(directory / "one.npy").matrix(), Matrix(expected.row(1)));
  EXPECT_EQ(NpyArray::open(directory / "none.npy").view().rows, 0);

  const auto refusal = [&](std::string_view name) {
    return message_of([&] { NpyArray::open(directory / name); });
  };
  expect_refusals(refusal, {
                               {"big.npy", "big-endian dtype '>f8'"},
                               {"int.npy", "dtype '<i4'"},
                               {"complex.npy", "dtype '<c16'"},
                               {"object.npy", "object dtype '|O'"},
                               {"record.npy", "structured dtype"},
                               {"scalar.npy", "0 dimensions"},
                               {"cube.npy", "3 dimensions"},
                               {"archive.npz", ".npz archive"},
                           });
}

TEST(NumpyInterchange, NumpyReadsWhatWeWrite) {
  const TemporaryDirectory directory;
  if (!run_python(directory, "import numpy")) GTEST_SKIP() << "no NumPy in " LARGO_PYTHON;
  Matrix values(2, 3);
  values << 0.1, -2, 1e300, 5e-324, 3, -0.0;
  write_npy(directory / "a.npy", values);
  write_npy(directory / "b.npy", values.leftCols(2), Scalar::float32);
  EXPECT_TRUE(run_python(directory, R"(
import numpy as np
a = np.load('a.npy')
assert a.dtype == np.dtype('<f8') and a.flags.c_contiguous
assert (a == [[0.1, -2, 1e300], [5e-324, 3, -0.0]]).all() and np.signbit(a[1, 2])
b = np.load('b.npy')
assert b.dtype == np.dtype('<f4') and (b == a[:, :2].astype('<f4')).all()
)"));
}

}  // namespace
}  // namespace largo::test::numpy_interchange_test
