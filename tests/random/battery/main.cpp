// stream_battery: statistical tests of largo's random streams as the program lays them out.
//   stream_battery --gigabytes 32          all layouts and tests, in a table; exit status 1 if one fails
//   stream_battery --pipe LAYOUT           writes its words to standard output, for other batteries
#include <cmath>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "largo/runtime/check.hpp"
#include "random/battery/layouts.hpp"
#include "random/battery/normal_tests.hpp"
#include "random/float_draws.hpp"

namespace largo::battery {
namespace {

constexpr double kGigabyte = 0x1p30;

struct Options {
  double gigabytes = 0.0625;
  std::uint64_t seed = 20240607;
  std::string pipe;
  std::vector<std::string> only;
  bool normals_alone = false;
  bool verbose = false;
};

int pipe_words(const Options& options) {
  Layout layout = find_layout(options.pipe, options.seed);
  std::signal(SIGPIPE, SIG_IGN);  // when the reader has had enough, say how much it was
  std::vector<std::uint64_t> words(kBlock);
  double bytes = 0;
  for (;;) {
    layout.source(words);
    if (std::fwrite(words.data(), sizeof words[0], words.size(), stdout) != words.size()) break;
    bytes += static_cast<double>(words.size() * sizeof words[0]);
  }
  fmt::print(stderr, "stream_battery: {:.0f} bytes of {}\n", bytes, layout.name);
  return 0;
}

/// Tests normals drawn by the library, those of prompts or of coordinate pairs 0 to 7 of each prompt.
std::vector<Result> test_normals(std::uint64_t seed, bool coordinates, double tokens) {
  constexpr std::size_t kTokens = 1024;
  alignas(64) static float first[kTokens], second[kTokens];
  NormalTests tests;
  for (std::uint64_t n = 0; tests.tokens() < tokens; ++n) {
    const random::DrawAddress prompt{seed, n, 0};
    const random::DrawAddress pair{seed, n / 8, (n % 8) << 40};
    random::token_normals(coordinates ? pair : prompt, kTokens / random::kTokensAtOnce, first, second);
    tests.add(first, second);
  }
  std::vector<Result> results;
  tests.report(results);
  return results;
}

class Table {
 public:
  explicit Table(bool verbose) : verbose_(verbose) {}

  void add(const std::string& layout, const std::vector<Result>& results, double gigabytes) {
    const Result* worst = &results.front();
    for (const Result& result : results) {
      if (result.tail() < worst->tail()) worst = &result;
      const bool failed = result.tail() < kFailure;
      failures_ += failed;
      if (verbose_ || result.tail() < kSuspicious) {
        fmt::print("{:<16} {:<60} {:>14.6g} p = {:.3g}{}\n", layout, result.name, result.statistic,
                   result.above,
                   failed                        ? "  FAIL"
                   : result.tail() < kSuspicious ? "  suspicious"
                                                 : "");
      }
      all_.push_back(result);
    }
    rows_.push_back(fmt::format("| {} | {:.4g} | {} | {:.2g} | {} | {:.2g} |", layout, gigabytes,
                                results.size(), worst->tail(), worst->name, uniformity(results).above));
    gigabytes_ += gigabytes;
    std::fflush(stdout);
  }

  int finish() {
    fmt::print(
        "\n| layout | GiB | p-values | smallest tail | in | uniformity of p |\n|---|---|---|---|---|---|\n");
    for (const std::string& row : rows_) fmt::print("{}\n", row);
    const Result overall = uniformity(all_);
    failures_ += overall.tail() < kFailure;
    fmt::print("\n{:.4g} GiB, {} p-values, their uniformity p = {:.3g}; {} tails below {:g}\n", gigabytes_,
               all_.size(), overall.above, failures_, kFailure);
    fmt::print("a good generator fails with probability {:.1g}\n",
               2 * kFailure * static_cast<double>(all_.size()));
    fmt::print("{}\n", failures_ == 0 ? "passed" : "FAILED");
    return failures_ == 0 ? 0 : 1;
  }

 private:
  bool verbose_;
  std::vector<Result> all_;
  std::vector<std::string> rows_;
  double gigabytes_ = 0;
  int failures_ = 0;
};

int run(const Options& options) {
  if (!options.pipe.empty()) return pipe_words(options);
  std::vector<Layout> chosen;
  if (options.only.empty()) chosen = layouts(options.seed);
  for (const std::string& name : options.only) chosen.push_back(find_layout(name, options.seed));
  const auto count = static_cast<double>(chosen.size());
  if (options.normals_alone) chosen.clear();
  const double block_bytes = kBlock * sizeof(std::uint64_t);
  const auto blocks =
      static_cast<std::size_t>(std::ceil(options.gigabytes * kGigabyte / count / block_bytes));
  Table table(options.verbose);
  for (const Layout& layout : chosen) {
    Runner runner(all_word_tests(layout.stride), kHistory, kBlock);
    runner.run(layout.source, blocks);
    std::vector<Result> results;
    runner.report(results);
    table.add(layout.name, results, static_cast<double>(blocks) * block_bytes / kGigabyte);
  }
  // Normals of as many tokens as a layout has words, from the same addresses: bytes are not counted twice.
  const double tokens = static_cast<double>(blocks) * kBlock;
  table.add("normals, prompts", test_normals(options.seed, false, tokens), 0);
  table.add("normals, pairs", test_normals(options.seed, true, tokens), 0);
  return table.finish();
}

}  // namespace
}  // namespace largo::battery

int main(int argc, char** argv) {
  largo::battery::Options options;
  CLI::App app("Statistical tests of largo's random streams as the program lays them out");
  app.add_option("--gigabytes", options.gigabytes, "of 2^30 bytes, over all layouts")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--layout", options.only, "only these layouts");
  app.add_option("--pipe", options.pipe, "write the words of a layout to standard output, without end");
  app.add_flag("--normals", options.normals_alone, "the normals alone, as many as with the layouts");
  app.add_flag("--verbose", options.verbose, "print every p-value");
  CLI11_PARSE(app, argc, argv);
  try {
    return largo::battery::run(options);
  } catch (const largo::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
