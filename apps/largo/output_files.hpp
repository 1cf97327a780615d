// The files that a command reads, which it must not replace with its results, and those that it writes at its
// end: --csv and --plot.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "io/json.hpp"

namespace largo {

/// Laws, and matrices or queries, as the options name them (some of the names refer to files), and plain
/// files.
struct InputNames {
  std::vector<std::string> laws = {}, matrices = {}, files = {};
};

/// Call it before the work. Throws InputError if `file`, the value of `option`, is one of the files that the
/// names refer to, even under another name. An empty `file` means that none was asked for.
void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs);

/// The files in which a command leaves its results. An empty name means that no file was asked for.
struct OutputFiles {
  std::string csv, plot, page;

  /// `rows` says what --csv writes: "all rows".
  void add_csv_option(CLI::App& command, const char* rows);
  void add_plot_option(CLI::App& command);
  void add_csv_and_plot_options(CLI::App& command, const char* rows);
  /// `contents` says what --out writes.
  void add_page_option(CLI::App& command, const char* contents);

  /// Call it before the work. Throws InputError unless `plot` is a .svg or .pdf file (.pdf only if there are
  /// fonts), `page` is a .html file, all are different files under any name and none that the command reads,
  /// and all can be written.
  void check(const char* command, const InputNames& inputs = {}) const;

  /// Makes what was asked for, a table in CSV and a figure in SVG, and then writes it. Only the first process
  /// does.
  void write(const char* command, const std::function<std::string()>& to_csv,
             const std::function<std::string()>& to_svg = {}) const;

  /// Tells a person what was written.
  void print() const;
};

/// What a command has computed, in all its forms.
struct Results {
  io::Json json;
  std::function<std::string()> to_csv, to_svg = {};
  std::function<void()> print;
};

/// The end of a command: writes the files that were asked for, and prints the JSON or the text. Nothing is
/// written if a number is not one.
void show_results(const char* command, const Results& results, const OutputFiles& outputs, bool as_json);

/// The same, for a report that has to_json, to_csv, to_svg and print_report.
template <typename Report, typename Options>
void show_report(const char* command, const Report& report, const Options& options) {
  const Results results{.json = to_json(report),
                        .to_csv = [&] { return to_csv(report); },
                        .to_svg = [&] { return to_svg(report); },
                        .print = [&] { print_report(report); }};
  show_results(command, results, options.outputs, options.json);
}

/// Whether two names refer to the same file, which need not exist.
bool same_file(const std::string& one, const std::string& other);

/// Call it before the work. Throws InputError if `file` cannot be written.
void check_can_write(const char* command, const std::string& file);

/// Writes the whole file, or nothing.
void write_text(const char* command, const std::string& file, const std::string& text);

}  // namespace largo
