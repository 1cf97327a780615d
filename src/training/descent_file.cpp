// The state of a descent as tensors: "state" (the numbers below), "parameters", "momentum", "squares", and
// "records", one per row: step, time, loss, parameters. The metadata hold "format", "run" (the name of the
// run) and "sha256", the checksum of the whole file with 64 zeros in its place.
#include "training/descent_file.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "io/files.hpp"
#include "io/text.hpp"
#include "largo/io/safetensors.hpp"
#include "runtime/sha256.hpp"

namespace largo {
namespace {

constexpr const char* kLoadDescent = "load_descent";
constexpr Eigen::Index kNumbers = 7;        // numbers in "state"
constexpr Eigen::Index kRecordNumbers = 3;  // numbers before the parameters in a row of "records"
constexpr double kMostSteps = 0x1p53;
constexpr const char* kFormat = "largo descent 2";  // format 1 had no metadata
constexpr std::string_view kBeforeDigest = "\"sha256\":\"";
constexpr std::size_t kDigits = 64;

[[noreturn]] void refuse(const std::string& name, std::string_view reason) {
  fail(kLoadDescent, fmt::format("{}: {}; delete this checkpoint to begin anew", io::one_line(name), reason));
}

[[noreturn]] void refuse_damaged(const std::string& name, std::string_view reason) {
  refuse(name, fmt::format("is damaged, or not the state of a descent ({})", reason));
}

// The digest of the bytes with zeros in its own place; none if that place is not found.
std::optional<std::string> digest_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t place = text.find(kBeforeDigest);
  if (place == std::string_view::npos || text.size() - place < kBeforeDigest.size() + kDigits) return {};
  const std::size_t begin = place + kBeforeDigest.size();
  runtime::Sha256 hash;
  hash.add(text.substr(0, begin));
  hash.add(std::string(kDigits, '0'));
  hash.add(text.substr(begin + kDigits));
  const runtime::Sha256::Digest digest = hash.finish();
  return runtime::to_hex(digest.data(), digest.size());
}

SafetensorsFile open(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return SafetensorsFile::from_bytes(bytes, name);
  } catch (const InputError& error) {
    refuse_damaged(name, error.what());
  }
}

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : path_(name), file_(open(bytes, name)) {
    const std::string format = metadata("format");
    if (format.empty() && file_.contains("state")) {
      refuse(name, "was saved by an earlier version of largo, without a checksum");
    }
    if (format != kFormat) {
      refuse(name, fmt::format("its format is {}, must be '{}'", io::in_quotes(format), kFormat));
    }
    const auto digest = digest_of(bytes);
    if (!digest || *digest != metadata("sha256")) refuse_damaged(name, "the checksum is another one");
  }

  std::string metadata(const char* key) const {
    const auto at = file_.metadata().find(key);
    return at == file_.metadata().end() ? "" : at->second;
  }

  // Reads a tensor that must be there; rows < 0 or columns < 0: any number of them.
  Matrix read(const char* name, Eigen::Index rows, Eigen::Index columns) const {
    if (!file_.contains(name)) refuse_damaged(path_, fmt::format("there is no tensor {}", name));
    Matrix values = file_.matrix(name);
    const bool fits = (rows < 0 || values.rows() == rows) && (columns < 0 || values.cols() == columns);
    if (!fits) {
      refuse_damaged(path_, fmt::format("{} is {} x {}", name, values.rows(), values.cols()));
    }
    if (!values.allFinite()) refuse_damaged(path_, fmt::format("{} has a number that is not finite", name));
    return values;
  }
  bool contains(const char* name) const { return file_.contains(name); }

  std::int64_t count(double value, const char* name) const {
    if (!(value >= 0 && value < kMostSteps && value == std::floor(value))) {
      refuse_damaged(path_, fmt::format("{} is {}, which is no count", name, value));
    }
    return static_cast<std::int64_t>(value);
  }

 private:
  const std::string& path_;
  SafetensorsFile file_;
};

}  // namespace

void save_descent(const std::filesystem::path& path, const DescentState& state) {
  Matrix numbers(1, kNumbers);
  numbers << static_cast<double>(state.step), state.time, state.momentum_power, state.squares_power,
      state.first_loss, state.loss_sum, static_cast<double>(state.loss_count);
  std::vector<NamedMatrix> tensors{{"state", numbers}, {"parameters", state.parameters.transpose()}};
  if (state.momentum.size() > 0) tensors.push_back({"momentum", state.momentum.transpose()});
  if (state.squares.size() > 0) tensors.push_back({"squares", state.squares.transpose()});
  if (!state.records.empty()) {
    Matrix rows(static_cast<Eigen::Index>(state.records.size()), kRecordNumbers + state.parameters.size());
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      const DescentRecord& record = state.records[static_cast<std::size_t>(i)];
      rows.row(i) << static_cast<double>(record.step), record.time, record.loss,
          record.parameters.transpose();
    }
    tensors.push_back({"records", rows});
  }
  std::string bytes = safetensors_bytes(
      tensors, {{"format", kFormat}, {"run", state.run}, {"sha256", std::string(kDigits, '0')}});
  training::seal_descent(bytes);
  io::AtomicFile file("save_descent", path);
  file.write(bytes);
  file.commit();
}

void training::seal_descent(std::string& bytes) {
  if (const auto digest = digest_of(std::as_bytes(std::span(bytes)))) {
    bytes.replace(bytes.find(kBeforeDigest) + kBeforeDigest.size(), kDigits, *digest);
  }
}

DescentState training::read_descent(std::span<const std::byte> bytes, const std::string& name) {
  const Reader file(bytes, name);
  const Matrix numbers = file.read("state", 1, kNumbers);
  DescentState state;
  state.step = file.count(numbers(0), "step");
  state.time = numbers(1);
  state.momentum_power = numbers(2);
  state.squares_power = numbers(3);
  state.first_loss = numbers(4);
  state.loss_sum = numbers(5);
  state.loss_count = file.count(numbers(6), "loss_count");
  state.parameters = file.read("parameters", 1, -1).transpose();
  const Eigen::Index size = state.parameters.size();
  if (file.contains("momentum")) state.momentum = file.read("momentum", 1, size).transpose();
  if (file.contains("squares")) state.squares = file.read("squares", 1, size).transpose();
  if (file.contains("records")) {
    const Matrix rows = file.read("records", -1, kRecordNumbers + size);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      state.records.push_back({file.count(rows(i, 0), "step of a record"), rows(i, 1),
                               rows.row(i).tail(size).transpose(), rows(i, 2)});
    }
  }
  state.run = file.metadata("run");
  return state;
}

DescentState load_descent(const std::filesystem::path& path) {
  return training::read_descent(io::MappedFile::open(path).bytes(), path.native());
}

DescentState load_descent(const std::filesystem::path& path, std::string_view run) {
  DescentState state = load_descent(path);
  if (state.run != run) {
    fail(kLoadDescent,
         fmt::format("{}: is the checkpoint of another run, with other settings; give another place "
                     "for this one's, or delete it to begin anew",
                     io::one_line(path.native())));
  }
  return state;
}

std::string descent_name(const ConstVectorRef& start, const DescentOptions& options) {
  constexpr std::int64_t kSizes = 16;
  runtime::Sha256 hash;
  for (const double x : start) hash.add(x);
  for (const std::int64_t n :
       {static_cast<std::int64_t>(options.optimizer), options.steps, options.record_every}) {
    hash.add(static_cast<std::uint64_t>(n));
  }
  for (const double x : {options.momentum, options.squares, options.epsilon}) hash.add(x);
  // In this order the product does not overflow.
  for (std::int64_t k = 0; k < kSizes; ++k) {
    hash.add(options.step_size(options.steps / kSizes * k + options.steps % kSizes * k / kSizes));
  }
  const runtime::Sha256::Digest digest = hash.finish();
  return runtime::to_hex(digest.data(), digest.size() / 2);
}

}  // namespace largo
