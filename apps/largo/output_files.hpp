// The files that a command reads, which it must not replace with its results, and those that it writes at its
// end: --csv and --plot.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// Laws, and matrices or queries, as the options name them. Some of the names refer to files.
struct InputNames {
  std::vector<std::string> laws = {}, matrices = {};
};

/// Call it before the work. Throws InputError if `file`, the value of `option`, is one of the files that the
/// names refer to, even under another name. An empty `file` means that none was asked for.
void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs);

/// Call it before the work. Throws InputError unless `plot` is a .svg or .pdf file (.pdf only if there are
/// fonts), the two are different files under any name, and both can be written. An empty name means that no
/// file was asked for.
void check_output_files(const char* command, const std::string& csv, const std::string& plot);

/// Whether two names refer to the same file, which need not exist.
bool same_file(const std::string& one, const std::string& other);

/// Writes the whole file, or nothing.
void write_text(const char* command, const std::string& file, const std::string& text);

/// Writes an SVG document, converted to PDF if the name ends in .pdf.
void write_figure(const char* command, const std::string& file, const std::string& svg);

}  // namespace largo
