// Captured heads of a transformer: the queries, keys and values that its attention saw, one head at a time.
//
// A capture is a .safetensors file with the tensors layers.N.q, layers.N.k and layers.N.v of shape (heads,
// tokens, head_dim), or (sequences, heads, tokens, head_dim) for a batch of prompts; F16, BF16, F32 or F64.
// There may be fewer heads of keys and values than of queries: head h then reads those of number h / (ratio).
// There may be fewer queries than tokens: they are those of the last tokens. The file is mapped, not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "largo/heads/captured_head.hpp"

namespace largo {

class Capture {
 public:
  /// Maps the file. InputError if it is not a capture, with what to do.
  static Capture open(const std::filesystem::path& path);
  /// The same from a copy of the bytes of a file; `name` is the file's name in messages.
  static Capture from_bytes(std::span<const std::byte> bytes, std::string_view name);
  /// Layers in memory that the caller keeps while any copy of the result lives, in increasing order.
  static Capture of_layers(std::span<const StoredLayer> layers);

  /// In order of layer, then sequence, then head. Never empty.
  const std::vector<CapturedHead>& heads() const { return heads_; }
  std::int64_t sequences() const { return sequences_; }

  /// The heads of these layers and with these numbers; an empty list means all. InputError if one is missing.
  Capture selected(std::span<const std::int64_t> layers, std::span<const std::int64_t> heads) const;

 private:
  std::shared_ptr<const void> owner_;
  std::string name_;  ///< for messages
  std::int64_t sequences_ = 1;
  std::vector<CapturedHead> heads_;

  void add_layer(const StoredLayer& layer);
  static Capture from_file(std::shared_ptr<const void> file, std::string_view name);
};

/// InputError if a number of the heads is NaN or infinite: it names the tensor and the place.
void check_finite(const CapturedHead& head);

}  // namespace largo
