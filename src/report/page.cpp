// The page of a report: web/dist/report.html with the data put in.
#include "report/report.hpp"

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "runtime/embedded_file.hpp"

// Compilers are slow with long literals.
LARGO_EMBED_FILE(largo_report_template, LARGO_REPORT_TEMPLATE);
extern "C" const char largo_report_template[], largo_report_template_end[];

namespace largo::report {
namespace {

// Replaces the null in the page's element of that id by JSON.
void put(std::string& page, std::string_view id, const io::Json& data) {
  const std::string place = fmt::format(R"(<script type="application/json" id="{}">)", id);
  constexpr std::string_view kNothing = "null</script>";
  const std::size_t at = page.find(fmt::format("{}{}", place, kNothing));
  if (at == std::string::npos) throw std::logic_error("report_page: the page has no place for data");
  std::string text = io::to_text(data);
  // Nothing in the text may look like the end of the script, or the start of a comment.
  for (std::size_t less = text.find('<'); less != std::string::npos; less = text.find('<', less))
    text.replace(less, 1, "\\u003c");
  page.replace(at + place.size(), 4, text);
}

}  // namespace

std::string report_page(const Report& report, const io::Json& run) {
  std::string page(largo_report_template, largo_report_template_end);
  put(page, "largo-run", run);  // first, so that the data, which may be long, are not searched
  put(page, "largo-data", to_json(report));
  return page;
}

}  // namespace largo::report
