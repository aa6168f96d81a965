// What kernels are declared with: __cluster_dims__(2, 1, 1), __launch_bounds__(128).
#pragma once

#include <map>
#include <string>

#include "tokens.h"

namespace heddle::rewrite {

/// The < that matches the > at `close`; none when there is none.
size_t angle_before(const token_list& tokens, size_t close);

/// What stands between the brackets of such attributes of a kernel.
struct kernel_attributes {
  std::string clusters;
  std::string bounds;

  /// Of the attribute whose name this token is, if it is one.
  void add(const token_list& tokens, size_t name);
};
/// Those in front of the token `at`, which goes back to the begin of the declaration.
kernel_attributes attributes_before(const token_list& tokens, size_t& at);

class declared_clusters {
 public:
  explicit declared_clusters(const token_list& tokens) : tokens_(tokens) {}

  void declare(const std::string& kernel, const std::string& clusters) { of_[kernel] = clusters; }
  /// Of the kernel of this name; empty where it is declared with none.
  std::string of(const std::string& kernel) const;
  /// Of the kernel whose name ends in front of the <<< at `open`.
  std::string of_launch(size_t open) const;

 private:
  const token_list& tokens_;
  std::map<std::string, std::string> of_;  ///< by the kernels' names
};

}  // namespace heddle::rewrite
