// Preprocessed C++ as tokens with their places in the text: as much as rewriting a few constructs of CUDA and HIP needs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

enum class token_kind : unsigned char { identifier, number, literal, punctuation };

/// Punctuation is one character a token; `::` is two of them.
struct token {
  token_kind kind = token_kind::punctuation;
  size_t begin = 0;
  size_t end = 0;
};

/// A text and its tokens. Comments and lines of the preprocessor (line markers, pragmas) are no tokens.
class token_list {
 public:
  explicit token_list(std::string_view text);

  size_t size() const { return tokens_.size(); }
  const token& operator[](size_t n) const { return tokens_[n]; }
  std::string_view text_of(size_t n) const { return text_.substr(tokens_[n].begin, tokens_[n].end - tokens_[n].begin); }
  /// Whether token n is there and reads so.
  bool is(size_t n, std::string_view text) const { return n < size() && text_of(n) == text; }
  bool is_identifier(size_t n) const { return n < size() && tokens_[n].kind == token_kind::identifier; }

  static constexpr size_t none = ~size_t{0};
  /// The bracket that matches the one at n, forwards from ( [ { or backwards from ) ] }; none when there is none.
  size_t match(size_t n) const { return match_[n]; }

  struct range {
    size_t begin = 0;
    size_t end = 0;
  };
  /// Pragmas that a macro has made, as `#define UNROLL #pragma unroll`, and that have their line to themselves: nvcc takes them for such. The
  /// preprocessor puts its own at the beginning of their line.
  const std::vector<range>& pragmas_of_macros() const { return pragmas_; }

  struct place {
    std::string file;
    size_t line = 0;
  };
  /// A place in the text, by the line markers before it.
  place place_of(size_t offset) const;

 private:
  void find_matches();

  std::string_view text_;
  std::vector<token> tokens_;
  std::vector<size_t> match_;
  std::vector<range> pragmas_;
};

/// Whether each token stands in a function: in a brace that opens neither a namespace, nor a linkage, nor a type.
std::vector<bool> tokens_in_functions(const token_list& tokens);

/// Where the `catch (...) {...}` ends that begins at n; none where none does.
size_t end_of_handler(const token_list& tokens, size_t n);

}  // namespace heddle::rewrite
