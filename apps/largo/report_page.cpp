#include "report_page.hpp"

#include <stdexcept>
#include <string_view>

// The page's bytes, as they are: compilers are slow with long literals.
__asm__(
    ".section .rodata\n"
    ".global largo_report_template\n"
    ".global largo_report_template_end\n"
    "largo_report_template:\n"
    ".incbin \"" LARGO_REPORT_TEMPLATE
    "\"\n"
    "largo_report_template_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char largo_report_template[], largo_report_template_end[];

namespace largo {

std::string report_page(const Json& data) {
  constexpr std::string_view kPlace = R"(<script type="application/json" id="largo-data">null</script>)";
  constexpr std::string_view kNothing = "null</script>";
  std::string page(largo_report_template, largo_report_template_end);
  const std::size_t place = page.find(kPlace);
  if (place == std::string::npos) throw std::logic_error("report_page: the page has no place for data");
  std::string text = to_text(data);
  // Nothing in a text may look like the end of the script, or the start of a comment.
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  page.replace(place + kPlace.size() - kNothing.size(), 4, text);
  return page;
}

}  // namespace largo
