#include "largo/measures/named_matrix.hpp"

#include <cctype>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "io/parse_numbers.hpp"
#include "io/read_matrix.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"

namespace largo {
namespace {

constexpr std::uint64_t kMatrixStream = 0x6d6174726978;  // "matrix": apart from the streams of prompts

Matrix random_matrix(double seed, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  RowMatrix values(rows, columns);
  Stream(static_cast<std::uint64_t>(seed), kMatrixStream)
      .normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values / std::sqrt(static_cast<double>(columns));
}

Matrix toeplitz(double rho, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return Matrix::NullaryExpr(rows, columns, [&](Eigen::Index i, Eigen::Index j) {
    return std::pow(rho, static_cast<double>(std::abs(i - j)));
  });
}

constexpr std::string_view kForms =
    "a matrix: identity, zeros, toeplitz:0.5, diag:1,2,3 or random:7, with or without a factor "
    "(0.5*identity), rows of numbers (1,0;0,1), or a .npy, .csv or .safetensors file";

bool is_number(std::string_view text) {
  try {
    io::parse_number("", text);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// The number after the colon of "toeplitz:0.5".
double parse_detail(std::string_view argument, std::string_view text, std::string_view detail,
                    std::string_view form) {
  if (!is_number(detail)) fail("named_matrix", argument, fmt::format("'{}'", text), form);
  return io::parse_number(argument, detail);
}

double parse_seed(std::string_view argument, std::string_view text, std::string_view detail) {
  const double seed = parse_detail(argument, text, detail, "random:SEED, such as random:7");
  if (!(seed >= 0 && seed < 0x1p53) || seed != std::floor(seed)) {
    fail("named_matrix", fmt::format("seed of {}", argument), seed, "a whole number between 0 and 2^53");
  }
  return seed;
}

// For a misspelt name, a number or a list the message says what a matrix may be; for a file or a folder, it
// says what is wrong there.
bool looks_like_a_file(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* extension : {".npy", ".csv", ".safetensors"}) {
    if (lower.find(extension) != std::string::npos) return true;
  }
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(text), ignored);
}

// Rows of numbers with semicolons between them, and perhaps after the last. Without one, a number may be
// meant for a factor, and a list for a diagonal.
bool is_rows(std::string_view text) {
  return text.find(';') != std::string_view::npos &&
         text.find_first_not_of("0123456789+-.eE,; ") == std::string_view::npos;
}

Matrix from_rows(std::string_view argument, std::string_view text) {
  std::vector<double> all;
  std::ptrdiff_t rows = 0;
  if (text.ends_with(';')) text.remove_suffix(1);
  for (std::string_view rest = text;; ++rows) {
    const auto end = rest.find(';');
    const std::vector<double> one = io::parse_numbers(argument, rest.substr(0, end));
    if (rows > 0) {
      check_size("named_matrix", fmt::format("row {} of {}", rows + 1, argument), std::ssize(one),
                 std::ssize(all) / rows);
    }
    all.insert(all.end(), one.begin(), one.end());
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  ++rows;
  return Eigen::Map<const RowMatrix>(all.data(), rows, std::ssize(all) / rows);
}

bool takes_any_size(std::string_view name) {
  return name == "identity" || name == "zeros" || name == "toeplitz" || name == "random";
}

// Where the name begins in "factor*name": 0 without a factor. A star after a slash belongs to a file name.
std::size_t after_factor(std::string_view text) {
  const auto star = text.find('*');
  return star != std::string_view::npos && text.find_first_of("/\\") > star ? star + 1 : 0;
}

Matrix without_factor(std::string_view argument, std::string_view text, std::optional<std::ptrdiff_t> rows,
                      std::optional<std::ptrdiff_t> columns) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view detail = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (name == "diag") {
    if (detail.empty())
      fail("named_matrix", argument, fmt::format("'{}'", text), "diag:LIST, such as diag:1,2,3");
    const std::vector<double> diagonal = io::parse_numbers(argument, detail);
    return Eigen::Map<const Vector>(diagonal.data(), std::ssize(diagonal)).asDiagonal();
  }
  if (is_rows(text)) return from_rows(argument, text);
  const bool sized = takes_any_size(name);
  if (!sized && looks_like_a_file(text)) return io::read_matrix(text);
  if (!sized) {
    fail("named_matrix", argument, fmt::format("'{}'", text), kForms);
  }

  if (!rows && !columns) {
    fail("named_matrix", fmt::format("{} is '{}', whose size is not known: give d", argument, text));
  }
  const std::ptrdiff_t m = rows ? *rows : *columns;
  const std::ptrdiff_t n = columns ? *columns : *rows;
  if ((name == "identity" || name == "zeros") && colon != std::string_view::npos) {
    fail("named_matrix", argument, fmt::format("'{}'", text), fmt::format("'{}' without a value", name));
  }
  if (name == "identity") return Matrix::Identity(m, n);
  if (name == "zeros") return Matrix::Zero(m, n);
  if (name == "toeplitz") {
    return toeplitz(parse_detail(argument, text, detail, "toeplitz:RHO, such as toeplitz:0.5"), m, n);
  }
  return random_matrix(parse_seed(argument, text, detail), m, n);
}

}  // namespace

Matrix named_matrix(std::string_view argument, std::string_view text, std::optional<std::ptrdiff_t> rows,
                    std::optional<std::ptrdiff_t> columns) {
  const std::size_t begin = after_factor(text);
  const double factor = begin > 0 ? io::parse_number(argument, text.substr(0, begin - 1)) : 1;
  const Matrix matrix = factor * without_factor(argument, text.substr(begin), rows, columns);
  check_shape("named_matrix", argument, matrix.rows(), matrix.cols(), rows.value_or(matrix.rows()),
              columns.value_or(matrix.cols()));
  check_finite("named_matrix", argument, matrix);
  return matrix;
}

bool has_own_size(std::string_view text) {
  const std::string_view name = text.substr(after_factor(text));
  return !name.empty() && !takes_any_size(name.substr(0, name.find(':')));
}

std::optional<std::string> measures::file_of_matrix(std::string_view text) {
  const std::string_view name = text.substr(after_factor(text));
  const std::string_view kind = name.substr(0, name.find(':'));
  if (kind == "diag" || takes_any_size(kind) || !looks_like_a_file(name)) return std::nullopt;
  return std::string(io::file_part(name));
}

RowMatrix named_queries(std::string_view function, std::string_view argument, const std::string& text,
                        std::ptrdiff_t dimension) {
  if (text.find_first_not_of("0123456789+-.eE,; ") != std::string::npos) {
    const std::string_view name = std::string_view(text).substr(text.find('*') + 1);
    const std::string_view word = name.substr(0, name.find(':'));
    if (!takes_any_size(word) && word != "diag" && !looks_like_a_file(text)) {
      fail(function, argument, fmt::format("'{}'", text),
           "queries: 1,0,-1, several of them as 1,0,-1;0,1,2, random:7, or a .npy, .csv or .safetensors file "
           "with one per row");
    }
    const bool one = name.starts_with("random:") || name == "zeros";
    return named_matrix(argument, text, one ? std::optional<std::ptrdiff_t>(1) : std::nullopt, dimension);
  }
  std::vector<double> all;
  std::ptrdiff_t rows = 0;
  std::string_view rest = text;
  while (true) {
    const auto end = rest.find(';');
    const std::vector<double> one = io::parse_numbers(argument, rest.substr(0, end));
    check_size(function, argument, std::ssize(one), dimension);
    all.insert(all.end(), one.begin(), one.end());
    ++rows;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return Eigen::Map<const RowMatrix>(all.data(), rows, dimension);
}

}  // namespace largo
