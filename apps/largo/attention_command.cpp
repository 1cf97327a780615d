// largo attention: softmax and linear attention, and their gradients, on a law or on a prompt.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "io/csv.hpp"
#include "io/parse_numbers.hpp"
#include "largo/attention/attention.hpp"
#include "largo/io/npy.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

constexpr std::uint64_t kPromptStream = 0;

struct AttentionOptions : CommonOptions {
  std::string law;
  std::optional<std::ptrdiff_t> dimension;
  std::string U, V, K, Q;
  std::string score_scale = "1";
  std::string query, plant;
  std::string length = "inf";
  std::string out;
  bool gradients = false;
};

using Weights = std::variant<MergedWeights, FactoredWeights>;

double read_score_scale(const std::string& text, std::ptrdiff_t key_dimension) {
  return text == "auto" ? 1 / std::sqrt(static_cast<double>(key_dimension))
                        : io::parse_number("--score-scale", text);
}

Weights read_weights(const AttentionOptions& options, std::ptrdiff_t d) {
  const Matrix V = named_matrix("--V", options.V.empty() ? "identity" : options.V, std::nullopt, d);
  if (options.K.empty() != options.Q.empty()) fail("attention", "--K and --Q must be given together");
  if (options.K.empty()) {
    const Matrix U = named_matrix("--U", options.U.empty() ? "identity" : options.U, d);
    return MergedWeights{U, V, read_score_scale(options.score_scale, d)};
  }
  if (!options.U.empty()) fail("attention", "give either --U, or --K and --Q");
  const Matrix K = named_matrix("--K", options.K, std::nullopt, d);
  const Matrix Q = named_matrix("--Q", options.Q, K.rows());
  return FactoredWeights{K, Q, V, read_score_scale(options.score_scale, K.rows())};
}

std::ptrdiff_t query_dimension(const Weights& weights) {
  if (const auto* merged = std::get_if<MergedWeights>(&weights)) return merged->U.cols();
  return std::get<FactoredWeights>(weights).Q.cols();
}

// The law itself for L = inf, otherwise a prompt drawn from it with the planted tokens at its end.
MeasurePtr prompt_of(const AttentionOptions& options, MeasurePtr law, const RowMatrix& planted) {
  const std::vector<double> lengths = io::parse_lengths("--L", options.length);
  if (lengths.size() != 1)
    fail("attention", "--L", fmt::format("'{}'", options.length), "one length, or inf");
  if (std::isinf(lengths[0])) {
    if (planted.rows() == 0) return law;
    fail("attention",
         "--plant needs a finite --L: in an infinite prompt the tokens of --plant have no weight, and a "
         "prompt from "
         "a file can hold them itself");
  }
  constexpr double kMostEntries = 1e12;
  if (lengths[0] * static_cast<double>(law->dimension()) > kMostEntries) {
    fail("attention", "--L", lengths[0], "small enough to draw (L d at most 1e12), or inf");
  }
  const auto length = static_cast<std::int64_t>(lengths[0]);
  RowMatrix tokens = sample_prompt(*law, Stream(options.seed, kPromptStream), length, options.execution());
  tokens.conservativeResize(tokens.rows() + planted.rows(), Eigen::NoChange);
  tokens.bottomRows(planted.rows()) = planted;
  return std::make_shared<EmpiricalMeasure>(std::move(tokens), std::nullopt, options.arithmetic());
}

io::Json jacobians_json(AttentionKind kind, const Measure& prompt, const Weights& weights,
                        const RowMatrix& queries, const Execution& execution) {
  io::Json json;
  const auto add = [&](const char* name, const Matrix& jacobian, std::ptrdiff_t rows,
                       std::ptrdiff_t columns) {
    io::Json outputs = io::Json::array();
    for (std::ptrdiff_t k = 0; k < jacobian.rows(); ++k) {
      outputs.push_back(to_json(jacobian.row(k).transpose(), rows, columns));
    }
    json[name].push_back(std::move(outputs));
  };
  if (const auto* merged = std::get_if<MergedWeights>(&weights)) {
    for (const auto& jacobian : attention_jacobian(kind, prompt, *merged, queries, execution)) {
      add("U", jacobian.U, merged->U.rows(), merged->U.cols());
      add("V", jacobian.V, merged->V.rows(), merged->V.cols());
    }
  } else {
    const auto& factored = std::get<FactoredWeights>(weights);
    for (const auto& jacobian : attention_jacobian(kind, prompt, factored, queries, execution)) {
      add("K", jacobian.K, factored.K.rows(), factored.K.cols());
      add("Q", jacobian.Q, factored.Q.rows(), factored.Q.cols());
      add("V", jacobian.V, factored.V.rows(), factored.V.cols());
    }
  }
  return json;
}

// Called before the work, which may take long.
void check_out(const AttentionOptions& options) {
  const std::string& file = options.out;
  if (!file.empty() && !file.ends_with(".npy") && !file.ends_with(".csv")) {
    fail("attention", "--out", fmt::format("'{}'", file), "a .npy or .csv file");
  }
  check_not_read("attention", "--out", file,
                 {.laws = {options.law},
                  .matrices = {options.U, options.V, options.K, options.Q, options.query, options.plant}});
}

void write_outputs(const std::string& file, const RowMatrix& outputs) {
  if (file.ends_with(".npy")) return write_npy(file, outputs);
  io::write_csv(file, {}, outputs);
}

void print_table(const io::Json& json, const RowMatrix& softmax, const RowMatrix& linear) {
  fmt::print("law {}, d = {}, L = {}", json["law"].get<std::string>(), json["d"].get<std::ptrdiff_t>(),
             json["L"].is_string() ? "inf" : fmt::format("{}", json["L"].get<std::int64_t>()));
  if (json.contains("planted")) fmt::print(" and {} planted", json["planted"].get<std::ptrdiff_t>());
  fmt::print("\n");
  for (std::ptrdiff_t q = 0; q < softmax.rows(); ++q) {
    fmt::print("query {}\n  softmax {}\n  linear  {}\n", q, short_list(softmax.row(q).transpose()),
               short_list(linear.row(q).transpose()));
  }
  if (json.contains("gradient_U") || json.contains("gradient_K")) {
    fmt::print("use --json to print the gradients\n");
  }
}

void run_attention(const AttentionOptions& options) {
  check_out(options);
  // A named law and named scores take d² numbers each. If d is large, the size of the query is checked first.
  constexpr std::ptrdiff_t kMuch = 4096;
  if (options.dimension > kMuch && options.K.empty() && (options.U.empty() || !has_own_size(options.U))) {
    read_queries("attention", options.query, *options.dimension);
  }
  const MeasurePtr law = named_law(options.law, options.dimension, options.arithmetic());
  const Weights weights = read_weights(options, law->dimension());
  const RowMatrix queries = read_queries("attention", options.query, query_dimension(weights));
  RowMatrix planted(0, law->dimension());
  if (!options.plant.empty()) {
    planted = named_queries("attention", "--plant", options.plant, law->dimension());
  }
  const MeasurePtr given = prompt_of(options, law, planted);
  const auto* tokens = dynamic_cast<const EmpiricalMeasure*>(given.get());
  if (options.device != "cpu" && tokens == nullptr) {
    fail("attention", "--device", options.device,
         "cpu for a law; cuda needs a prompt (--law tokens:FILE, or --L 1e6)");
  }
  const Execution execution = options.execution();
  // The prompt is copied to the GPU once, for outputs and gradients of both kinds of attention.
  const MeasurePtr prompt = execution.device == nullptr
                                ? given
                                : std::make_shared<EmpiricalMeasure>(tokens->kept_on(*execution.device));

  const auto output = [&](AttentionKind kind) {
    return std::visit([&](const auto& w) { return attend(kind, *prompt, w, queries, execution); }, weights);
  };
  const RowMatrix softmax = output(AttentionKind::softmax);
  const RowMatrix linear = output(AttentionKind::linear);

  io::Json json;
  json["law"] = options.law;
  json["d"] = law->dimension();
  json["L"] = "inf";
  if (tokens != nullptr) json["L"] = tokens->length() - planted.rows();
  if (planted.rows() > 0) json["planted"] = planted.rows();
  json["softmax"] = to_json(softmax);
  json["linear"] = to_json(linear);
  if (options.gradients) {
    const io::Json exact = jacobians_json(AttentionKind::softmax, *prompt, weights, queries, execution);
    for (const auto& [name, value] : exact.items()) json["gradient_" + name] = value;
    const io::Json linearised = jacobians_json(AttentionKind::linear, *prompt, weights, queries, execution);
    for (const auto& [name, value] : linearised.items()) json["linear_gradient_" + name] = value;
  }
  io::check_numbers(json);
  if (!options.out.empty() && first_process()) write_outputs(options.out, softmax);
  if (options.json) {
    print_json(json);
  } else {
    print_table(json, softmax, linear);
  }
}

}  // namespace

void add_attention_command(CLI::App& app) {
  const auto [command, options] = add_subcommand(app, "attention", run_attention,
                                                 "Compute softmax and linear attention on a law or a prompt");
  command
      ->add_option(
          "--law", options->law,
          "Token law: gaussian, gaussian:cov=toeplitz:0.5, rademacher, uniform, "
          "three-point, bernoulli, laplace, sphere, ball, elliptical, mixture:FILE.toml, tokens:FILE")
      ->required();
  add_dimension_option(*command, options->dimension);
  add_text_option(*command, "--U", options->U, "Score matrix, d x e (default: identity)");
  add_text_option(*command, "--K", options->K, "Key matrix, r x d; use --K and --Q instead of --U");
  add_text_option(*command, "--Q", options->Q, "Query matrix, r x e; needs --K");
  add_text_option(*command, "--V", options->V, "Value matrix, o x d (default: identity)");
  command
      ->add_option("--score-scale", options->score_scale,
                   "Factor of the scores; auto means 1/sqrt(key dimension)")
      ->capture_default_str();
  command
      ->add_option("--query", options->query,
                   "Queries: 1,0,-1 or 1,0,-1;0,1,2, or a file with one query per row")
      ->required();
  command
      ->add_option("--L", options->length,
                   "Draw a prompt of this length from the law; inf uses the law itself")
      ->capture_default_str();
  add_text_option(*command, "--plant", options->plant,
                  "Tokens beside the L that are drawn: 1,0,-1 or 1,0,-1;0,1,2, or a file with one per row");
  command->add_flag("--gradients", options->gradients, "Compute the full Jacobians in (U, V) or (K, Q, V)");
  add_text_option(*command, "--out", options->out, "Write the softmax outputs to this .npy or .csv file");
  add_device_option(
      *command, options->device,
      "Device that attends over the prompt: cpu or cuda (an NVIDIA GPU), which agrees to the precision "
      "of float32");
  add_common_options(*command, *options);
  command->footer(
      "A matrix is identity, zeros, toeplitz:RHO, diag:1,2,3, random:SEED, or a .npy, .csv or .safetensors\n"
      "file, with an optional factor in front (0.3*identity).\n\n"
      "Examples:\n"
      "  largo attention --law gaussian:cov=toeplitz:0.5 --d 3 --U 0.5*identity --query 1,0,-1\n"
      "  largo attention --law rademacher --d 4 --query random:7 --L 1000 --gradients --json\n"
      "  largo attention --law tokens:prompt.npy --K K.npy --Q Q.npy --V V.npy --score-scale auto --query "
      "q.npy");
}

}  // namespace largo
