#include "io/csv.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "io/files.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"

namespace largo::io {
namespace {

enum class Reading { number, out_of_range, not_a_number };

struct Number {
  Reading reading = Reading::not_a_number;
  double value = 0;
};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Quotes say where a field ends, not what it is: "1" is a number.
std::string_view unquoted(std::string_view field) {
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
  return trim(field.substr(1, field.size() - 2));
}

Number read_field(std::string_view field) {
  std::string_view digits = field;
  // from_chars accepts no plus sign; "+-1" must stay an error.
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  Number result;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, result.value);
  if (error == std::errc::invalid_argument || end != last) return {};
  result.reading = error == std::errc() ? Reading::number : Reading::out_of_range;
  return result;
}

// "1.0 2.0" or "0x10" is a bad number, not the name of a column.
bool looks_like_number(std::string_view field) {
  if (field.empty()) return false;
  return std::string_view("0123456789+-.").find(field.front()) != std::string_view::npos ||
         read_field(field).reading != Reading::not_a_number;
}

// A delimiter between double quotes belongs to the field; a doubled quote closes and reopens it.
std::size_t field_end(std::string_view line, std::size_t start, char delimiter) {
  bool inside = false;
  for (std::size_t i = start; i < line.size(); ++i) {
    if (line[i] == '"') inside = !inside;
    if (line[i] == delimiter && !inside) return i;
  }
  return line.size();
}

char delimiter_of(std::string_view line) {
  for (const char candidate : {';', ',', '\t'}) {
    if (field_end(line, 0, candidate) < line.size()) return candidate;
  }
  return ',';
}

// Calls visit(field, column) for each field of the line and returns how many there are.
template <class Visit>
std::ptrdiff_t for_each_field(std::string_view line, char delimiter, Visit visit) {
  std::ptrdiff_t count = 0;
  for (std::size_t start = 0;; ++count) {
    const std::size_t end = field_end(line, start, delimiter);
    visit(unquoted(trim(line.substr(start, end - start))), count);
    if (end == line.size()) return count + 1;
    start = end + 1;
  }
}

class CsvParser {
 public:
  explicit CsvParser(std::string_view name) : name_(name) {}

  Matrix parse(std::string_view text) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) refuse("is UTF-16, must be UTF-8");
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_number_;
      parse_line(line);
    }
    if (rows_ == 0) refuse("has no numbers");
    return Eigen::Map<const RowMatrix>(values_.data(), rows_, columns_);
  }

 private:
  [[noreturn]] void refuse(std::string_view reason) const {
    fail("read_csv", fmt::format("{}: {}", one_line(name_), reason));
  }

  void parse_line(std::string_view line) {
    const std::string_view content = trim(line);
    if (content.starts_with('#')) return;
    if (content.empty()) {
      if (blank_line_ == 0) blank_line_ = line_number_;
      return;
    }
    if (columns_ == 0) {
      delimiter_ = delimiter_of(content);  // trimmed, so that a tab at either end does not count
      if (is_header(line)) return;
    }
    if (rows_ > 0 && blank_line_ != 0) refuse(fmt::format("line {} is blank, between rows", blank_line_));
    blank_line_ = 0;
    parse_row(line);
  }

  // Also counts the columns. A line of empty fields is not a header: it is data with missing values.
  bool is_header(std::string_view line) {
    bool numbers = false, names = false;
    columns_ = for_each_field(line, delimiter_, [&](std::string_view field, std::ptrdiff_t) {
      if (looks_like_number(field)) {
        numbers = true;
      } else if (!field.empty()) {
        names = true;
      }
    });
    columns_line_ = line_number_;
    return names && !numbers;
  }

  void parse_row(std::string_view line) {
    const std::ptrdiff_t fields =
        for_each_field(line, delimiter_, [&](std::string_view field, std::ptrdiff_t column) {
          const Number number = read_field(field);
          if (number.reading != Reading::number || !std::isfinite(number.value)) {
            refuse_field(field, column, number.reading);
          }
          values_.push_back(number.value);
        });
    if (fields != columns_) {
      refuse(fmt::format("line {} has {} fields, must have {} as line {} has", line_number_, fields, columns_,
                         columns_line_));
    }
    ++rows_;
  }

  [[noreturn]] void refuse_field(std::string_view field, std::ptrdiff_t column, Reading reading) const {
    const std::string where = fmt::format("line {}, column {}", line_number_, column + 1);
    if (field.empty()) refuse(fmt::format("{} is empty, must be a number", where));
    switch (reading) {
      case Reading::number: refuse(fmt::format("{} is {}, must be finite", where, in_quotes(field)));
      case Reading::out_of_range:
        refuse(fmt::format("{} is {}, must be within the range of float64", where, in_quotes(field)));
      case Reading::not_a_number: break;
    }
    refuse(fmt::format("{} is {}, must be a number", where, in_quotes(field)));
  }

  std::string_view name_;
  std::vector<double> values_;
  std::ptrdiff_t rows_ = 0;
  std::ptrdiff_t columns_ = 0;
  std::ptrdiff_t line_number_ = 0;
  std::ptrdiff_t columns_line_ = 0;  ///< the line that set the number of columns
  std::ptrdiff_t blank_line_ = 0;    ///< the first of the blank lines just read, 0 if none
  char delimiter_ = ',';
};

// Quotes a name that would be split or taken for a comment; refuses one that looks like a number.
std::string header_field(const std::string& name) {
  if (name.find_first_of("\r\n") != std::string::npos) {
    fail("write_csv", "column name", in_quotes(name), "a single line");
  }
  if (looks_like_number(name))
    fail("write_csv", "column name", in_quotes(name), "a word that does not begin like a number");
  if (!name.empty() && name.find_first_of(",;\t\"#") == std::string::npos) return name;
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

Matrix parse_csv(std::string_view text, std::string_view name) { return CsvParser(name).parse(text); }

Matrix read_csv(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return parse_csv(text, path.native());
}

void write_csv(const std::filesystem::path& path, const std::vector<std::string>& header,
               const ConstRowsRef& values) {
  if (!header.empty()) check_size("write_csv", "header", std::ssize(header), values.cols());
  AtomicFile file("write_csv", path);
  std::string line;
  const auto end_line = [&] {
    line.back() = '\n';  // in place of the last comma
    file.write(line);
    line.clear();
  };
  for (const std::string& name : header) line += header_field(name) + ',';
  if (!header.empty()) end_line();
  for (std::ptrdiff_t i = 0; i < values.rows() && values.cols() > 0; ++i) {
    for (std::ptrdiff_t j = 0; j < values.cols(); ++j) {
      if (values(i, j) != std::numeric_limits<double>::infinity()) {
        check_finite("write_csv", fmt::format("entry ({},{})", i, j), values(i, j));
      }
      fmt::format_to(std::back_inserter(line), "{},", values(i, j));
    }
    end_line();
  }
  file.commit();
}

}  // namespace largo::io
