#include "pdf.hpp"

#include <cairo-pdf.h>
#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>

#include <memory>
#include <stdexcept>

#include "threads.hpp"

namespace largo {
namespace {

struct Free {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(FcPattern* pattern) const { FcPatternDestroy(pattern); }
};

cairo_status_t append(void* text, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

bool has_fonts() {
  // Asks for what librsvg asks for, not for the list of all fonts: a font may be excluded.
  const std::unique_ptr<FcPattern, Free> wanted(FcNameParse(reinterpret_cast<const FcChar8*>("sans-serif")));
  if (!wanted || FcInit() == FcFalse) return false;
  FcConfigSubstitute(nullptr, wanted.get(), FcMatchPattern);
  FcDefaultSubstitute(wanted.get());
  FcResult result = FcResultNoMatch;
  const std::unique_ptr<FcPattern, Free> found(FcFontMatch(nullptr, wanted.get(), &result));
  FcChar8* file = nullptr;
  return found && FcPatternGetString(found.get(), FC_FILE, 0, &file) == FcResultMatch;
}

std::string to_pdf(const std::string& svg) {
  check_threads_of_fonts("to_pdf");
  const std::unique_ptr<RsvgHandle, Free> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), nullptr));
  gdouble width = 0, height = 0;
  constexpr double kPixels = 96, kPoints = 72;  // per inch
  if (handle) rsvg_handle_set_dpi(handle.get(), kPixels);
  if (!handle || !rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height)) {
    throw std::runtime_error("to_pdf: the figure is not an SVG document with a size");
  }
  width *= kPoints / kPixels;
  height *= kPoints / kPixels;
  std::string pdf;
  {
    const std::unique_ptr<cairo_surface_t, Free> surface(
        cairo_pdf_surface_create_for_stream(append, &pdf, width, height));
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
    const std::unique_ptr<cairo_t, Free> context(cairo_create(surface.get()));
    const RsvgRectangle page{0, 0, width, height};
    const bool drawn = rsvg_handle_render_document(handle.get(), context.get(), &page, nullptr) != 0;
    cairo_surface_finish(surface.get());
    if (!drawn || cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {
      throw std::runtime_error("to_pdf: librsvg could not draw the figure");
    }
  }
  return pdf;
}

}  // namespace largo
