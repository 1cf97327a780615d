// The files that a command writes at its end: --csv and --plot.
#pragma once

#include <string>

namespace largo {

/// Before the work. InputError unless `plot` is a .svg or .pdf file (the latter where there are fonts), the
/// two are different files under whatever names, and both can be written. Empty: not asked for.
void check_output_files(const char* command, const std::string& csv, const std::string& plot);

/// Whether two names are those of one file, which need not be there.
bool same_file(const std::string& one, const std::string& other);

/// Complete or not at all.
void write_text(const char* command, const std::string& file, const std::string& text);

/// An SVG document, as it is or, in a .pdf file, as PDF.
void write_figure(const char* command, const std::string& file, const std::string& svg);

}  // namespace largo
