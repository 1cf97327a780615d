#include "output_files.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "io/files.hpp"
#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"
#include "pdf.hpp"
#include "processes.hpp"

namespace largo {

namespace {

std::vector<std::string> files_of(const InputNames& inputs) {
  std::vector<std::string> files;
  for (const std::string& law : inputs.laws) {
    for (std::string& file : measures::files_of_law(law)) files.push_back(std::move(file));
  }
  for (const std::string& matrix : inputs.matrices) {
    if (auto file = measures::file_of_matrix(matrix)) files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace

void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs) {
  if (file.empty()) return;
  for (const std::string& input : files_of(inputs)) {
    if (!same_file(file, input)) continue;
    fail(command, option, fmt::format("'{}'", file),
         fmt::format("a different file from '{}', which the command reads", input));
  }
}

bool same_file(const std::string& one, const std::string& other) {
  // If the place is not known (a name that is too long, a folder that may not be read), the path is empty.
  // Such a file cannot be written either, which another check reports.
  const auto place = [](const std::string& file) {
    std::error_code unknown;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file, unknown), unknown);
  };
  const std::filesystem::path first = place(one);
  return one == other || (!first.empty() && first == place(other));
}

void check_output_files(const char* command, const std::string& csv, const std::string& plot) {
  if (csv == "-") {
    fail(command, "--csv", "'-'", "the name of a file; use --json for standard output");
  }
  if (!plot.empty() && !plot.ends_with(".svg") && !plot.ends_with(".pdf")) {
    fail(command, "--plot", fmt::format("'{}'", plot), "a .svg or .pdf file");
  }
  if (!plot.empty() && !csv.empty() && same_file(csv, plot)) {
    fail(command, "--csv and --plot name the same file");
  }
  if (plot.ends_with(".pdf") && !has_fonts()) {
    fail(command, "--plot", fmt::format("'{}'", plot),
         "a .svg file on this machine: it has no fonts, so a PDF would have no text (install fonts, such as "
         "the package fonts-dejavu-core, to write PDF)");
  }
  if (!first_process()) return;
  for (const std::string& file : {csv, plot}) {
    if (!file.empty()) io::AtomicFile(command, file);  // checks that it can be written
  }
}

void write_text(const char* command, const std::string& file, const std::string& text) {
  io::AtomicFile target(command, file);
  target.write(text);
  target.commit();
}

void write_figure(const char* command, const std::string& file, const std::string& svg) {
  write_text(command, file, file.ends_with(".pdf") ? to_pdf(svg) : svg);
}

}  // namespace largo
