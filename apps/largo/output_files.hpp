// The files that a command writes at its end: --csv and --plot.
#pragma once

#include <string>

namespace largo {

/// Call it before the work. InputError unless `plot` is a .svg or .pdf file (.pdf only if there are fonts),
/// the two are different files under any name, and both can be written. An empty name means that no file was
/// asked for.
void check_output_files(const char* command, const std::string& csv, const std::string& plot);

/// Whether two names refer to the same file, which need not exist.
bool same_file(const std::string& one, const std::string& other);

/// Writes the whole file, or nothing.
void write_text(const char* command, const std::string& file, const std::string& text);

/// Writes an SVG document, converted to PDF if the name ends in .pdf.
void write_figure(const char* command, const std::string& file, const std::string& svg);

}  // namespace largo
