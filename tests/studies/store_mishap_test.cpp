// Kills, losses of power and full disks at every operation of the store: what was committed is there, in
// whole batches and nothing else, and the study continues to the same content.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>

#include "largo/studies/study_table.hpp"
#include "studies/mishap_vfs.hpp"
#include "studies/store.hpp"
#include "studies/studies.hpp"

namespace largo::test::store_mishap_test {
namespace {

constexpr std::int64_t kBatch = 24, kBatches = 3;
constexpr int kNever = 1 << 30;

// Runs the body in a process of its own, and returns what waitpid says.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
      code = 98;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

bool exited_with(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

class StoreMishapTest : public StudyTest {
 protected:
  void SetUp() override {
    StudyTest::SetUp();
    void* page =
        ::mmap(nullptr, sizeof(*committed_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    committed_ = static_cast<std::int64_t*>(page);
    study_ =
        std::make_unique<Study>(study("quantity = 'moments'\n[grid]\ns = '0.1:3:6'\nL = '1e1:1e6:12'\n"));
    ASSERT_EQ(study_->size(), kBatch * kBatches);
    ASSERT_TRUE(exited_with(run("whole.sqlite", Mishap::none, kNever), 0));
    expected_ = study_status(path("whole.sqlite")).content;
  }
  void TearDown() override {
    ::munmap(committed_, sizeof(*committed_));
    StudyTest::TearDown();
  }

  // Runs the rest of the study in batches; exits with 1 if the disk is full. committed_ counts the units.
  int run(const std::string& store, Mishap mishap, int at) {
    *committed_ = 0;
    return in_child([&] {
      expect_mishap(mishap, at);
      try {
        studies::StudyStore here(path(store), *study_, 1, 1);
        std::vector<studies::FinishedUnit> batch;
        for (const std::int64_t unit : here.pending(false)) {
          batch.push_back({unit, 1,
                           std::vector<studies::UnitResult>(
                               7, studies::UnitResult(1.5 + static_cast<double>(unit), 1e-9)),
                           ""});
          if (std::ssize(batch) < kBatch) continue;
          if (!here.write(batch)) return 97;
          *committed_ += kBatch;
          batch.clear();
        }
      } catch (const std::runtime_error& error) {
        return std::string(error.what()).find("is the disk full?") == std::string::npos ? 96 : 1;
      }
      return 0;
    });
  }

  // Whether the store is that of some number of whole transactions, at least of those that were committed.
  ::testing::AssertionResult whole(const std::string& store) const {
    try {
      studies::Database database(path(store), studies::OpenMode::read, 1000);
      studies::Statement check(database, "PRAGMA integrity_check");
      if (!check.step() || check.text(0) != "ok") return ::testing::AssertionFailure() << check.text(0);
      if (database.number("SELECT count(*) FROM sqlite_master") == 0) {
        if (*committed_ == 0) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << "all is gone";
      }
      const std::int64_t units = database.number("SELECT count(*) FROM units");
      const std::int64_t counted = database.number("SELECT sum(units) FROM runs");
      if (units < *committed_ || units % kBatch != 0 || units != counted) {
        return ::testing::AssertionFailure()
               << units << " units, " << counted << " counted, " << *committed_ << " committed";
      }
      return ::testing::AssertionSuccess();
    } catch (const studies::SqliteError& error) {
      return ::testing::AssertionFailure() << error.what();
    }
  }

  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy_file(path(from), path(to), std::filesystem::copy_options::overwrite_existing);
  }
  void remove_store(const std::string& store) const {
    for (const char* end : {"", "-journal", ".lock"}) std::filesystem::remove(path(store + end));
  }

  // Tries every operation in turn, until the study finishes before the mishap. Returns how many there are.
  int everywhere(Mishap mishap) {
    for (int at = 0; at < 2000; ++at) {
      remove_store("s.sqlite");
      const int status = run("s.sqlite", mishap, at);
      if (exited_with(status, 0)) return at;
      if (mishap == Mishap::disk_full) {
        EXPECT_TRUE(exited_with(status, 1)) << at << ": " << status;
        EXPECT_FALSE(std::filesystem::exists(path("s.sqlite.lock"))) << at;
      } else {
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << at << ": " << status;
      }
      if (std::filesystem::exists(path("s.sqlite-journal"))) without_journal();
      EXPECT_TRUE(whole("s.sqlite")) << "operation " << at;
      EXPECT_TRUE(exited_with(run("s.sqlite", Mishap::none, kNever), 0)) << at;
      EXPECT_EQ(study_status(path("s.sqlite")).content, expected_) << at;
      if (HasFailure()) return at;
    }
    ADD_FAILURE() << "there is no end to it";
    return 0;
  }

  // Checks the store at the same moment, as if there had been no journal.
  void without_journal() {
    ++journals_;
    copy("s.sqlite", "bare.sqlite");
    if (!whole("bare.sqlite")) ++broken_without_;
    remove_store("bare.sqlite");
  }

  std::int64_t* committed_ = nullptr;
  std::unique_ptr<Study> study_;
  std::string expected_;
  int journals_ = 0, broken_without_ = 0;
};

// The journal is what saves the store: at some of these moments the file alone is not a store.
TEST_F(StoreMishapTest, KillsAtEveryOperation) {
  const int operations = everywhere(Mishap::kill);
  EXPECT_GT(operations, 40);
  EXPECT_GT(journals_, operations / 2);
  EXPECT_GT(broken_without_, 5) << "of " << journals_;
  RecordProperty("operations", operations);
  RecordProperty("broken_without_journal", broken_without_);
}

TEST_F(StoreMishapTest, LossesOfPowerAtEveryOperation) {
  EXPECT_GT(everywhere(Mishap::power_loss), 40);
  EXPECT_GT(everywhere(Mishap::torn_power_loss), 40);
}

TEST_F(StoreMishapTest, FullDisksAtEveryOperation) { EXPECT_GT(everywhere(Mishap::disk_full), 40); }

}  // namespace
}  // namespace largo::test::store_mishap_test
