#include "io/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "io/parse_numbers.hpp"
#include "largo/runtime/check.hpp"

namespace largo::io {

// One function for each level of binding: sums, products, signs, powers, operands.
class Formula::Parser {
 public:
  Parser(std::string_view argument, std::string_view text, std::string_view variable)
      : argument_(argument), text_(text), variable_(variable) {}

  std::vector<Step> steps() {
    const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::all_of(text_.begin(), text_.end(), plain))
      fail("formula", fmt::format("{} has characters other than letters, digits and signs", argument_));
    if (text_.size() > kLongest) refuse("is longer than 1000 bytes");
    sum();
    if (next() != '\0') refuse(fmt::format("has '{}' where an operation was expected", rest()));
    return std::move(steps_);
  }

 private:
  static constexpr std::size_t kLongest = 1000;
  static constexpr int kDeepest = 50;

  struct Function {
    std::string_view name;
    Operation operation;
    int arguments;
  };
  static constexpr std::array kFunctions = {
      Function{"ln", Operation::ln, 1},       Function{"log", Operation::ln, 1},
      Function{"sqrt", Operation::sqrt, 1},   Function{"exp", Operation::exp, 1},
      Function{"floor", Operation::floor, 1}, Function{"min", Operation::min, 2},
      Function{"max", Operation::max, 2}};

  struct Sign {
    char letter;
    Operation operation;
  };

  // Operands with one or the other sign between them, from left to right.
  void chain(void (Parser::*inner)(), Sign one, Sign other) {
    (this->*inner)();
    for (char sign = next(); sign == one.letter || sign == other.letter; sign = next()) {
      ++at_;
      (this->*inner)();
      steps_.push_back({sign == one.letter ? one.operation : other.operation});
    }
  }

  void sum() { chain(&Parser::product, {'+', Operation::add}, {'-', Operation::subtract}); }

  void product() { chain(&Parser::signed_power, {'*', Operation::multiply}, {'/', Operation::divide}); }

  void signed_power() {
    if (++depth_ > kDeepest) refuse("is nested too deeply");
    const char sign = next();
    if (sign == '-' || sign == '+') {
      ++at_;
      signed_power();
      if (sign == '-') steps_.push_back({Operation::negate});
    } else {
      operand();
      if (next() == '^') {
        ++at_;
        signed_power();
        steps_.push_back({Operation::power});
      }
    }
    --depth_;
  }

  void operand() {
    const char first = next();
    if (first == '(') {
      ++at_;
      sum();
      expect(')');
    } else if (is_digit(first) || first == '.') {
      steps_.push_back({Operation::number, number()});
    } else if (is_letter(first)) {
      named();
    } else {
      refuse(first == '\0' ? "ends where a number was expected"
                           : fmt::format("has '{}' where a number was expected", rest()));
    }
  }

  void named() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (name == variable_) return steps_.push_back({Operation::variable});
    const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                    [&](const Function& one) { return one.name == name; });
    if (found == kFunctions.end()) refuse(fmt::format("has the name '{}', which it does not know", name));
    expect('(');
    for (int i = 0; i < found->arguments; ++i) {
      if (i > 0) expect(',');
      sum();
    }
    expect(')');
    steps_.push_back({found->operation});
  }

  double number() {
    std::size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      while (exponent < text_.size() && is_digit(text_[exponent])) end = ++exponent;
    }
    const double value = parse_number(argument_, text_.substr(at_, end - at_));
    at_ = end;
    return value;
  }

  void expect(char sign) {
    if (next() == sign) {
      ++at_;
      return;
    }
    refuse(at_ == text_.size() ? fmt::format("ends where '{}' was expected", sign)
                               : fmt::format("has '{}' where '{}' was expected", rest(), sign));
  }

  // The next character that is no blank, or 0 at the end: the text has no 0.
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string_view rest() const { return text_.substr(at_, 20); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  [[noreturn]] void refuse(std::string_view reason) const {
    fail("formula",
         fmt::format("{} '{}' {}; a formula has numbers, {}, + - * / ^, ln, sqrt, exp, floor, min and max",
                     argument_, text_.substr(0, 60), reason, variable_));
  }

  std::string_view argument_, text_, variable_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Step> steps_;
};

Formula::Formula(std::string_view argument, std::string_view text, std::string_view variable)
    : steps_(Parser(argument, text, variable).steps()) {}

double Formula::operator()(double variable) const {
  std::vector<double> stack;
  const auto pop = [&] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.operation == Operation::number || step.operation == Operation::variable) {
      stack.push_back(step.operation == Operation::number ? step.number : variable);
      continue;
    }
    const double last = pop();
    switch (step.operation) {
      case Operation::negate: stack.push_back(-last); break;
      case Operation::ln: stack.push_back(std::log(last)); break;
      case Operation::sqrt: stack.push_back(std::sqrt(last)); break;
      case Operation::exp: stack.push_back(std::exp(last)); break;
      case Operation::floor: stack.push_back(std::floor(last)); break;
      case Operation::add: stack.push_back(pop() + last); break;
      case Operation::subtract: stack.push_back(pop() - last); break;
      case Operation::multiply: stack.push_back(pop() * last); break;
      case Operation::divide: stack.push_back(pop() / last); break;
      case Operation::power: stack.push_back(std::pow(pop(), last)); break;
      case Operation::min: stack.push_back(std::min(pop(), last)); break;
      case Operation::max: stack.push_back(std::max(pop(), last)); break;
      default: break;
    }
  }
  return stack.back();
}

}  // namespace largo::io
