#include "output_files.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "arguments.hpp"
#include "io/files.hpp"
#include "largo/runtime/check.hpp"
#include "measures/named_files.hpp"
#include "output.hpp"
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
  files.insert(files.end(), inputs.files.begin(), inputs.files.end());
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

void OutputFiles::add_csv_option(CLI::App& command, const char* rows) {
  add_text_option(command, "--csv", csv, fmt::format("Write {} to this CSV file", rows));
}

void OutputFiles::add_plot_option(CLI::App& command) {
  add_text_option(command, "--plot", plot, "Write a figure to this .svg or .pdf file");
}

void OutputFiles::add_csv_and_plot_options(CLI::App& command, const char* rows) {
  add_csv_option(command, rows);
  add_plot_option(command);
}

void OutputFiles::add_page_option(CLI::App& command, const char* contents) {
  add_text_option(command, "--out", page, fmt::format("Write {} to this .html file", contents));
}

void OutputFiles::check(const char* command, const InputNames& inputs) const {
  check_not_read(command, "--csv", csv, inputs);
  check_not_read(command, "--plot", plot, inputs);
  check_not_read(command, "--out", page, inputs);
  if (csv == "-") {
    fail(command, "--csv", "'-'", "the name of a file; use --json for standard output");
  }
  if (!plot.empty() && !plot.ends_with(".svg") && !plot.ends_with(".pdf")) {
    fail(command, "--plot", fmt::format("'{}'", plot), "a .svg or .pdf file");
  }
  if (!page.empty() && !page.ends_with(".html")) {
    fail(command, "--out", fmt::format("'{}'", page), "a .html file");
  }
  if (!plot.empty() && !csv.empty() && same_file(csv, plot)) {
    fail(command, "--csv and --plot name the same file");
  }
  if (!page.empty() && !csv.empty() && same_file(csv, page)) {
    fail(command, "--csv and --out name the same file");
  }
  if (plot.ends_with(".pdf") && !has_fonts()) {
    fail(command, "--plot", fmt::format("'{}'", plot),
         "a .svg file on this machine: it has no fonts, so a PDF would have no text (install fonts, such as "
         "the package fonts-dejavu-core, to write PDF)");
  }
  for (const std::string& file : {csv, plot, page}) check_can_write(command, file);
}

void OutputFiles::write(const char* command, const std::function<std::string()>& to_csv,
                        const std::function<std::string()>& to_svg) const {
  if (!first_process()) return;
  const std::string rows = csv.empty() ? "" : to_csv();
  std::string figure = plot.empty() ? "" : to_svg();
  if (plot.ends_with(".pdf")) figure = to_pdf(figure);
  if (!csv.empty()) write_text(command, csv, rows);
  if (!plot.empty()) write_text(command, plot, figure);
}

void OutputFiles::print() const {
  if (!csv.empty()) fmt::print("rows written to {}\n", csv);
  if (!plot.empty()) fmt::print("figure written to {}\n", plot);
  if (!page.empty()) fmt::print("page written to {}\n", page);
}

void show_results(const char* command, const Results& results, const OutputFiles& outputs, bool as_json) {
  io::check_numbers(results.json);
  outputs.write(command, results.to_csv, results.to_svg);
  if (as_json) return print_json(results.json);
  results.print();
  outputs.print();
}

void check_can_write(const char* command, const std::string& file) {
  if (!file.empty() && first_process()) io::AtomicFile(command, file);
}

void write_text(const char* command, const std::string& file, const std::string& text) {
  io::AtomicFile target(command, file);
  target.write(text);
  target.commit();
}

}  // namespace largo
