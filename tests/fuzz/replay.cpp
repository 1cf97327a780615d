// Runs a fuzz target without libFuzzer, on every file of the given folders: whole, cut short, and with one
// byte changed. So the seeds are read in every build, under the sanitizers where it has them.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int inputs = 0;

void feed(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  ++inputs;
}

void feed_variants(const std::string& text) {
  constexpr std::size_t kMost = 300;  // variants of each kind, spread over the text
  feed(text);
  const std::size_t stride = 1 + text.size() / kMost;
  for (std::size_t i = 0; i < text.size(); i += stride) {
    feed(text.substr(0, i));
    std::string other = text;
    for (const char c : {'\0', '"', '[', '.', '9', '\n', '\xff'}) {
      other[i] = c;
      feed(other);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      feed_variants({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
    }
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
