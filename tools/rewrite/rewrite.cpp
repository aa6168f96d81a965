#include "rewrite.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "clusters.h"
#include "declarations.h"
#include "host_instructions.h"
#include "inline_ptx.h"
#include "main_scenario.h"
#include "tokens.h"
#include "unlike_names.h"

namespace heddle::rewrite {
namespace {

constexpr size_t none = token_list::none;
class rewriter {
 public:
  rewriter(std::string_view text, std::string_view scenario)
      : text_(text), tokens_(text), scenario_(scenario), clusters_(tokens_) {}

  result run() {
    in_function_ = tokens_in_functions(tokens_);
    for (const auto& each : tokens_.pragmas_of_macros()) edits_.push_back({each.begin, each.end - each.begin, ""});
    for (size_t n = 0; n < tokens_.size(); ++n) {
      if (tokens_.is(n, "<") && tokens_.is(n + 1, "<") && tokens_.is(n + 2, "<")) {
        launch(n);
        n += 2;
      } else if (tokens_.is_identifier(n)) {
        word(n);
      }
    }
    return apply();
  }

 private:
  struct edit {
    size_t at = 0;
    size_t removed = 0;
    std::string inserted;
  };

  void insert(size_t at, std::string what) { edits_.push_back({at, 0, std::move(what)}); }
  void replace(size_t n, std::string what) {
    edits_.push_back({tokens_[n].begin, tokens_[n].end - tokens_[n].begin, std::move(what)});
  }
  void wrong(size_t n, const std::string& what) {
    const auto [file, line] = tokens_.place_of(tokens_[n].begin);
    errors_.push_back(file + ":" + std::to_string(line) + ": error: " + what);
  }

  result apply() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const edit& a, const edit& b) { return a.at < b.at; });
    result made;
    size_t at = 0;
    for (const edit& one : edits_) {
      made.text.append(text_.substr(at, one.at - at)).append(one.inserted);
      at = one.at + one.removed;
    }
    made.text += text_.substr(at);
    made.text += behind_;
    made.errors = std::move(errors_);
    return made;
  }

  // -- launches ----------------------------------------------------------------------------------------------------------------------

  /// The first token of the expression that ends with token n and names a kernel; none when there is none.
  size_t begin_of_kernel(size_t n) const {
    while (true) {
      if (tokens_.is(n, ">")) {
        n = angle_before(tokens_, n);
        if (n == none || n == 0) return none;
        --n;
      } else if (tokens_.is(n, ")") || tokens_.is(n, "]")) {
        const size_t open = tokens_.match(n);
        if (open == none) return none;
        const bool more = open != 0 && (tokens_.is_identifier(open - 1) || tokens_.is(open - 1, "]"));
        if (!more || tokens_.is(open - 1, "return") || tokens_.is(open - 1, "else") || tokens_.is(open - 1, "do"))
          return open;
        n = open - 1;
      } else if (tokens_.is_identifier(n)) {
        size_t first = n;
        if (first != 0 && tokens_.is(first - 1, "template")) --first;
        if (first >= 2 && tokens_.is(first - 1, ":") && tokens_.is(first - 2, ":")) {
          first -= 2;
          if (first == 0 || !(tokens_.is(first - 1, ">") ||
                              (tokens_.is_identifier(first - 1) && !stands_before_values(tokens_, first - 1))))
            return first;
          n = first - 1;
        } else if (first >= 1 && tokens_.is(first - 1, ".")) {
          n = first - 2;
        } else if (first >= 2 && tokens_.is(first - 1, ">") && tokens_.is(first - 2, "-")) {
          n = first - 3;
        } else {
          return first;
        }
      } else {
        return none;
      }
    }
  }

  /// Whether an argument is a list in braces; `open` is the parenthesis.
  bool has_braces(size_t open) const {
    const size_t end = tokens_.match(open);
    for (size_t n = open; end != none && n < end; ++n) {
      const bool begins = n == open || tokens_.is(n, ",");
      if (begins && tokens_.is(n + 1, "{")) return true;
      const bool opens = tokens_.is(n, "(") || tokens_.is(n, "[") || tokens_.is(n, "{");
      if (n != open && opens && tokens_.match(n) != none) n = tokens_.match(n);
    }
    return false;
  }

  void launch(size_t open) {
    const size_t begin = open == 0 ? none : begin_of_kernel(open - 1);
    size_t close = open + 3;
    while (close < tokens_.size() &&
           !(tokens_.is(close, ">") && tokens_.is(close + 1, ">") && tokens_.is(close + 2, ">"))) {
      const bool opens = tokens_.is(close, "(") || tokens_.is(close, "[") || tokens_.is(close, "{");
      if (tokens_.is(close, ";")) break;
      close = opens && tokens_.match(close) != none ? tokens_.match(close) + 1 : close + 1;
    }
    if (begin == none || !tokens_.is(close + 2, ">") || !tokens_.is(close + 3, "("))
      return wrong(
          open,
          "this launch is not understood; write kernel<<<grid, block, ...>>>(arguments), or call cudaLaunchKernel");
    const std::string clusters = clusters_.of_launch(open);
    // Braces are of the parameter's type, which is known where the kernel is no call.
    const bool with_braces = has_braces(close + 3);
    insert(tokens_[begin].begin,
           with_braces ? "::heddle::compat::launch_of(" : "::heddle::compat::launch([=](auto&... heddle_arguments) { ");
    replace(open, (with_braces ? ", " : "(heddle_arguments...); }, ") +
                      (clusters.empty() ? std::string() : "::heddle::compat::in_clusters({" + clusters + "}, ") +
                      "::heddle::compat::shape(");
    replace(open + 1, "");
    replace(open + 2, "");
    replace(close, clusters.empty() ? ")" : "))");
    replace(close + 1, "");
    replace(close + 2, "");
    replace(close + 3, tokens_.is(close + 4, ")") ? "" : ", ");
  }

  void word(size_t n) {
    const std::string_view name = tokens_.text_of(n);
    if (name == "main" && !in_function_[n]) return main_function(n);
    if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim") return grid_variable(n);
    if (name == "reinterpret_cast") return cast(n);
    if (of_blocks_.contains(std::string(name))) return use_of_block(n);
    if (!name.starts_with("__")) return;
    if (name == "__global__") return global(n);
    if (name == "__host__" || name == "__grid_constant__") return replace(n, "");
    if (name == "__device__" || name == "__constant__" || name == "__managed__") return device(n);
    if (name == "__shared__") return shared(n);
    if ((name == "__cluster_dims__" || name == "__launch_bounds__") && tokens_.is(n + 1, "(") &&
        tokens_.match(n + 1) != none)
      for (size_t at = n; at <= tokens_.match(n + 1); ++at) replace(at, "");
    // In an attribute it is the attribute's own name.
    if (name == "__noinline__" && (n == 0 || (!tokens_.is(n - 1, "(") && !tokens_.is(n - 1, ","))))
      replace(n, "__attribute__((noinline))");
  }

  // A member of that name is no concern of ours; a variable of the program's own is told from CUDA's by its type.
  void grid_variable(size_t n) {
    const bool is_member =
        n != 0 && (tokens_.is(n - 1, ".") || (n >= 2 && tokens_.is(n - 1, ":") && tokens_.is(n - 2, ":")) ||
                   (n >= 2 && tokens_.is(n - 1, ">") && tokens_.is(n - 2, "-")));
    const bool is_copied = n != 0 && (tokens_.is(n - 1, "=") || tokens_.is(n - 1, "return")) && tokens_.is(n + 1, ";");
    if (is_member || (!tokens_.is(n + 1, ".") && !is_copied)) return;
    insert(tokens_[n].begin, "::heddle::compat::value_of(");
    insert(tokens_[n].end, ")");
  }

  // Dynamic shared memory that is declared outside of functions is an object here, which no such cast takes: it gets the address.
  void cast(size_t n) {
    size_t at = n + 1;
    for (int open = 0; at < tokens_.size(); ++at) {
      if (tokens_.is(at, "<")) ++open;
      if (tokens_.is(at, ">") && --open == 0) break;
    }
    if (tokens_.is(at + 1, "(") && tokens_.is(at + 3, ")") &&
        std::any_of(outside_.begin(), outside_.end(), [&](const auto& one) { return tokens_.is(at + 2, one.first); }))
      insert(tokens_[at + 2].begin, "+");
  }

  void device(size_t n) {
    // A variable is followed by ; = [ or {, a function by a bracket.
    bool is_constant = false;
    bool shared_by_files = false;
    size_t at = n;
    while (at > 0 && tokens_.is_identifier(at - 1)) --at;
    // The end of template <...>.
    if (at > 0 && tokens_.is(at - 1, ">")) shared_by_files = true;
    for (; at < tokens_.size(); ++at) {
      if (const size_t behind = behind_attribute(tokens_, at); behind != at) {
        at = behind - 1;
        continue;
      }
      if (tokens_.is(at, "<")) {
        size_t depth = 0;
        for (; at < tokens_.size(); ++at) {
          if (tokens_.is(at, "<")) ++depth;
          if (tokens_.is(at, ">") && --depth == 0) break;
        }
        continue;
      }
      if (tokens_.is(at, "__shared__")) return replace(n, "");
      if (tokens_.is(at, "inline") || tokens_.is(at, "template")) shared_by_files = true;
      if (tokens_.is(at, "const") || tokens_.is(at, "constexpr")) is_constant = true;
      if (tokens_.is(at, "*")) is_constant = false;
      if (tokens_.is(at, "operator") || tokens_.is(at, "(") || tokens_.is(at, "}")) return replace(n, "");
      if (tokens_.is(at, ";") || tokens_.is(at, "=") || tokens_.is(at, "[") || tokens_.is(at, "{")) break;
    }
    // A lambda's [] { and a type's { are no variables.
    const bool is_type = tokens_.is(n + 1, "struct") || tokens_.is(n + 1, "class") || tokens_.is(n + 1, "union");
    const bool variable = !in_function_[n] && !is_type && !is_constant && !shared_by_files;
    replace(n, variable ? "__attribute__((section(\"heddle_device\")))" : "");
  }

  // Kernels are known by their address too, for cudaLaunchKernel((void*)kernel, ...).
  void global(size_t n) {
    replace(n, "");
    size_t at = n;
    kernel_attributes declared = attributes_before(tokens_, at);
    const bool is_template = at > 0 && tokens_.is(at - 1, ">");
    if (in_function_[n]) return;
    for (at = n + 1; at < tokens_.size(); ++at) {
      declared.add(tokens_, at);
      if (const size_t behind = behind_attribute(tokens_, at); behind != at) {
        at = behind - 1;
        continue;
      }
      if (tokens_.is(at, "(") || tokens_.is(at, ";") || tokens_.is(at, "{")) break;
    }
    if (!tokens_.is(at, "(") || !tokens_.is_identifier(at - 1) || tokens_.match(at) == none) return;
    const std::string name(tokens_.text_of(at - 1));
    if (!declared.clusters.empty()) clusters_.declare(name, declared.clusters);
    // A definition need not say again what a declaration has said.
    const std::string clusters = clusters_.of(name);
    const size_t behind = tokens_.match(at) + 1;
    const size_t body = tokens_.is(behind, "{") ? tokens_.match(behind) : none;
    if (body == none) return;
    if (!clusters.empty()) insert(tokens_[behind].end, " ::heddle::compat::check_clusters({" + clusters + "});");
    if (!declared.bounds.empty())
      insert(tokens_[behind].end, " ::heddle::compat::check_launch_bounds(" + declared.bounds + ");");
    if (is_template) return;
    insert(tokens_[body].end, " __attribute__((constructor(1000))) static void heddle_knows_" + name +
                                  std::to_string(n) + "() { ::heddle::compat::know_kernel(static_cast<void (*)(" +
                                  parameter_types(at, tokens_.match(at)) + ")>(&" + name + ")" +
                                  (clusters.empty() ? "" : ", {" + clusters + "}") + "); }");
  }

  /// The parameters between two brackets as they stand, but for values by default.
  std::string parameter_types(size_t open, size_t close) const {
    std::string types;
    bool value = false;
    for (size_t at = open + 1; at < close; ++at) {
      if (tokens_.is(at, "=")) value = true;
      if (tokens_.is(at, ",")) value = false;
      const std::string_view word = tokens_.text_of(at);
      if (value || word == "__grid_constant__") continue;
      types += (types.empty() || word == ":" ? "" : " ") + std::string(word);
    }
    return types;
  }

  // -- memory of a block -----------------------------------------------------------------------------------------------------------------

  // What is declared becomes the member of a class, which is there for its type: an object of that type might be constructed.
  void shared(size_t n) {
    const size_t begin = begin_of_shared(tokens_, n);
    bool dynamic = false;
    size_t end = n;
    while (end < tokens_.size() && !tokens_.is(end, ";")) {
      const bool opens = tokens_.is(end, "(") || tokens_.is(end, "[") || tokens_.is(end, "{");
      end = opens && tokens_.match(end) != none ? tokens_.match(end) + 1 : end + 1;
    }
    if (end >= tokens_.size()) return wrong(n, "a __shared__ variable without an end");
    const std::string holder = "heddle_shared_" + std::to_string(n);
    insert(tokens_[begin].begin, "struct " + holder + " { ");
    for (size_t at = begin; at < end; ++at) {
      if (tokens_.is(at, "extern")) dynamic = true;
      if (tokens_.is(at, "extern") || tokens_.is(at, "static") || tokens_.is(at, "inline")) replace(at, "");
      if (tokens_.is(at, "{") && tokens_.match(at) != none) at = tokens_.match(at);
      // C++ has it in front of all other specifiers only.
      if (tokens_.is(at, "alignas") && tokens_.is(at + 1, "(") && tokens_.match(at + 1) != none) {
        replace(at, "__attribute__((aligned");
        insert(tokens_[tokens_.match(at + 1)].end, "))");
      }
    }
    replace(n, "");

    std::vector<size_t> names;
    if (!names_of(tokens_, n + 1, end, names) || names.empty())
      return wrong(n, "this __shared__ declaration is not understood; declare one variable, without an initial value");
    std::string references = " };";
    for (const size_t name : names) {
      const std::string known(tokens_.text_of(name));
      const std::string type = "decltype(" + holder + "::" + known + ")";
      const bool without_length = tokens_.is(name + 1, "[") && tokens_.is(name + 2, "]");
      if (!in_function_[n] && !(dynamic && without_length)) {
        references += " " + outside_of_functions(name, type, dynamic);
        continue;
      }
      if (!dynamic) {
        const std::string place = holder + "_" + known;
        references += " static char " + place + "; [[maybe_unused]] auto& " + known +
                      " = ::heddle::compat::shared_variable<" + type + ">(" + place + ", \"" + known + "\");";
        continue;
      }
      if (!without_length)
        return wrong(n, "dynamic shared memory is an array without a length: extern __shared__ T name[]");
      insert(tokens_[name + 1].end, "1");
      if (in_function_[n]) {
        references += " [[maybe_unused]] auto* const " + known + " = ::heddle::compat::dynamic_shared<" + type + ">();";
      } else if (outside_.emplace(known, opened_around(tokens_, n)).second) {
        references +=
            " [[maybe_unused]] static const ::heddle::compat::dynamic_shared_array<" + type + "> " + known + ";";
      }
    }
    insert(tokens_[end].end, references);
  }

  // A variable of blocks that is declared outside of functions is an object that knows the block's own. Where it is declared extern, other files may
  // have it too.
  std::string outside_of_functions(size_t n, const std::string& type, bool is_extern) {
    const std::string name(tokens_.text_of(n));
    declares_.insert(n);
    const std::string object = "const ::heddle::compat::block_variable<" + type + "> " + name;
    if (is_extern) of_files_.insert(name);
    of_blocks_.insert(name);
    if (is_extern) return "extern " + object + ";";
    return (of_files_.contains(name) ? "" : "[[maybe_unused]] static ") + object + "(\"" + name + "\");";
  }

  // Each use is an overloaded call, as other things may have that name too.
  void use_of_block(size_t n) {
    const size_t first = declares_.contains(n) ? none : begin_of_use(tokens_, n);
    if (first == none) return;
    insert(tokens_[first].begin, "::heddle::compat::value_of(");
    insert(tokens_[n].end, ")");
  }

  // -- main() --------------------------------------------------------------------------------------------------------------------------

  void main_function(size_t n) {
    if (n == 0 || !tokens_.is(n - 1, "int") || !tokens_.is(n + 1, "(") || tokens_.match(n + 1) == none) return;
    size_t body = tokens_.match(n + 1) + 1;
    if (tokens_.is(body, "try")) ++body;
    if (!tokens_.is(body, "{") || tokens_.match(body) == none) return;
    insert(tokens_[n - 1].begin, "static ");
    replace(n, "heddle_main");
    // Only of main() the end is a return.
    for (size_t end = tokens_.match(body); end != none; end = end_of_handler(tokens_, end + 1))
      insert(tokens_[end].begin, "return 0; ");
    const bool with_arguments = tokens_.match(n + 1) > n + 2 && !tokens_.is(n + 2, "void");
    // On the line of main(), which a report about its result then names.
    const auto [file, line] = tokens_.place_of(tokens_[n].begin);
    behind_ = "\n# " + std::to_string(line) + " \"" + file + "\"\n" + scenario_of_main(scenario_, with_arguments);
  }

  std::string_view text_;
  token_list tokens_;
  std::string scenario_;
  std::vector<bool> in_function_;
  declared_clusters clusters_;
  std::set<std::pair<std::string, size_t>>
      outside_;  ///< dynamic shared memory that is declared outside of functions, and the brace that is open there
  std::set<std::string> of_blocks_;  ///< other memory of blocks that is declared outside of functions
  std::set<std::string> of_files_;   ///< of these, what is declared extern
  std::set<size_t> declares_;        ///< the tokens that declare it
  std::vector<edit> edits_;
  std::vector<std::string> errors_;
  std::string behind_;
};

}  // namespace

result rewrite(std::string_view preprocessed, std::string_view scenario) {
  inlined plain = inline_ptx(preprocessed);
  result made = rewriter(see_host_instructions(plain.text, false).text, scenario).run();
  made.errors.insert(made.errors.begin(), plain.errors.begin(), plain.errors.end());
  made.warnings = unlike_names(preprocessed);
  made.warnings.insert(made.warnings.end(), plain.warnings.begin(), plain.warnings.end());
  return made;
}

}  // namespace heddle::rewrite
