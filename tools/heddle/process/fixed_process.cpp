#include <fcntl.h>
#include <heddle/scheduler/digest.h>
#include <heddle/tools/process/fixed_process.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

namespace heddle::tools {
namespace {

/// Behind the name of a command, so that a program which looks for that finds it.
constexpr std::string_view verify_command = "verify";
constexpr std::string_view search_marker = "__search";
constexpr size_t file_digits = 10;

size_t rounded_up(size_t number, size_t to) { return (number + to - 1) / to * to; }

/// Words behind the others, so that all of them and the environment are as large and as many as the layout says. Empty where they are more.
std::vector<std::string> padding(const std::vector<std::string>& words, fixed_layout& layout) {
  constexpr size_t string_bytes_step = 32'768;
  constexpr size_t pointers_step = 128;
  constexpr size_t longest = 100'000;  // the kernel takes no longer words than 128 KiB
  size_t string_bytes = 0;
  size_t pointers = words.size();
  for (const std::string& each : words) string_bytes += each.size() + 1;
  for (char** each = environ; *each != nullptr; ++each, ++pointers) string_bytes += std::strlen(*each) + 1;
  if (layout.string_bytes == 0) {
    layout.string_bytes = rounded_up(string_bytes + string_bytes_step / 4, string_bytes_step);
    layout.pointers = rounded_up(pointers + pointers_step / 4, pointers_step);
  }
  if (layout.pointers <= pointers || layout.string_bytes < string_bytes + (layout.pointers - pointers)) return {};
  std::vector<std::string> made(layout.pointers - pointers);
  size_t rest = layout.string_bytes - string_bytes - made.size();
  for (std::string& each : made) {
    each.assign(std::min(rest, longest), ' ');
    rest -= each.size();
  }
  return rest == 0 ? made : std::vector<std::string>();
}

/// A file in memory with these bytes, which a program that is begun here has open; negative where there is none.
int memory_file_of(const std::string& bytes) {
  const int file = memfd_create("heddle-search", 0);
  if (file < 0) return file;
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t more = write(file, bytes.data() + written, bytes.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    written += static_cast<size_t>(more);
  }
  return lseek(file, 0, SEEK_SET) == 0 ? file : -1;
}

std::string because() { return std::string(": ") + std::strerror(errno); }

}  // namespace

fixed_marks marks_of_this_process() {
  struct objects {
    scheduler::digest known;
    scheduler::digest lie;
  } seen;
  const auto look = [](dl_phdr_info* of, size_t, void* into) {
    auto& told = *static_cast<objects*>(into);
    told.lie.add(of->dlpi_addr);
    // What the kernel maps is part of no program.
    if (of->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) return 0;
    for (size_t n = 0; n < of->dlpi_phnum; ++n) {
      const ElfW(Phdr)& part = of->dlpi_phdr[n];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0 || (part.p_flags & PF_R) == 0) continue;
      told.known.add(std::string_view(reinterpret_cast<const char*>(of->dlpi_addr + part.p_vaddr), part.p_filesz));
    }
    return 0;
  };
  dl_iterate_phdr(look, &seen);
  fixed_marks made = {.libraries = seen.known.value()};
  constexpr size_t probed_bytes = size_t{1} << 24;
  void* const probed = mmap(nullptr, probed_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probed != MAP_FAILED) munmap(probed, probed_bytes);
  seen.lie.add(reinterpret_cast<uintptr_t>(probed));
  made.mappings = seen.lie.value();
  made.heap = reinterpret_cast<uintptr_t>(sbrk(0));
  made.stack = getauxval(AT_RANDOM);
  return made;
}

std::string become_fixed(const std::function<std::string(const fixed_layout&)>& request, fixed_layout layout,
                         char* const* arguments) {
  rlimit stack = {};
  getrlimit(RLIMIT_STACK, &stack);
  if (layout.string_bytes == 0) layout.stack_bytes = stack.rlim_cur;
  stack.rlim_cur = layout.stack_bytes;
  if (setrlimit(RLIMIT_STACK, &stack) != 0) return "the stack must be as large as where it was saved (ulimit -s)";
  std::vector<std::string> words = {arguments[0], std::string(verify_command), std::string(search_marker),
                                    std::string(file_digits, '0')};
  // Where this process is one already, all but its own words.
  const bool is_one = arguments[1] == verify_command && arguments[2] != nullptr && arguments[2] == search_marker;
  for (char* const* each = arguments + (is_one ? words.size() : 1); *each != nullptr; ++each) words.emplace_back(*each);
  while (words.back().find_first_not_of(' ') == std::string::npos) words.pop_back();
  const std::vector<std::string> behind = padding(words, layout);
  if (behind.empty())
    return "the environment and the arguments are larger than where it was saved; unset what is not needed";
  words.insert(words.end(), behind.begin(), behind.end());
  const int file = memory_file_of(request(layout));
  if (file < 0) return "there is no memory for a file" + because();
  std::string number = std::to_string(file);
  words[3] = std::string(file_digits - number.size(), '0') + number;
  const int before = personality(0xffffffff);
  const bool is_fixed = before >= 0 && ((before & ADDR_NO_RANDOMIZE) != 0 ||
                                        personality(static_cast<unsigned>(before) | ADDR_NO_RANDOMIZE) >= 0);
  if (!is_fixed)
    return "addresses must not be randomised, which personality(2) refuses here" + because() +
           " (in a container, --security-opt seccomp=unconfined allows it)";
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  execve("/proc/self/exe", pointers.data(), environ);
  return "this program cannot be begun again" + because();
}

std::string request_of_fixed(int argument_count, char* const* arguments) {
  if (argument_count < 4 || arguments[1] != verify_command || arguments[2] != search_marker) return {};
  const std::string_view number = arguments[3];
  int file = -1;
  struct stat about = {};
  const bool is_number = std::from_chars(number.data(), number.data() + number.size(), file).ec == std::errc();
  if (!is_number || number.size() != file_digits || fstat(file, &about) != 0) return {};
  std::string told(static_cast<size_t>(about.st_size), '\0');
  const ssize_t taken = read(file, told.data(), told.size());
  close(file);
  return taken == about.st_size ? told : std::string();
}

// Frames that were begun before see the same word again when they end.
__attribute__((no_stack_protector, noinline)) int with_fixed_guard(const std::function<int()>& work) {
#if defined(__x86_64__) && defined(__GLIBC__)
  constexpr uint64_t guard = 0x6865'6464'6c65'2100;
  uint64_t before = 0;
  asm volatile("mov %%fs:0x28, %0" : "=r"(before));
  asm volatile("mov %0, %%fs:0x28" : : "r"(guard) : "memory");
  const int status = work();
  asm volatile("mov %0, %%fs:0x28" : : "r"(before) : "memory");
  return status;
#else
  return work();
#endif
}

}  // namespace heddle::tools
