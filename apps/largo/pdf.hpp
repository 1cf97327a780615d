// Figures as PDF, for LaTeX.
#pragma once

#include <string>

namespace largo {

/// Whether there is any font to set text in; without one librsvg leaves all text out, and says nothing.
bool has_fonts();

/// An SVG document as a PDF of one page and its size, by librsvg and cairo: text stays text, in whatever
/// sans-serif font the machine has. Without a date: the same bytes for the same figure on one machine.
std::string to_pdf(const std::string& svg);

}  // namespace largo
