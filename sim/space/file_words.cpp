#include <heddle/sim/space/file_words.h>

#include <array>

namespace heddle::sim {
namespace {

constexpr size_t kinds = 4;
constexpr size_t most = 256;
constexpr size_t sides = 2;
constexpr size_t word_bytes = 8;
// A variable, for what the linker finds equal to a constant it may put elsewhere.
std::array<uint64_t, kinds * most * sides> words;

}  // namespace

const void* file_word(file_kind kind, uint32_t number, uint32_t side) {
  return &words[(static_cast<size_t>(kind) * most + number % most) * sides + side];
}

std::string name_of_file_word(const void* address) {
  static constexpr std::array<const char*, kinds> names = {"pipe", "eventfd", "socketpair", "epoll"};
  const size_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(words.data());
  if (offset >= sizeof words) return "";
  const size_t index = offset / word_bytes / sides;
  const size_t number = index % most + 1;
  const std::string name = names[index / most];
  return number == 1 ? name : name + " #" + std::to_string(number);
}

}  // namespace heddle::sim
