#include <heddle/tools/cli/common.h>
#include <heddle/tools/litmus/csv.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace heddle::litmus {
namespace {

[[noreturn]] void refuse_line(const std::string& file, size_t line, std::string_view what) {
  throw std::invalid_argument(tools::one_line(file + ":" + std::to_string(line) + ": " + std::string(what)));
}

/// Reads row by row.
class csv_reader {
 public:
  csv_reader(const std::string& file, std::string_view text) : file_(file), rest_(text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  }

  bool at_end() const { return rest_.empty(); }

  csv_row next() {
    csv_row row{.line = line_, .fields = {}};
    do {
      row.fields.push_back(rest_.starts_with('"') ? quoted() : plain());
    } while (take(','));
    take('\r');
    if (!take('\n') && !at_end()) refuse("text behind a closing quote; double a quote that belongs to the field");
    ++line_;
    return row;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const { refuse_line(file_, line_, what); }

  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string plain() {
    const size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
    std::string field(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return field;
  }

  std::string quoted() {
    const size_t began = line_;
    take('"');
    std::string field;
    while (true) {
      const size_t end = rest_.find('"');
      if (end == std::string_view::npos) {
        line_ = began;
        refuse("a quote is not closed; end the field with \"");
      }
      field += rest_.substr(0, end);
      line_ += static_cast<size_t>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      rest_.remove_prefix(end + 1);
      if (!take('"')) return field;
      field += '"';
    }
  }

  const std::string& file_;
  std::string_view rest_;
  size_t line_ = 1;
};

}  // namespace

csv_table::csv_table(std::string file, std::string_view text) : file_(std::move(file)) {
  csv_reader reader(file_, text);
  if (reader.at_end()) throw std::invalid_argument(file_ + ": empty; the first line must hold the titles");
  titles_ = reader.next().fields;
  for (size_t n = 0; n < titles_.size(); ++n)
    if (find(titles_[n]) != n) refuse_titles("the title \"" + titles_[n] + "\" comes twice");
  while (!reader.at_end()) {
    csv_row row = reader.next();
    if (row.fields == std::vector<std::string>{""}) continue;  // an empty line
    if (row.fields.size() != titles_.size())
      refuse(row, std::to_string(row.fields.size()) + " fields, but the first line has " +
                      std::to_string(titles_.size()) + " titles; quote a field with a comma in it");
    rows_.push_back(std::move(row));
  }
}

std::string csv_table::name() const {
  const std::string name = file_.substr(file_.find_last_of('/') + 1);  // all of it where there is no folder
  return name.ends_with(".csv") ? name.substr(0, name.size() - 4) : name;
}

size_t csv_table::find(std::string_view title) const {
  return static_cast<size_t>(std::find(titles_.begin(), titles_.end(), title) - titles_.begin());
}

const std::string& csv_table::at(const csv_row& row, std::string_view title) const {
  const size_t column = find(title);
  if (column == titles_.size()) refuse_titles("there is no column \"" + std::string(title) + "\"");
  return row.fields[column];
}

void csv_table::refuse(const csv_row& row, std::string_view what) const { refuse_line(file_, row.line, what); }

void csv_table::refuse_titles(std::string_view what) const { refuse_line(file_, 1, what); }

}  // namespace heddle::litmus
