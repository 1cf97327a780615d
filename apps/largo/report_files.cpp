#include "report_files.hpp"

#include <algorithm>
#include <deque>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "io/files.hpp"
#include "largo/report/figure.hpp"
#include "largo/runtime/check.hpp"
#include "pdf.hpp"

namespace largo {
namespace {

constexpr const char* kKinds[] = {"svg", "pdf", "csv"};

void make_folder(const char* command, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(command, "--out", fmt::format("'{}'", folder.string()), "a folder that can be written");
}

std::filesystem::path figure_file(const std::filesystem::path& folder, const std::string& id,
                                  const char* kind) {
  return folder / "figures" / fmt::format("{}.{}", id, kind);
}

// The figures of the report that is in the folder; empty if there is no such report.
std::vector<std::string> figures_there(const std::filesystem::path& folder) {
  std::vector<std::string> ids;
  std::ifstream file(folder / "report.json");
  const io::Json report = io::Json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("claims")) return ids;
  try {
    for (const io::Json& claim : report["claims"]) {
      for (const io::Json& figure : claim.at("figures")) ids.push_back(figure.at("id").get<std::string>());
    }
  } catch (const io::Json::exception&) {  // not written by largo
    return {};
  }
  // Whatever the file says, only names of files in the folder are kept.
  std::erase_if(ids, [](const std::string& id) {
    return id.empty() || id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos;
  });
  return ids;
}

void remove_file(const std::filesystem::path& file) {
  std::error_code ignored;  // if it cannot be removed, it is replaced later
  std::filesystem::remove(file, ignored);
}

}  // namespace

void check_report_folder(const char* command, const std::filesystem::path& folder) {
  make_folder(command, folder);
  for (const char* name : {"report.json", "run.json", "report.html"}) io::AtomicFile(command, folder / name);
  const std::filesystem::path figures = folder / "figures";
  std::error_code missing;
  const auto status = std::filesystem::status(figures, missing);
  if (!std::filesystem::exists(status)) return;
  make_folder(command, figures);
  io::AtomicFile(command, figures / "figure.svg");  // checks that files can be created there
}

void write_report(const char* command, const std::filesystem::path& folder,
                  const std::vector<report::ReportSection>& claims, const ReportTexts& texts) {
  make_folder(command, folder / "figures");
  std::deque<io::AtomicFile> files;
  const auto add = [&](const std::filesystem::path& file, const std::string& text) {
    files.emplace_back(command, file).write(text);
  };
  std::vector<std::string> ids;
  for (const report::ReportSection& claim : claims) {
    for (const report::ReportFigure& figure : claim.figures) {
      // The PDF has no caption, since a paper has its own.
      const std::string bare = to_svg({.panels = figure.figure.panels});
      add(figure_file(folder, figure.id, "svg"), to_svg(figure.figure));
      if (has_fonts()) add(figure_file(folder, figure.id, "pdf"), to_pdf(bare));
      add(figure_file(folder, figure.id, "csv"), report::to_csv(figure.figure));
      ids.push_back(figure.id);
    }
  }
  add(folder / "report.json", fmt::format("{}\n", io::to_text(texts.report, 1)));
  add(folder / "run.json", fmt::format("{}\n", io::to_text(texts.run, 1)));
  add(folder / "report.html", texts.page);
  for (io::AtomicFile& file : files) file.flush();
  remove_file(files.back().target());  // the old page itself, not a link to it: it would show the new figures
  for (const std::string& id : figures_there(folder)) {
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    for (const char* kind : kKinds) remove_file(figure_file(folder, id, kind));
  }
  if (!has_fonts()) {  // any PDF there is from another run
    for (const std::string& id : ids) remove_file(figure_file(folder, id, "pdf"));
  }
  for (io::AtomicFile& file : files) file.commit();
}

}  // namespace largo
