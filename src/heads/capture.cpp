#include "largo/heads/capture.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heads/stored_rows.hpp"
#include "io/bytes.hpp"
#include "io/text.hpp"
#include "largo/io/safetensors.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr const char* kFunction = "heads";
constexpr std::array<std::string_view, 3> kParts = {"q", "k", "v"};
constexpr std::string_view kWanted =
    "a capture has tensors layers.N.q, layers.N.k and layers.N.v of shape (heads, tokens, head_dim)";

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string tensor_name(std::int64_t layer, std::string_view part) {
  return fmt::format("layers.{}.{}", layer, part);
}

struct PartName {
  std::int64_t layer = 0;
  std::size_t part = 0;  ///< index into kParts
};

// "layers.12.q"; nothing if the name is another one.
std::optional<PartName> read_part_name(std::string_view name) {
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  PartName result;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, result.layer);
  if (error != std::errc() || result.layer < 0) return std::nullopt;
  // One name for one layer: not layers.01.q.
  if (name.front() == '+' || (name.front() == '0' && rest != name.data() + 1)) return std::nullopt;
  const std::string_view part(rest, static_cast<std::size_t>(end - rest));
  for (; result.part < kParts.size(); ++result.part) {
    if (part.size() == 2 && part.front() == '.' && part.substr(1) == kParts[result.part]) return result;
  }
  return std::nullopt;
}

bool is_of_weights(std::string_view name) {
  return name.ends_with(".weight") || name.ends_with(".bias") || name.find("_proj") != std::string_view::npos;
}

[[noreturn]] void refuse(std::string_view file, std::string_view what) {
  fail(kFunction, file.empty() ? std::string(what) : fmt::format("{}: {}", io::one_line(file), what));
}

std::optional<Storage> storage_of(std::string_view dtype) {
  if (dtype == "F16") return Storage::float16;
  if (dtype == "BF16") return Storage::bfloat16;
  if (dtype == "F32") return Storage::float32;
  if (dtype == "F64") return Storage::float64;
  return std::nullopt;
}

[[noreturn]] void refuse_names(const SafetensorsFile& file, std::string_view name) {
  for (const TensorInfo& tensor : file.tensors()) {
    if (!is_of_weights(tensor.name)) continue;
    refuse(name, fmt::format("this looks like the weights of a model (tensor {}), not like a capture of its "
                             "attention: record one with largo.heads.capture(model, inputs) in Python",
                             io::in_quotes(tensor.name)));
  }
  if (file.tensors().empty()) refuse(name, fmt::format("there is no tensor in it; {}", kWanted));
  refuse(name, fmt::format("tensor {} is not of a capture, and there is none that is; {}",
                           io::in_quotes(file.tensors().front().name), kWanted));
}

// The extents of a tensor, with one sequence if there is no batch.
struct Extents {
  std::int64_t sequences = 1, heads = 0, tokens = 0, columns = 0;
};

Extents extents_of(std::string_view file, const std::string& name, const StoredTensor& tensor) {
  const std::vector<std::int64_t>& shape = tensor.shape;
  if (shape.size() != 3 && shape.size() != 4) {
    refuse(file, fmt::format("{} has shape {}, must be (heads, tokens, head_dim), or (sequences, heads, "
                             "tokens, head_dim)",
                             name, text_of(shape)));
  }
  const std::size_t first = shape.size() - 3;
  const Extents result{first == 1 ? shape[0] : 1, shape[first], shape[first + 1], shape[first + 2]};
  constexpr std::array<const char*, 4> kAxes = {"sequences", "heads", "tokens", "head_dim"};
  const std::array sizes = {result.sequences, result.heads, result.tokens, result.columns};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1)
      refuse(file, fmt::format("{} has shape {}: {} must be at least 1", name, text_of(shape), kAxes[i]));
  }
  return result;
}

StoredRows rows_of(const StoredTensor& tensor, const Extents& extents, std::int64_t sequence,
                   std::int64_t head) {
  const std::int64_t before = (sequence * extents.heads + head) * extents.tokens * extents.columns;
  return {tensor.data + before * size_of(tensor.storage), tensor.storage, extents.tokens, extents.columns};
}

}  // namespace

void Capture::add_layer(const StoredLayer& given) {
  const std::int64_t layer = given.layer;
  const StoredTensor &q = given.q, &k = given.k, &v = given.v;
  const std::array names = {tensor_name(layer, "q"), tensor_name(layer, "k"), tensor_name(layer, "v")};
  const Extents query = extents_of(name_, names[0], q), key = extents_of(name_, names[1], k),
                value = extents_of(name_, names[2], v);
  const auto disagree = [&](std::string_view what, std::size_t other) {
    const StoredTensor& second = other == 1 ? k : v;
    refuse(name_, fmt::format("{} has shape {} and {} has shape {}: {}", names[0], text_of(q.shape),
                              names[other], text_of(second.shape), what));
  };
  if (key.columns != query.columns) disagree("queries and keys must have the same head_dim", 1);
  if (key.sequences != query.sequences) disagree("they must have the same number of sequences", 1);
  if (value.sequences != query.sequences) disagree("they must have the same number of sequences", 2);
  if (value.tokens != key.tokens || value.heads != key.heads) {
    refuse(name_, fmt::format("{} has shape {} and {} has shape {}: keys and values must have the same heads "
                              "and tokens",
                              names[1], text_of(k.shape), names[2], text_of(v.shape)));
  }
  if (query.heads % key.heads != 0)
    disagree("the heads of keys and values must divide the number of heads of queries", 1);
  if (query.tokens > key.tokens)
    disagree("there are more queries than tokens; there may be fewer, which are then the last ones", 1);
  if (!heads_.empty() && sequences_ != query.sequences) {
    refuse(name_, fmt::format("{} has {} sequences and other layers have {}: they must be the same prompts",
                              names[0], query.sequences, sequences_));
  }
  sequences_ = query.sequences;
  const std::int64_t group = query.heads / key.heads;
  for (std::int64_t sequence = 0; sequence < sequences_; ++sequence) {
    for (std::int64_t head = 0; head < query.heads; ++head) {
      heads_.push_back({layer, sequence, head, rows_of(q, query, sequence, head),
                        rows_of(k, key, sequence, head / group), rows_of(v, value, sequence, head / group)});
    }
  }
}

namespace {

struct Layer {
  std::array<const TensorInfo*, 3> parts = {};
};

std::map<std::int64_t, Layer> layers_in(const SafetensorsFile& file) {
  std::map<std::int64_t, Layer> layers;
  for (const TensorInfo& tensor : file.tensors()) {
    if (const auto name = read_part_name(tensor.name)) layers[name->layer].parts[name->part] = &tensor;
  }
  return layers;
}

}  // namespace

Capture Capture::from_file(std::shared_ptr<const void> owner, std::string_view name) {
  const auto& file = *static_cast<const SafetensorsFile*>(owner.get());
  Capture result;
  result.name_ = name;
  const std::map<std::int64_t, Layer> layers = layers_in(file);
  if (layers.empty()) refuse_names(file, name);
  for (const auto& [number, layer] : layers) {
    std::array<StoredTensor, 3> tensors;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      const TensorInfo* const info = layer.parts[i];
      if (info == nullptr) {
        refuse(name,
               fmt::format("{} is missing; the layer needs {}, {} and {}", tensor_name(number, kParts[i]),
                           tensor_name(number, "q"), tensor_name(number, "k"), tensor_name(number, "v")));
      }
      const std::optional<Storage> storage = storage_of(info->dtype);
      if (!storage) {
        refuse(name, fmt::format("{} has dtype {}, must be F16, BF16, F32 or F64", info->name, info->dtype));
      }
      tensors[i] = {file.bytes(*info).data(), *storage, info->shape};
    }
    result.add_layer({number, tensors[0], tensors[1], tensors[2]});
  }
  result.owner_ = std::move(owner);
  return result;
}

Capture Capture::open(const std::filesystem::path& path) {
  return from_file(std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path)), path.native());
}

Capture Capture::from_bytes(std::span<const std::byte> bytes, std::string_view name) {
  return from_file(std::make_shared<const SafetensorsFile>(SafetensorsFile::from_bytes(bytes, name)), name);
}

Capture Capture::of_layers(std::span<const StoredLayer> layers) {
  if (layers.empty()) refuse("", "there is no layer");
  Capture result;
  for (const StoredLayer& layer : layers) result.add_layer(layer);
  return result;
}

Capture Capture::selected(std::span<const std::int64_t> layers, std::span<const std::int64_t> heads) const {
  const auto check = [&](const char* what, std::span<const std::int64_t> wanted,
                         std::int64_t CapturedHead::*number) {
    for (const std::int64_t one : wanted) {
      const bool found = std::any_of(heads_.begin(), heads_.end(),
                                     [&](const CapturedHead& head) { return head.*number == one; });
      if (!found) refuse(name_, fmt::format("there is no {} {} in this capture", what, one));
    }
  };
  check("layer", layers, &CapturedHead::layer);
  check("head", heads, &CapturedHead::head);
  const auto is_in = [](std::span<const std::int64_t> wanted, std::int64_t number) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), number) != wanted.end();
  };
  Capture result = *this;
  std::erase_if(result.heads_, [&](const CapturedHead& head) {
    return !is_in(layers, head.layer) || !is_in(heads, head.head);
  });
  if (result.heads_.empty()) refuse(name_, "none of the layers has any of these heads");
  return result;
}

void check_finite(const CapturedHead& head) {
  const std::array parts = {&head.queries, &head.keys, &head.values};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<std::int64_t> at = heads::find_not_finite(*parts[i]);
    if (!at) continue;
    fail(kFunction,
         fmt::format("{} has a number that is NaN or infinite, at sequence {}, head {} (of the queries), row "
                     "{}, coordinate {}: capture again, in float32 if the model overflows in float16",
                     tensor_name(head.layer, kParts[i]), head.sequence, head.head, *at / parts[i]->columns,
                     *at % parts[i]->columns));
  }
}

}  // namespace largo
