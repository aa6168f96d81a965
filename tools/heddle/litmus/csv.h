// Tables in CSV: a title line, then rows; fields with a comma, a quote or a line feed in them stand in double quotes (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::litmus {

struct csv_row {
  size_t line = 0;  ///< on which it begins, from 1
  std::vector<std::string> fields;
};

class csv_table {
 public:
  /// Throws std::invalid_argument with one line that names `file` and the line, when a quote is not closed, a row has
  /// not as many fields as there are titles, a title comes twice, or there is none.
  csv_table(std::string file, std::string_view text);

  const std::string& file() const { return file_; }
  /// The file without its folders and ".csv": "ptx" of "tests/ptx.csv".
  std::string name() const;
  const std::vector<std::string>& titles() const { return titles_; }
  const std::vector<csv_row>& rows() const { return rows_; }

  bool has(std::string_view title) const { return find(title) < titles_.size(); }
  /// The field of a column; throws std::invalid_argument when there is no such column.
  const std::string& at(const csv_row& row, std::string_view title) const;

  /// Throws std::invalid_argument with one line, whatever the file has put into `what`: the file, the line on which the row begins, `what`.
  [[noreturn]] void refuse(const csv_row& row, std::string_view what) const;
  /// As refuse(), about the line of titles.
  [[noreturn]] void refuse_titles(std::string_view what) const;

 private:
  size_t find(std::string_view title) const;

  std::string file_;
  std::vector<std::string> titles_;
  std::vector<csv_row> rows_;
};

// The tables that ship: part of the program, so that it has them wherever it is installed.

struct shipped_table {
  std::string_view file;  ///< "ptx.csv"
  std::string_view text;
};

/// Made from tools/heddle/litmus/data/ when heddle is built (embed.cmake).
const std::vector<shipped_table>& shipped_tables();

}  // namespace heddle::litmus
