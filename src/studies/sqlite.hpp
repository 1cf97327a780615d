// The part of SQLite that the store needs: a connection, statements, and errors as one exception type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace largo::studies {

/// An error reported by SQLite, with its result code.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }  ///< the primary result code
  bool busy() const;                  ///< another connection holds a lock
  bool not_a_database() const;        ///< or a damaged database
  bool cannot_open() const;           ///< for lack of permission, say
  bool full() const;                  ///< no space left, or a limit on the size of files

 private:
  int code_;
};

enum class OpenMode : std::uint8_t { create, read };

class Database {
 public:
  /// Waits `patience` ms for locks. Reading never changes the file, except that the journal of a process that
  /// was killed is rolled back.
  Database(const std::filesystem::path& path, OpenMode mode, int patience);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void wait_for_locks(int patience);  ///< ms
  void execute(const std::string& sql);
  std::int64_t number(const std::string& sql);  ///< the result of a query for one number
  std::int64_t last_row() const;
  sqlite3* get() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// Parameters are numbered from 1. Texts and bytes must live until the next reset().
  void bind(int index, std::int64_t value);
  void bind(int index, double value);  ///< NaN is NULL
  void bind(int index, std::string_view text);
  void bind_bytes(int index, const void* bytes, std::size_t size);
  void bind_null(int index);

  bool step();  ///< whether there is a row
  void run();   ///< step() without a row, then reset()
  void reset();

  /// Columns are numbered from 0.
  std::int64_t integer(int column) const;
  double real(int column) const;  ///< NULL is NaN
  std::string text(int column) const;
  std::string_view bytes(int column) const;  ///< valid until the next step()
  bool null(int column) const;

 private:
  void check(int code) const;

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// BEGIN IMMEDIATE (or BEGIN, to read); rolled back if commit() was not reached.
class Transaction {
 public:
  Transaction(Database& database, OpenMode mode);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace largo::studies
