// A function in a process of its own: whatever it does, the caller goes on.
#pragma once

#include <functional>
#include <string>

namespace heddle::tools {

struct child_result {
  bool ok = false;
  std::string reason;  ///< "killed by signal 11 (Segmentation fault)", "no end after 60 s", ...; empty when ok
  double seconds = 0;
};

/// Text that a child process may leave to its parent, whatever becomes of the child. Longer text is cut.
class child_message {
 public:
  child_message();
  ~child_message();
  child_message(const child_message&) = delete;
  child_message& operator=(const child_message&) = delete;
  void write(const std::string& text);
  std::string read() const;

 private:
  static constexpr size_t bytes_max = 65'536;
  char* shared_;
};

/// Runs `function` in a child process and waits at most so long; then the child is killed. ok when the function
/// returned. The caller must not have started threads or a GPU runtime: neither survives a fork.
child_result run_in_child(const std::function<void()>& function, double seconds_max);

}  // namespace heddle::tools
