// Laws and matrices by name. What the command line says about bad names is tested in tests/cli.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"

namespace largo::named_test {
namespace {

TEST(NamedMatrix, Values) {
  EXPECT_EQ(named_matrix("M", "0.5*identity", 2, 3), Matrix(0.5 * Matrix::Identity(2, 3)));
  EXPECT_EQ(named_matrix("M", "zeros", 2), Matrix(Matrix::Zero(2, 2)));
  EXPECT_EQ(named_matrix("M", "diag:1,2"), (Matrix{{1, 0}, {0, 2}}));
  EXPECT_EQ(named_matrix("M", "-2*toeplitz:0.5", 2), (Matrix{{-2, -1}, {-1, -2}}));
  EXPECT_EQ(named_matrix("M", "1,0.5;-.5,2e1"), (Matrix{{1, 0.5}, {-0.5, 20}}));
  EXPECT_EQ(named_matrix("M", "2*1,2,3;", 1, 3), (Matrix{{2, 4, 6}}));
  EXPECT_EQ(named_matrix("M", "1;2", 2, 1), (Matrix{{1}, {2}}));
  EXPECT_TRUE(has_own_size("1,0;0,1"));
}

TEST(NamedMatrix, RandomIsAFunctionOfTheSeed) {
  const Matrix first = named_matrix("M", "random:7", 200, 100);
  EXPECT_EQ(first, named_matrix("M", "random:7", 200, 100));
  EXPECT_NE(first, named_matrix("M", "random:8", 200, 100));
  // 20,000 entries of variance 1/100: the sum of squares is 200 ± 2, so this is z = 5.
  EXPECT_NEAR(first.squaredNorm(), 200, 10);
}

class MixtureFiles : public ::testing::Test {
 protected:
  MixtureFiles() { std::filesystem::create_directories(folder); }
  ~MixtureFiles() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  static std::string component(const std::string& law) {
    return "[[component]]\nweight = 1\nlaw = '" + law + "'\n";
  }
  static std::string refusal_of(const std::string& file) {
    try {
      named_law("mixture:" + file, 1);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("largo-mixtures-" + std::to_string(::getpid()));
};

TEST_F(MixtureFiles, OtherKeysAreRefused) {
  EXPECT_NE(refusal_of(write("a.toml", "wieght = 2\n" + component("gaussian")))
                .find("a.toml:1: a mixture has no key 'wieght'"),
            std::string::npos);
  EXPECT_NE(refusal_of(write("b.toml", component("gaussian") + "[other]\nx = 1\n")).find("b.toml:4: "),
            std::string::npos);
}

TEST_F(MixtureFiles, NestingIsBounded) {
  std::string key = "a";
  for (int i = 0; i < 40'000; ++i) key += ".a";
  EXPECT_NE(refusal_of(write("deep.toml", key + " = 1\n")).find("nested"), std::string::npos);
  const std::string self = (folder / "self.toml").string();
  EXPECT_NE(refusal_of(write("self.toml", component("mixture:" + self))).find("16 deep"), std::string::npos);
}

// Each file names the next. The search for file names goes no deeper than the construction of the laws.
TEST_F(MixtureFiles, LongChainsEndSoon) {
  std::string next = "gaussian";
  for (int i = 0; i < 40; ++i) {
    next = "mixture:" + write("chain" + std::to_string(i) + ".toml", component(next));
  }
  EXPECT_NE(refusal_of(next.substr(8)).find("16 deep"), std::string::npos);
  EXPECT_LT(measures::files_of_law(next).size(), 20U);
}

// Sixteen files, each of which names the next eight times: 8^15 components.
TEST_F(MixtureFiles, AllComponentsTogetherAreBounded) {
  std::string next = "gaussian";
  for (int i = 0; i < 16; ++i) {
    std::string text;
    for (int k = 0; k < 8; ++k) text += component(next);
    next = "mixture:" + write("bomb" + std::to_string(i) + ".toml", text);
  }
  EXPECT_NE(refusal_of(next.substr(8)).find("more than 100000 components"), std::string::npos);
  EXPECT_EQ(measures::files_of_law(next).size(), 16U);
  EXPECT_EQ(refusal_of((folder / "bomb2.toml").string()), "");  // 512
}

TEST_F(MixtureFiles, FilesAreNamedAtAnyDepth) {
  const std::string matrix = write("U.csv", "1\n"), tokens = write("t,x.csv", "1\n"),
                    weights = write("w.csv", "1\n"), tensor = (folder / "a.safetensors").string();
  const std::string inner = write("inner.toml", component("gaussian:cov=2*" + matrix) + component("sphere"));
  const std::string outer = write("a=b,c.toml", component("mixture:" + inner) +
                                                    component("tokens:" + tensor + ":T,weights=" + weights) +
                                                    component("elliptical:cov=" + tensor + ":S,low=0.5"));
  using Files = std::vector<std::string>;
  EXPECT_EQ(measures::files_of_law("mixture:" + outer), (Files{outer, inner, matrix, tensor, weights}));
  EXPECT_EQ(measures::files_of_law("gaussian:cov=toeplitz:0.5,mean=1,2"), Files());
  EXPECT_EQ(measures::files_of_law("rademacher:scale=2"), Files());
  // Mistakes are reported elsewhere; files that are named before a mistake count.
  const std::string wrong =
      write("wrong.toml", component("gausian") + component("tokens:" + weights) + "x = 1\n");
  EXPECT_EQ(measures::files_of_law("mixture:" + wrong), Files{wrong});
  EXPECT_EQ(measures::files_of_law("gaussian:cov"), Files());
  EXPECT_EQ(measures::file_of_matrix("0.5*" + matrix), matrix);
  EXPECT_EQ(measures::file_of_matrix(tensor + ":name"), tensor);
  EXPECT_EQ(measures::file_of_matrix("0.5*identity"), std::nullopt);
  EXPECT_EQ(measures::file_of_matrix("diag:1.5,2"), std::nullopt);
}

TEST(NamedMatrix, Refuses) {
  for (const char* bad :
       {"identty", "identity:2", "toeplitz", "toeplitz:x", "diag:", "random:-1", "random:1.5", "x*identity",
        "nofile.npy", "nofile.xyz", "1,2", "1,2;3", "1;2;3", ";", "1,2;;3,4", "1,x;2,3", "1,;2,3"}) {
    EXPECT_THROW(named_matrix("M", bad, 2, 2), InputError) << bad;
  }
  EXPECT_THROW(named_matrix("M", "identity"), InputError);
  EXPECT_THROW(named_matrix("M", "diag:1,2,3", 2, 2), InputError);
  for (const char* own :
       {"diag:1,2", "0.5*diag:1", "M.csv", "./identity.npy", "2*toeplitz.csv", "a*b/zeros.csv"}) {
    EXPECT_TRUE(has_own_size(own)) << own;
  }
  for (const char* any : {"identity", "zeros", "0.5*identity", "-.5*zeros", "toeplitz:0.5",
                          "1e-3*toeplitz:.25", "random:7", ""}) {
    EXPECT_FALSE(has_own_size(any)) << any;
  }
}

TEST(NamedLaw, MomentsOfEachName) {
  const auto variance = [](const char* name) { return named_law(name, 2)->covariance()(0, 0); };
  EXPECT_DOUBLE_EQ(variance("gaussian:cov=diag:3,1"), 3);
  EXPECT_DOUBLE_EQ(variance("rademacher:scale=2"), 4);
  EXPECT_DOUBLE_EQ(variance("uniform:half-width=3"), 3);
  EXPECT_DOUBLE_EQ(variance("three-point:scale=2,mass=0.25"), 1);
  EXPECT_DOUBLE_EQ(variance("bernoulli:probability=0.25"), 0.1875);
  EXPECT_DOUBLE_EQ(variance("sphere:radius=2"), 2);
  EXPECT_DOUBLE_EQ(variance("ball:radius=2"), 1);
  EXPECT_NEAR(variance("elliptical:low=1,high=3"), 2, 1e-14);
  EXPECT_NEAR(variance("elliptical:base=sphere,values=1,3,weights=1,1"), 2, 1e-14);
  EXPECT_GT(variance("laplace:scale=1,bound=100"), 1.999);
  EXPECT_EQ(named_law("gaussian:mean=1,2")->mean(), (Vector{{1, 2}}));
}

TEST(NamedLaw, MixtureFile) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto file = folder / "largo_named_mixture.toml";
  std::ofstream(file) << "[[component]]\nweight = 1\nlaw = \"rademacher\"\nshift = [3.0]\n"
                         "[[component]]\nweight = 3\nlaw = \"gaussian\"\nshift = [-1.0]\n";
  const MeasurePtr law = named_law("mixture:" + file.string());
  EXPECT_NEAR(law->mean()[0], 0, 1e-15);
  EXPECT_NEAR(law->covariance()(0, 0), 1 + 3, 1e-14);
  std::filesystem::remove(file);
}

TEST(NamedLaw, Refuses) {
  for (const char* bad :
       {"gauss", "gaussian:covariance=identity", "rademacher:2", "rademacher:scale=1,scale=2",
        "sphere:radius=0", "bernoulli:probability=1", "mixture:nofile.toml", "tokens:nofile.npy", ""}) {
    EXPECT_THROW(named_law(bad, 2), InputError) << bad;
  }
  EXPECT_THROW(named_law("sphere"), InputError);
  EXPECT_THROW(named_law("gaussian:cov=diag:1,2,3", 2), InputError);
}

}  // namespace
}  // namespace largo::named_test
