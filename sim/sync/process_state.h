// What host threads change of the process that they run in: a program that is run again in the same process finds it as the first run did.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace heddle::sim {

class process_state {
 public:
  enum class part : uint8_t {
    environment,
    folder,
    file_mask,
    locale,
    random_numbers,
    terminate_handler,
    new_handler,
    memory_resource
  };

  process_state() = default;
  ~process_state() { restore(); }
  process_state(const process_state&) = delete;
  process_state& operator=(const process_state&) = delete;

  /// To be called before a change of this part.
  void keep(part changes);
  bool is_changed() const { return kept_ != 0; }
  /// All parts are what they were before their first change.
  void restore();

 private:
  unsigned kept_ = 0;               ///< by part, one bit
  std::vector<char*> environment_;  ///< the C library never frees one
  int folder_ = -1;
  mode_t file_mask_ = 0;
  std::string locale_;
  std::shared_ptr<void> cpp_locale_;
  std::terminate_handler terminate_handler_ = nullptr;
  std::new_handler new_handler_ = nullptr;
  std::pmr::memory_resource* memory_resource_ = nullptr;
};

}  // namespace heddle::sim
