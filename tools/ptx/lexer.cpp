#include "lexer.h"

#include <cctype>

namespace heddle::ptx {
namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}
bool goes_on(char c) { return begins_word(c) || is_digit(c); }

class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) {}

  std::vector<token> run() {
    std::vector<token> found;
    while (skip()) found.push_back(next());
    found.push_back({token::kind::end, {}, line_});
    return found;
  }

 private:
  char at(size_t n) const { return n < text_.size() ? text_[n] : '\0'; }

  /// To the next token; false at the end.
  bool skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        fresh_line_ = true;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if ((c == '/' && at(at_ + 1) == '/') || (c == '#' && fresh_line_)) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && at(at_ + 1) == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) throw error{line_, "a comment without an end"};
        for (; at_ < end + 2; ++at_)
          if (text_[at_] == '\n') ++line_;
      } else if (c == '\0') {
        // What the driver is given may end with zeros.
        at_ = text_.size();
      } else {
        fresh_line_ = false;
        return true;
      }
    }
    return false;
  }

  /// The end of a name with what is joined to it by dots and double colons.
  size_t end_of_word(size_t from) const {
    size_t end = from;
    while (end < text_.size()) {
      if (goes_on(text_[end])) {
        ++end;
      } else if (text_[end] == '.' && goes_on(at(end + 1))) {
        end += 2;
      } else if (text_[end] == ':' && at(end + 1) == ':' && goes_on(at(end + 2))) {
        end += 3;
      } else {
        break;
      }
    }
    return end;
  }

  token next() {
    const char c = text_[at_];
    const size_t begin = at_;
    token made = {token::kind::sign, {}, line_};
    if (begins_word(c)) {
      made.is = token::kind::word;
      at_ = end_of_word(begin);
    } else if (c == '.' && begins_word(at(begin + 1))) {
      made.is = token::kind::directive;
      at_ = begin + 1;
      while (goes_on(at(at_)) || (at(at_) == ':' && at(at_ + 1) == ':' && goes_on(at(at_ + 2))))
        at_ += text_[at_] == ':' ? 3 : 1;
    } else if (is_digit(c) || (c == '.' && is_digit(at(begin + 1)))) {
      made.is = token::kind::number;
      const bool hexadecimal = c == '0' && (at(begin + 1) == 'x' || at(begin + 1) == 'X');
      for (++at_; is_digit(at(at_)) || std::isalpha(static_cast<unsigned char>(at(at_))) != 0 || at(at_) == '.';
           ++at_) {
        const bool exponent = (text_[at_] == 'e' || text_[at_] == 'E') && !hexadecimal && is_float(begin, at_);
        if (exponent && (at(at_ + 1) == '+' || at(at_ + 1) == '-')) ++at_;
      }
    } else if (c == '"') {
      const size_t end = text_.find('"', begin + 1);
      if (end == std::string_view::npos) throw error{line_, "a string without an end"};
      made.is = token::kind::text;
      made.text = text_.substr(begin + 1, end - begin - 1);
      for (; at_ <= end; ++at_)
        if (text_[at_] == '\n') ++line_;
      return made;
    } else {
      ++at_;
      if (std::isprint(static_cast<unsigned char>(c)) == 0)
        throw error{line_, "a byte that is no text (" + std::to_string(static_cast<unsigned char>(c)) + ")"};
    }
    made.text = text_.substr(begin, at_ - begin);
    if (made.text.size() > most_letters)
      throw error{line_, "a name of " + std::to_string(made.text.size()) + " letters; there may be " +
                             std::to_string(most_letters)};
    return made;
  }

  /// Whether the digits so far may have an exponent: not those of 0f3F800000.
  bool is_float(size_t begin, size_t end) const {
    for (size_t n = begin; n < end; ++n)
      if (!is_digit(text_[n]) && text_[n] != '.') return false;
    return true;
  }

  static constexpr size_t most_letters = size_t{64} * 1024;  // nvcc makes names of some thousand

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  bool fresh_line_ = true;
};

}  // namespace

std::vector<token> tokens_of(std::string_view text) { return lexer(text).run(); }

}  // namespace heddle::ptx
