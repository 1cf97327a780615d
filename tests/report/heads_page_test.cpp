// The page of an audit: its figures stand on the numbers of the audit, and it stays small.
#include "report/heads_page.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "largo/random/streams.hpp"
#include "support/fixtures.hpp"

namespace largo::test::heads_page_test {
namespace {

constexpr std::size_t kLargestPage = 3'000'000;  // bytes: docs/report.md
constexpr double kRounding = 1e-4;               // five digits are shown

// Numbers with as many digits as those of a real audit.
HeadAudit some_audit(std::int64_t layer, std::int64_t head) {
  std::vector<double> draws(200);
  Stream(5, static_cast<std::uint64_t>(64 * layer + head)).normals(0, draws);
  std::size_t next = 0;
  const auto number = [&] { return std::exp(draws[next++]); };
  HeadAudit audit;
  audit.layer = layer;
  audit.head = head;
  audit.tokens = 256;
  audit.head_dim = 16;
  audit.queries = 128;
  for (double* field :
       {&audit.score_std, &audit.score_skewness, &audit.score_kurtosis, &audit.P2, &audit.P2_predicted,
        &audit.effective_tokens, &audit.entropy, &audit.sink_mass, &audit.recent_mass, &audit.local_mass,
        &audit.max_weight, &audit.errors.uniform, &audit.errors.affine, &audit.errors.sinks_affine,
        &audit.errors.mixture, &audit.length_measured, &audit.length_predicted})
    *field = number();
  double total = 0;
  for (double& share : audit.scores.shares) total += share = number();
  audit.scores.below = number();
  audit.scores.above = number();
  total += audit.scores.below + audit.scores.above;
  for (double& share : audit.scores.shares) share /= total;
  audit.scores.below /= total;
  audit.scores.above /= total;
  for (int i = 0; i < 33; ++i) audit.lengths.push_back({std::exp2(i), number(), number(), number()});
  return audit;
}

std::vector<HeadAudit> some_audits(int layers, int heads) {
  std::vector<HeadAudit> audits;
  for (int layer = 0; layer < layers; ++layer)
    for (int head = 0; head < heads; ++head) audits.push_back(some_audit(layer, head));
  return audits;
}

io::Json grid_json(const std::vector<HeadAudit>& audits) {
  return to_json(report::heads_page(audits, 0.1, "largo heads"))["sections"][0]["grids"][0];
}

TEST(HeadsPage, BarsAndCurveStandOnTheNumbers) {
  const HeadAudit audit = some_audit(0, 0);
  const report::Report page = report::heads_page({audit}, 0.1, "largo heads");
  const std::vector<Figure>& figures = page.sections[0].grids[0].details[0][0];
  ASSERT_EQ(figures.size(), 2U);
  const std::vector<Curve>& curves = figures[1].panels[0].curves;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].style, Curve::Style::bars);
  ASSERT_EQ(curves[0].x.size(), kScoreBins);
  for (std::size_t b = 0; b < kScoreBins; ++b) {
    EXPECT_EQ(curves[0].x[b], -4.875 + 0.25 * static_cast<double>(b));
    EXPECT_NEAR(curves[0].y[b] / (4 * audit.scores.shares[b]), 1, kRounding);
  }
  for (std::size_t i = 0; i < curves[1].x.size(); ++i) {
    const double z = curves[1].x[i];
    EXPECT_NEAR(curves[1].y[i] / (0.3989422804 * std::exp(-z * z / 2)), 1, kRounding);
  }
  to_svg(figures[1]);  // does not refuse it
}

TEST(HeadsPage, HeadsOfEqualScoresHaveNoHistogram) {
  HeadAudit audit = some_audit(0, 0);
  audit.scores = {};
  const report::Report page = report::heads_page({audit}, 0.1, "largo heads");
  EXPECT_EQ(page.sections[0].grids[0].details[0][0].size(), 1U);
}

TEST(HeadsPage, ListsThatHeadsShareAreWrittenOnce) {
  const std::vector<HeadAudit> audits = some_audits(2, 3);
  const io::Json grid = grid_json(audits);
  ASSERT_EQ(grid["lists"].size(), 4U) << "lengths, bars, and the curve";
  const std::vector<Figure> figures = report::heads_page(audits, 0.1, "").sections[0].grids[0].details[1][2];
  const io::Json& views = grid["details"][1][2];
  for (std::size_t k = 0; k < figures.size(); ++k) {
    const std::vector<Curve>& curves = figures[k].panels[0].curves;
    for (std::size_t c = 0; c < curves.size(); ++c) {
      const io::Json& curve = views[k]["panels"][0]["curves"][c];
      ASSERT_TRUE(curve["x"].is_number());
      EXPECT_EQ(grid["lists"][curve["x"].get<std::size_t>()].get<std::vector<double>>(), curves[c].x);
      const io::Json& y = curve["y"];
      EXPECT_EQ((y.is_number() ? grid["lists"][y.get<std::size_t>()] : y).get<std::vector<double>>(),
                curves[c].y);
    }
  }
  EXPECT_TRUE(views[1]["panels"][0]["curves"][1]["y"].is_number());
  EXPECT_TRUE(views[1]["panels"][0]["curves"][0]["y"].is_array());
}

TEST(HeadsPage, AThousandHeadsStaySmall) {
  const std::string page =
      report::report_page(report::heads_page(some_audits(32, 32), 0.1, "largo heads capture.safetensors"));
  EXPECT_LT(page.size(), kLargestPage);
}

}  // namespace
}  // namespace largo::test::heads_page_test
