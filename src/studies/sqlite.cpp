#include "studies/sqlite.hpp"

#include <cmath>
#include <limits>

#include <sqlite3.h>

namespace largo::studies {
namespace {

// A connection belongs to one thread at a time.
constexpr int kOpenFlags = SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX;

[[noreturn]] void raise(sqlite3* db, int code) {
  const std::string message = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  throw SqliteError(code & 0xff, message);
}

}  // namespace

bool SqliteError::busy() const { return code_ == SQLITE_BUSY || code_ == SQLITE_LOCKED; }
bool SqliteError::not_a_database() const { return code_ == SQLITE_NOTADB || code_ == SQLITE_CORRUPT; }
bool SqliteError::cannot_open() const {
  return code_ == SQLITE_CANTOPEN || code_ == SQLITE_READONLY || code_ == SQLITE_PERM || code_ == SQLITE_AUTH;
}
bool SqliteError::full() const { return code_ == SQLITE_FULL || code_ == SQLITE_IOERR; }

Database::Database(const std::filesystem::path& path, OpenMode mode, int patience) {
  // A reader opens for writing, too: only then can it roll back the journal of a killed process.
  int flags = SQLITE_OPEN_READWRITE | kOpenFlags;
  if (mode == OpenMode::create) flags |= SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(path.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK && mode == OpenMode::read) {
    sqlite3_close(db_);
    code = sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY | kOpenFlags, nullptr);
  }
  try {
    if (code != SQLITE_OK) raise(db_, code);
    wait_for_locks(patience);
    execute(mode == OpenMode::read ? "PRAGMA query_only = ON"
                                   : "PRAGMA synchronous = FULL; PRAGMA cache_size = -65536");
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

Database::~Database() { sqlite3_close(db_); }

void Database::wait_for_locks(int patience) { sqlite3_busy_timeout(db_, patience); }

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(db_, code);
}

std::int64_t Database::number(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(db_); }

Statement::Statement(const Database& database, const std::string& sql) : db_(database.get()) {
  check(sqlite3_prepare_v2(db_, sql.c_str(), static_cast<int>(sql.size()) + 1, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) raise(db_, code);
}

void Statement::bind(int index, std::int64_t value) { check(sqlite3_bind_int64(statement_, index, value)); }

void Statement::bind(int index, double value) {
  check(std::isnan(value) ? sqlite3_bind_null(statement_, index)
                          : sqlite3_bind_double(statement_, index, value));
}

void Statement::bind(int index, std::string_view text) {
  check(sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC));
}

void Statement::bind_bytes(int index, const void* bytes, std::size_t size) {
  check(sqlite3_bind_blob(statement_, index, bytes, static_cast<int>(size), SQLITE_STATIC));
}

void Statement::bind_null(int index) { check(sqlite3_bind_null(statement_, index)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) raise(db_, code);
  return false;
}

void Statement::run() {
  step();
  reset();
}

void Statement::reset() { sqlite3_reset(statement_); }  // repeats the error of step(), already thrown there

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::real(int column) const {
  return null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const { return std::string(bytes(column)); }

std::string_view Statement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Statement::null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Transaction::Transaction(Database& database, OpenMode mode) : database_(database) {
  database_.execute(mode == OpenMode::read ? "BEGIN" : "BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  // SQLite may have rolled back by itself, on a full disk, say.
  if (sqlite3_get_autocommit(database_.get()) == 0) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace largo::studies
