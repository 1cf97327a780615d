#include "io/read_matrix.hpp"

#include <cmath>

#include "io/csv.hpp"
#include "largo/io/npy.hpp"
#include "largo/io/safetensors.hpp"
#include "support/fixtures.hpp"

namespace largo::test::read_matrix_test {
namespace {

class ReadMatrix : public testing::Test {
 protected:
  std::string file(std::string_view name) const { return (directory_ / name).string(); }
  std::string refusal(std::string_view name) const {
    return message_of([&] { io::read_matrix(file(name)); });
  }

  TemporaryDirectory directory_;
  Matrix values_ = Matrix::Random(3, 2);
};

TEST_F(ReadMatrix, ReadsEveryKind) {
  write_npy(file("a.npy"), values_);
  write_npy(file("A.NPY"), values_);
  io::write_csv(file("a.csv"), {"x", "y"}, values_);
  write_safetensors(file("a.safetensors"), {{"U", values_}});
  write_safetensors(file("b.safetensors"), {{"U", values_}, {"V:1.npy", 2 * values_}});
  EXPECT_EQ(io::read_matrix(file("a.npy")), values_);
  EXPECT_EQ(io::read_matrix(file("A.NPY")), values_);
  EXPECT_EQ(io::read_matrix(file("a.csv")), values_);
  EXPECT_EQ(io::read_matrix(file("a.safetensors")), values_);
  EXPECT_EQ(io::read_matrix(file("b.safetensors:U")), values_);
  EXPECT_EQ(io::read_matrix(file("b.safetensors:V:1.npy")), 2 * values_);
}

TEST_F(ReadMatrix, AsksWhichTensor) {
  write_safetensors(file("b.safetensors"), {{"U", values_}, {"V", values_}});
  write_safetensors(file("none.safetensors"), {});
  expect_contains(refusal("b.safetensors"),
                  {"has 2 tensors ('U', 'V'), choose one as FILE.safetensors:NAME"});
  expect_contains(refusal("none.safetensors"), {"has 0 tensors"});
  expect_contains(refusal("b.safetensors:W"), {"tensor 'W': is not in the file"});
}

TEST_F(ReadMatrix, RefusesUnknownKinds) {
  expect_refusals([this](const std::string& name) { return refusal(name); },
                  {
                      {"a.txt", "a.txt: unknown kind of file, must be .npy, .csv, .safetensors"},
                      {"npy", "unknown kind of file"},
                      {"", "is a directory"},
                  });
  EXPECT_EQ(message_of([] { io::read_matrix(""); }), "read_matrix: the name of a file is missing");
}

TEST_F(ReadMatrix, RefusesMissingFilesAndDirectories) {
  for (const char* const name : {"no.npy", "no.csv", "no.safetensors", "no.safetensors:U"}) {
    expect_contains(refusal(name), {": cannot be read: No such file or directory"});
  }
  std::filesystem::create_directory(file("d.npy"));
  expect_contains(refusal("d.npy"), {"d.npy: is a directory, must be a file"});
}

TEST_F(ReadMatrix, RefusesWhatIsNotFiniteAndNamesIt) {
  values_(2, 1) = NAN;
  write_npy(file("a.npy"), values_);
  expect_contains(refusal("a.npy"), {"a.npy(2,1) is nan, must be finite"});
  values_(2, 1) = -INFINITY;
  write_safetensors(file("a.safetensors"), {{"U", values_}});
  expect_contains(refusal("a.safetensors:U"), {"a.safetensors:U(2,1) is -inf, must be finite"});
}

TEST_F(ReadMatrix, RefusesNoEntries) {
  write_npy(file("a.npy"), Matrix(0, 3));
  expect_contains(refusal("a.npy"), {"a.npy: is 0 x 3, must have at least one entry"});
}

}  // namespace
}  // namespace largo::test::read_matrix_test
