// Figures as PDF, for LaTeX.
#pragma once

#include <string>

namespace largo {

/// Whether there is any font to set text in. Without one, librsvg leaves out all text and reports no error.
bool has_fonts();

/// Converts an SVG document to a PDF with one page of the same size, by librsvg and cairo. Text stays text,
/// in the sans-serif font of the machine. The PDF has no date, so the same figure gives the same bytes on one
/// machine.
std::string to_pdf(const std::string& svg);

}  // namespace largo
