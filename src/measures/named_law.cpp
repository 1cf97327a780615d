#include "largo/measures/named_law.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/parse_numbers.hpp"
#include "io/read_matrix.hpp"
#include "largo/io/npy.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "measures/mixture_file.hpp"
#include "measures/named_files.hpp"
#include "runtime/closest_name.hpp"

namespace largo {
namespace {

using Dimension = std::optional<std::ptrdiff_t>;

constexpr int kMostNestedFiles = 16;  // mixtures in mixtures; a file that names itself would never end

// Mixtures of mixtures grow like a power of their size, so the number of all components is bounded, too.
constexpr std::int64_t kMostComponents = 100'000;

struct MixtureFiles {
  int depth = 0;
  std::int64_t* components = nullptr;  // number in all mixtures so far
};

MeasurePtr nested_law(std::string_view text, Dimension dimension, Arithmetic arithmetic,
                      MixtureFiles nesting);

struct LawText {
  std::string_view name, detail;
};

LawText split(std::string_view text) {
  const auto colon = text.find(':');
  return {text.substr(0, colon), colon == std::string_view::npos ? "" : text.substr(colon + 1)};
}

Vector to_vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), std::ssize(values));
}

// The keys of a law; every key must be used, so that a misspelt one is found.
class Options {
 public:
  Options(std::string_view law, std::string_view text) : law_(law) {
    // A piece without '=' continues the value before it: cov=diag:1,2,3
    std::string* value = nullptr;
    while (!text.empty()) {
      const auto comma = text.find(',');
      const std::string_view piece = text.substr(0, comma);
      const auto equals = piece.find('=');
      if (equals != std::string_view::npos) {
        const std::string key(piece.substr(0, equals));
        if (values_.contains(key)) fail("law", fmt::format("{}: '{}' is given twice", law_, key));
        value = &values_[key];
        *value = piece.substr(equals + 1);
      } else if (value != nullptr) {
        *value += fmt::format(",{}", piece);
      } else {
        fail("law", fmt::format("{}: '{}' must have the form key=value", law_, piece));
      }
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
      if (text.empty()) fail("law", fmt::format("{}: nothing follows the last comma", law_));
    }
  }

  std::optional<std::string> text(const std::string& key) {
    known_.push_back(key);
    const auto at = values_.find(key);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  bool has(const std::string& key) const { return values_.contains(key); }
  double number(const std::string& key, double otherwise) {
    const auto value = text(key);
    return value ? io::parse_number(key, *value) : otherwise;
  }
  std::optional<Vector> list(const std::string& key) {
    const auto value = text(key);
    return value ? std::optional(to_vector(io::parse_numbers(key, *value))) : std::nullopt;
  }
  void check_all_used() const {
    for (const auto& [key, value] : values_) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        fail("law", fmt::format("{} has no key '{}'; it has {}", law_, key,
                                known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", "))));
      }
    }
  }

 private:
  std::string law_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

std::ptrdiff_t needed(std::string_view law, Dimension dimension) {
  if (!dimension) fail("law", fmt::format("{} needs a dimension: give d", law));
  return *dimension;
}

MeasurePtr gaussian_law(Options& options, Dimension dimension) {
  const auto mean = options.list("mean");
  if (!dimension && mean) dimension = mean->size();
  const std::string cov = options.text("cov").value_or("identity");
  if (!options.has("cov")) needed("gaussian", dimension);
  const Matrix covariance = named_matrix("cov", cov, dimension, dimension);
  return std::make_shared<GaussianMeasure>(mean.value_or(Vector::Zero(covariance.rows())), covariance);
}

MeasurePtr elliptical_law(Options& options, Dimension dimension) {
  const std::string base = options.text("base").value_or("gaussian");
  if (base != "gaussian" && base != "sphere") {
    fail("law", "base", fmt::format("'{}'", base), "gaussian or sphere");
  }
  if (!options.has("cov")) needed("elliptical", dimension);
  const Matrix shape = named_matrix("cov", options.text("cov").value_or("identity"), dimension, dimension);
  const auto values = options.list("values");
  const auto weights = options.list("weights");
  const double low = options.number("low", 0);
  const double high = options.number("high", 1);
  if (weights && !values) fail("law", "elliptical: weights need values");
  if (values && (options.has("low") || options.has("high")))
    fail("law", "elliptical: give either low and high or values and weights");
  const RadialLaw radial = values
                               ? RadialLaw::discrete(*values, weights.value_or(Vector::Ones(values->size())))
                               : RadialLaw::uniform(low, high);
  return std::make_shared<EllipticalMeasure>(
      shape, base == "sphere" ? EllipticalBase::sphere : EllipticalBase::gaussian, radial);
}

MeasurePtr mixture_law(const std::string& file, Dimension dimension, Arithmetic arithmetic,
                       MixtureFiles nesting) {
  if (nesting.depth > kMostNestedFiles)
    fail("law", fmt::format("{}: mixtures are nested more than {} deep", file, kMostNestedFiles));
  std::vector<double> weights;
  std::vector<MeasurePtr> laws;
  for (const measures::MixtureComponent& component : measures::read_mixture_file(file)) {
    if (++*nesting.components > kMostComponents) {
      fail("law", fmt::format("{}: the mixture has more than {} components, with those of the mixtures in it",
                              file, kMostComponents));
    }
    weights.push_back(component.weight);
    const auto& shift = component.shift;
    laws.push_back(nested_law(component.law, shift ? shift->size() : dimension, arithmetic, nesting));
    if (shift) {
      laws.back() = std::make_shared<AffineMeasure>(AffineMeasure::translation(*shift, laws.back()));
    }
  }
  return std::make_shared<MixtureMeasure>(to_vector(weights), std::move(laws));
}

struct TokensText {
  std::string file;
  Options options;
};

TokensText split_tokens(std::string_view text) {
  const auto comma = text.find(',');
  return {std::string(text.substr(0, comma)),
          Options("tokens", comma == std::string_view::npos ? "" : text.substr(comma + 1))};
}

MeasurePtr tokens_law(std::string_view text, Arithmetic arithmetic) {
  auto [file, options] = split_tokens(text);
  std::optional<Vector> weights;
  if (const auto weights_file = options.text("weights")) weights = io::read_matrix(*weights_file).reshaped();
  options.check_all_used();
  const std::string extension = std::filesystem::path(file).extension();
  if (extension == ".npy" || extension == ".NPY") {
    const auto array = std::make_shared<const NpyArray>(NpyArray::open(file));
    if (array->dimensions() == 1) {
      fail("law",
           fmt::format("tokens: {} has one dimension; save it as (L, d), (L, 1) for scalar tokens", file));
    }
    return std::make_shared<EmpiricalMeasure>(array->view(), array, weights, arithmetic);
  }
  return std::make_shared<EmpiricalMeasure>(RowMatrix(io::read_matrix(file)), weights, arithmetic);
}

// The laws made of independent coordinates, and the round ones: all need a dimension.
using Maker = std::function<MeasurePtr(Options&, std::ptrdiff_t)>;

template <typename MakeCoordinate>
Maker product_of(MakeCoordinate make) {
  return [make](Options& options, std::ptrdiff_t d) -> MeasurePtr {
    return std::make_shared<ProductMeasure>(d, make(options));
  };
}

const std::map<std::string, Maker, std::less<>>& makers() {
  static const std::map<std::string, Maker, std::less<>> all = {
      {"rademacher", product_of([](Options& o) { return rademacher(o.number("scale", 1)); })},
      {"uniform", product_of([](Options& o) { return uniform(o.number("half-width", 1)); })},
      {"three-point",
       product_of([](Options& o) { return three_point(o.number("scale", 1), o.number("mass", 0.5)); })},
      {"bernoulli", product_of([](Options& o) { return centred_bernoulli(o.number("probability", 0.5)); })},
      {"laplace",
       product_of([](Options& o) { return truncated_laplace(o.number("scale", 1), o.number("bound", 3)); })},
      {"sphere", [](Options& o,
                    std::ptrdiff_t d) { return std::make_shared<SphereMeasure>(d, o.number("radius", 1)); }},
      {"ball",
       [](Options& o, std::ptrdiff_t d) { return std::make_shared<BallMeasure>(d, o.number("radius", 1)); }},
  };
  return all;
}

MeasurePtr any_law(std::string_view name, std::string_view detail, Dimension dimension, Arithmetic arithmetic,
                   MixtureFiles nesting) {
  if (name == "tokens") return tokens_law(detail, arithmetic);
  if (name == "mixture") {
    ++nesting.depth;
    return mixture_law(std::string(detail), dimension, arithmetic, nesting);
  }
  Options options(name, detail);
  MeasurePtr law;
  if (name == "gaussian") {
    law = gaussian_law(options, dimension);
  } else if (name == "elliptical") {
    law = elliptical_law(options, dimension);
  } else if (const auto maker = makers().find(name); maker != makers().end()) {
    law = maker->second(options, needed(name, dimension));
  } else {
    std::optional<std::string> meant =
        runtime::closest_name(name, {"gaussian", "rademacher", "uniform", "three-point", "bernoulli",
                                     "laplace", "sphere", "ball", "elliptical", "mixture", "tokens"});
    if (std::filesystem::path(name).has_extension()) meant = fmt::format("tokens:{}", name);
    fail("law",
         fmt::format("'{}' is not a law{}; there are gaussian, rademacher, uniform, three-point, bernoulli, "
                     "laplace, sphere, ball, elliptical, mixture:FILE.toml, tokens:FILE",
                     name, meant ? fmt::format(" (did you mean {}?)", *meant) : ""));
  }
  options.check_all_used();
  return law;
}

MeasurePtr nested_law(std::string_view text, Dimension dimension, Arithmetic arithmetic,
                      MixtureFiles nesting) {
  if (dimension && *dimension < 1) fail("law", "dimension", static_cast<double>(*dimension), "at least 1");
  const auto [name, detail] = split(text);
  MeasurePtr law = any_law(name, detail, dimension, arithmetic, nesting);
  if (dimension) check_size("law", fmt::format("tokens of {}", name), law->dimension(), *dimension);
  return law;
}

class Files {
 public:
  void add_law(std::string_view text, int depth = 0) {
    const auto [name, detail] = split(text);
    try {
      if (name == "mixture") {
        add_mixture(std::string(detail), depth);
      } else if (name == "tokens") {
        auto [file, options] = split_tokens(detail);
        add(std::string(io::file_part(file)));
        if (const auto weights = options.text("weights")) add(std::string(io::file_part(*weights)));
      } else if (const auto cov = Options(name, detail).text("cov")) {
        if (const auto file = measures::file_of_matrix(*cov)) add(*file);
      }
    } catch (const InputError&) {  // the mistake is reported when the law is made
    }
  }

  const std::vector<std::string>& all() const { return files_; }

 private:
  bool add(const std::string& file) {
    const bool fresh = seen_.insert(file).second;
    if (fresh) files_.push_back(file);
    return fresh;
  }

  void add_mixture(const std::string& file, int depth) {
    if (depth > kMostNestedFiles) return;
    if (!add(file)) return;  // each file is read once, even if files name each other
    for (const measures::MixtureComponent& component : measures::read_mixture_file(file))
      add_law(component.law, depth + 1);
  }

  std::vector<std::string> files_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<std::string> measures::files_of_law(std::string_view text) {
  Files files;
  files.add_law(text);
  return files.all();
}

MeasurePtr named_law(std::string_view text, Dimension dimension, Arithmetic arithmetic) {
  std::int64_t components = 0;
  return nested_law(text, dimension, arithmetic, {0, &components});
}

}  // namespace largo
