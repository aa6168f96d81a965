#include <fcntl.h>
#include <heddle/sim/sync/process_state.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <ctime>
#include <locale>
#include <utility>

namespace heddle::sim {
namespace {

unsigned bit_of(process_state::part one) { return 1u << static_cast<unsigned>(one); }

}  // namespace

void process_state::keep(part changes) {
  if ((kept_ & bit_of(changes)) != 0) return;
  kept_ |= bit_of(changes);
  switch (changes) {
    case part::environment:
      environment_.clear();
      for (char** each = environ; each != nullptr && *each != nullptr; ++each) environment_.push_back(*each);
      return;
    case part::folder:
      folder_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
      return;
    case part::file_mask:
      file_mask_ = umask(0);
      umask(file_mask_);
      return;
    case part::locale:
      locale_ = std::setlocale(LC_ALL, nullptr);
      cpp_locale_ = std::make_shared<std::locale>();
      return;
    case part::random_numbers:
      return;
    case part::terminate_handler:
      terminate_handler_ = std::get_terminate();
      return;
    case part::new_handler:
      new_handler_ = std::get_new_handler();
      return;
    case part::memory_resource:
      memory_resource_ = std::pmr::get_default_resource();
      return;
  }
}

void process_state::restore() {
  const unsigned kept = std::exchange(kept_, 0);
  const auto is_kept = [&](part one) { return (kept & bit_of(one)) != 0; };
  if (is_kept(part::environment)) {
    clearenv();
    for (char* const each : environment_) putenv(each);
    tzset();
  }
  if (is_kept(part::folder) && folder_ != -1) {
    // Where it is gone, there is none to go back to.
    [[maybe_unused]] const int wrong = fchdir(folder_);
    close(std::exchange(folder_, -1));
  }
  if (is_kept(part::file_mask)) umask(file_mask_);
  if (is_kept(part::locale)) {
    // This one sets the other one too, but where it has no name.
    std::locale::global(*static_cast<const std::locale*>(cpp_locale_.get()));
    std::setlocale(LC_ALL, locale_.c_str());
    cpp_locale_ = nullptr;
  }
  if (is_kept(part::random_numbers)) {
    srandom(1);
    unsigned short first[3] = {};
    seed48(first);
  }
  if (is_kept(part::terminate_handler)) std::set_terminate(terminate_handler_);
  if (is_kept(part::new_handler)) std::set_new_handler(new_handler_);
  if (is_kept(part::memory_resource)) std::pmr::set_default_resource(memory_resource_);
}

}  // namespace heddle::sim
