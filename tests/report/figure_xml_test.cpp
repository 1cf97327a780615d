// The figures as an XML parser sees them.
#include "largo/report/figure.hpp"
#include "sample_figures.hpp"
#include "support/fixtures.hpp"

namespace largo::test::figure_xml_test {
namespace {

// Files are well-formed, have only finite numbers with at most two decimals, all of them on the page, and
// show the texts as given.
constexpr const char* kChecker = R"PY(
import glob, re, xml.etree.ElementTree as tree
SVG = '{http://www.w3.org/2000/svg}'
files = sorted(glob.glob('*.svg'))
assert len(files) == 8, files
for name in files:
    text = open(name, 'rb').read().decode('utf-8')
    root = tree.fromstring(text)
    assert root.tag == SVG + 'svg' and root.get('role') == 'img'
    assert root[0].tag == SVG + 'title' and root[0].text
    width, height = (float(v) for v in root.get('viewBox').split()[2:])
    for item in root.iter():
        for key, value in item.attrib.items():
            assert not re.search(r'nan|inf', value, re.I), (name, key, value)
            assert not re.search(r'\d\.\d{3}', value), (name, key, value)
        if item.tag == SVG + 'path':
            for x, y in re.findall(r'[ML](-?[\d.]+) (-?[\d.]+)', item.get('d')):
                assert -0.01 <= float(x) <= width and -0.01 <= float(y) <= height, (name, x, y)
            assert re.fullmatch(r'([MLVHhvaz][-\d. ]*)+', item.get('d')), (name, item.get('d'))
        if item.tag == SVG + 'text' and item.get('x'):
            assert 0 <= float(item.get('x')) <= width and 0 <= float(item.get('y')) <= height, (name, item.text)
texts = [item.text for item in tree.parse('hostile.svg').iter(SVG + 'text')]
for label in open('labels.txt', encoding='utf-8').read().split('\n'):
    assert label in texts, (label, texts)
)PY";

Figure hostile_figure() {
  Figure figure = single_figure();
  Panel& panel = figure.panels[0];
  panel.title = "</text><script>alert('&amp;')</script>";
  panel.x_label = R"("quoted" & 'quoted')";
  panel.y_label = "∑ ‖x‖² ≤ 中 ]]>";
  panel.curves[0].note = "a<b";
  figure.caption = "<!-- -->";
  return figure;
}

// Bands and bars leave the panel in all directions.
Figure wide_band_figure() {
  Figure figure = single_figure();
  Curve& band = figure.panels[0].curves[0];
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    band.low.push_back(i % 3 == 0 ? -1 : i % 3 == 1 ? -kInfinity : 1e-300);
    band.high.push_back(i % 2 == 0 ? kInfinity : 1e300);
  }
  Curve bars = band;
  bars.style = Curve::Style::points;
  bars.color = 1;
  figure.panels[0].curves.push_back(bars);
  figure.panels.push_back(figure.panels[0]);
  figure.panels[1].log_x = figure.panels[1].log_y = false;
  for (Curve& curve : figure.panels[1].curves) curve.high.assign(curve.x.size(), 1.7e308);
  return figure;
}

Figure bars_figure() {
  const std::vector<double> x = {-1, -0.5, 0, 0.5, 1};
  const auto density = [](double z) { return std::exp(-z * z); };
  return {
      {{.title = "histogram",
        .log_x = false,
        .log_y = false,
        .curves = {curve_of("found", x, density, 0, Curve::Style::bars), curve_of("normal", x, density, 7)}}},
      "Bars below a curve."};
}

TEST(FigureXml, AParserReadsThem) {
  const TemporaryDirectory directory;
  put(directory / "concentration.svg", to_svg(concentration_figure()));
  put(directory / "extreme.svg", to_svg(extreme_figure()));
  put(directory / "single.svg", to_svg(single_figure()));
  put(directory / "crowded.svg", to_svg(crowded_figure()));
  put(directory / "edge.svg", to_svg(edge_figure()));
  put(directory / "hostile.svg", to_svg(hostile_figure()));
  put(directory / "bands.svg", to_svg(wide_band_figure()));
  put(directory / "bars.svg", to_svg(bars_figure()));
  const Panel panel = hostile_figure().panels[0];
  put(directory / "labels.txt",
      panel.title + "\n" + panel.x_label + "\n" + panel.y_label + "\na<b\n<!-- -->");
  if (!run_python(directory, "import xml.etree.ElementTree"))
    GTEST_SKIP() << "no XML parser in " LARGO_PYTHON;
  EXPECT_TRUE(run_python(directory, kChecker));
}

}  // namespace
}  // namespace largo::test::figure_xml_test
