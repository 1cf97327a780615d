// Figures as PDF, for LaTeX.
#pragma once

#include <string>

namespace largo {

/// An SVG document as a PDF of one page and its size, by librsvg and cairo: text stays text, in whatever
/// sans-serif font the machine has. Without a date: the same bytes for the same figure on one machine.
std::string to_pdf(const std::string& svg);

}  // namespace largo
