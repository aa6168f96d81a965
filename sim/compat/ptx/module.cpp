#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/runtime/program_memory.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::ptx {
namespace {

struct shared_entry {
  const char* name;
  size_t bytes;
};

/// Without calls of the C library, not even for the length: they would be operations of the thread that looks a name up.
struct by_text {
  using is_transparent = void;
  static bool is_less(const char* a, const char* b) {
    for (; *a == *b && *a != '\0'; ++a, ++b) {
    }
    return static_cast<unsigned char>(*a) < static_cast<unsigned char>(*b);
  }
  bool operator()(const std::string& a, const std::string& b) const { return is_less(a.c_str(), b.c_str()); }
  bool operator()(const std::string& a, const char* b) const { return is_less(a.c_str(), b); }
  bool operator()(const char* a, const std::string& b) const { return is_less(a, b.c_str()); }
};

/// Filled before main(), and the same in every run.
struct registry {
  std::map<std::string, kernel, by_text> kernels;
  std::map<std::string, device_variable, by_text> variables;
  std::set<const void*> functions;
  std::deque<known_module> modules;
  std::deque<shared_entry> shared;
};

registry& known() {
  static registry only;
  return only;
}

// Before anything runs: lanes of a wave with one program counter would wait for the one that makes it.
[[gnu::constructor]] void make_registry() { known(); }

constexpr uint32_t dynamic_slot = 1;
constexpr uint32_t first_slot = 2;
/// Of one block: behind them come those of the first block of its cluster, of the second, and so on.
uint64_t slots() { return first_slot + known().shared.size(); }

/// Of the addresses of memory of a block, which lies within 4 GiB, in a program whose shared variables are C++: there an address of the state
/// space is the lower half.
uint64_t upper_half = 0;

std::byte* copy_of(const shared_entry& of) {
  return static_cast<std::byte*>(sim::runtime::shared_variable(&of, of.bytes, of.name));
}

}  // namespace

bool add_kernel(kernel added) {
  const std::string name = added.name;
  known().kernels.insert_or_assign(name, std::move(added));
  return true;
}

const kernel* kernel_named(const char* name) {
  const auto found = known().kernels.find(name);
  return found == known().kernels.end() ? nullptr : &found->second;
}

void launch(const kernel& of, const sim::grid_shape& given, void* const* arguments, bool is_cooperative,
            launch_taker taker) {
  sim::grid_shape shape = given;
  sim::runtime::take_clusters(shape, of.cluster);
  // On the stack: the heap is the program's here.
  auto* const bytes = static_cast<unsigned char*>(__builtin_alloca(of.body.size_bytes));
  std::memset(bytes, 0, of.body.size_bytes);
  for (size_t n = 0; n < of.parameters.size(); ++n)
    std::memcpy(bytes + of.parameters[n].offset, arguments[n], of.parameters[n].bytes);
  if (is_cooperative) {
    shape.cooperative = true;
    constexpr size_t workspace_bytes = 64;
    void* const workspace =
        sim::runtime::allocate_unnamed(workspace_bytes, sim::runtime::memory_place::device, "grid barrier");
    sim::runtime::fill(workspace, 0, workspace_bytes);
    std::memcpy(bytes + of.body.size_bytes - sizeof workspace, &workspace, sizeof workspace);
  }
  taker(shape, of.body, bytes);
}

bool know_variable(const char* name, void* address, size_t bytes, bool is_constant) {
  known().variables.insert_or_assign(name, device_variable{address, bytes, is_constant});
  return true;
}

device_variable variable_named(const char* name) {
  const auto found = known().variables.find(name);
  return found == known().variables.end() ? device_variable{} : found->second;
}

namespace {

constexpr uint32_t most_modules = 256;
[[gnu::section("heddle_device")]] bool is_loaded[most_modules];  // none when a run begins

std::string name_in(const known_module& module, const char* name) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx/", static_cast<unsigned long long>(module.hash));
  return std::string(digits) + name;
}

}  // namespace

uint64_t hash_of(std::string_view image) {
  constexpr uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3;
  uint64_t hash = basis;
  for (const char c : image) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

bool know_module(uint64_t hash) {
  const auto number = static_cast<uint32_t>(known().modules.size());
  if (number == most_modules) {
    std::fprintf(stderr, "heddle: a program has more than %u modules\n", most_modules);
    std::abort();
  }
  known().modules.push_back({hash, number});
  return true;
}

const known_module* module_of(std::string_view image) {
  constexpr std::string_view fat = "\x50\xed\x55\xba";
  if (!image.starts_with(fat)) image = image.substr(0, image.find('\0'));
  const uint64_t hash = hash_of(image);
  for (const known_module& each : known().modules)
    if (each.hash == hash) return &each;
  return nullptr;
}

bool load(const known_module& module) { return !std::exchange(is_loaded[module.number], true); }
const kernel* kernel_of(const known_module& module, const char* name) {
  return kernel_named(name_in(module, name).c_str());
}
device_variable variable_of(const known_module& module, const char* name) {
  return variable_named(name_in(module, name).c_str());
}

bool know_function(const void* address) {
  known().functions.insert(address);
  return true;
}

void* function_at(uint64_t address) {
  auto* const wanted = reinterpret_cast<void*>(address);
  if (!known().functions.contains(wanted))
    sim::runtime::trap(fault::assertion, "a call through a pointer that is no device function");
  return wanted;
}

shared_memory::shared_memory(const char* name, size_t bytes, size_t)
    : address(static_cast<uint32_t>(first_slot + known().shared.size()) << shared_offset_bits) {
  if (bytes > size_t{1} << shared_offset_bits || known().shared.size() > 16000) {
    std::fprintf(stderr, "heddle: the shared variable %s is larger than any block's memory\n", name);
    std::abort();
  }
  known().shared.push_back({name, bytes});
}

void* generic_of_shared(uint64_t address) {
  uint64_t slot = address >> shared_offset_bits;
  const uint64_t offset = address & ((uint64_t{1} << shared_offset_bits) - 1);
  if (slot >= slots() && !known().kernels.empty() && address >> 32 == 0) {
    const auto rank = static_cast<uint32_t>(slot / slots() - 1);
    slot %= slots();
    return sim::runtime::shared_of_cluster(generic_of_shared(slot << shared_offset_bits | offset), rank);
  }
  if (slot == dynamic_slot && !known().kernels.empty())
    return static_cast<std::byte*>(sim::runtime::dynamic_shared()) + offset;
  if (slot < first_slot || slot - first_slot >= known().shared.size())
    return reinterpret_cast<void*>(address | (known().kernels.empty() ? upper_half : 0));
  return copy_of(known().shared[slot - first_slot]) + offset;
}

uint64_t shared_of_cluster(uint64_t address, uint32_t rank) {
  const void* const copy = sim::runtime::shared_of_cluster(generic_of_shared(address), rank);
  if (known().kernels.empty()) return static_cast<uint32_t>(reinterpret_cast<uint64_t>(copy));
  const uint64_t slot = (address >> shared_offset_bits) + (uint64_t{rank} + 1) * slots();
  if (slot >> (32 - shared_offset_bits) != 0)
    sim::runtime::trap(fault::assertion, "a cluster in a program with more than 900 shared variables");
  return slot << shared_offset_bits | (address & ((uint64_t{1} << shared_offset_bits) - 1));
}

uint64_t shared_of_generic(uint64_t address) {
  if (known().kernels.empty()) {
    upper_half = address >> 32 << 32;
    return static_cast<uint32_t>(address);
  }
  const auto* const wanted = reinterpret_cast<const std::byte*>(address);
  for (size_t n = 0; n < known().shared.size(); ++n) {
    const std::byte* const copy = copy_of(known().shared[n]);
    if (wanted >= copy && wanted <= copy + known().shared[n].bytes)
      return ((n + first_slot) << shared_offset_bits) + static_cast<uint64_t>(wanted - copy);
  }
  const auto* const dynamic = static_cast<const std::byte*>(sim::runtime::dynamic_shared());
  constexpr size_t most = size_t{1} << shared_offset_bits;
  if (wanted >= dynamic && wanted < dynamic + most)
    return (uint64_t{dynamic_slot} << shared_offset_bits) + static_cast<uint64_t>(wanted - dynamic);
  return 0;
}

where_it_is space_of(uint64_t address) {
  // Without modules the block's variables are C++'s, whose addresses are generic ones.
  const bool is_shared = known().kernels.empty() ? sim::runtime::is_of_block(reinterpret_cast<const void*>(address))
                                                 : shared_of_generic(address) != 0;
  if (is_shared) return where_it_is::shared;
  if (sim::runtime::rank_in_cluster(reinterpret_cast<const void*>(address)) != sim::runtime::no_rank)
    return where_it_is::cluster;
  for (const auto& [name, each] : known().variables)
    if (each.is_constant && address - reinterpret_cast<uint64_t>(each.address) < each.bytes)
      return where_it_is::constant;
  const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
  constexpr uint64_t frames = uint64_t{64} << 10;
  const uint64_t above = address - reinterpret_cast<uint64_t>(here);
  return above < frames && !sim::runtime::is_allocated(reinterpret_cast<const void*>(address)) ? where_it_is::local
                                                                                               : where_it_is::global;
}

named_barrier barrier_of_block(uint32_t id) {
  static constexpr const char* names[] = {
      "barrier 0", "barrier 1", "barrier 2",  "barrier 3",  "barrier 4",  "barrier 5",  "barrier 6",  "barrier 7",
      "barrier 8", "barrier 9", "barrier 10", "barrier 11", "barrier 12", "barrier 13", "barrier 14", "barrier 15"};
  if (id >= 16) sim::runtime::trap(fault::assertion, "a block has the barriers 0 to 15");
  // The second word is never written: it holds what the first one did before any lane came.
  auto* const words =
      static_cast<uint64_t*>(sim::runtime::shared_variable(&names[id], 2 * sizeof(uint64_t), names[id]));
  return {words, words[1]};
}

// -- functions that every module knows

namespace {

/// What stands in a format: up to and with its conversion.
struct conversion {
  std::string text;
  char kind = '\0';
  bool is_long = false;
  int stars = 0;
};

conversion next_conversion(const char*& at) {
  conversion made;
  made.text += *at++;
  while (*at != '\0') {
    const char c = *at++;
    made.text += c;
    if (c == '*') ++made.stars;
    if (c == 'l' || c == 'j' || c == 'z' || c == 't') made.is_long = true;
    if (std::strchr("diouxXcsfFeEgGaAp%", c) != nullptr) {
      made.kind = c;
      break;
    }
  }
  return made;
}

/// What a lane has printed last; of all lanes, that of the latest. Not on the heap, which begins anew with each run.
struct printed {
  uint32_t wave = 0;
  uint32_t lane = 0;
  char text[512] = "";
};
[[gnu::section("heddle_device")]] printed last_printed;  // empty when a run begins

/// Arguments as they lie behind each other, each at a multiple of its size.
class argument_reader {
 public:
  explicit argument_reader(const unsigned char* from) : from_(from) {}
  template <typename Value>
  Value next() {
    at_ = (at_ + sizeof(Value) - 1) / sizeof(Value) * sizeof(Value);
    Value value;
    std::memcpy(&value, from_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

 private:
  const unsigned char* from_;
  size_t at_ = 0;
};

template <typename Value>
void append(std::string& to, const conversion& how, const int* stars, Value value) {
  char buffer[1024];
  int length = 0;
  if (how.stars == 0) length = std::snprintf(buffer, sizeof buffer, how.text.c_str(), value);
  if (how.stars == 1) length = std::snprintf(buffer, sizeof buffer, how.text.c_str(), stars[0], value);
  if (how.stars == 2) length = std::snprintf(buffer, sizeof buffer, how.text.c_str(), stars[0], stars[1], value);
  if (length > 0) to.append(buffer, std::strlen(buffer));
}

void append_next(std::string& to, const conversion& how, argument_reader& given) {
  int stars[2] = {};
  for (int n = 0; n < how.stars && n < 2; ++n) stars[n] = given.next<int>();
  switch (how.kind) {
    case '%':
      to += '%';
      return;
    case 's':
      return append(to, how, stars, given.next<const char*>());
    case 'p':
      return append(to, how, stars, given.next<void*>());
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'c':
      return how.is_long ? append(to, how, stars, given.next<long>()) : append(to, how, stars, given.next<int>());
    case '\0':
      to += how.text;
      return;
    default:
      return append(to, how, stars, given.next<double>());
  }
}

}  // namespace

void device_vprintf(unsigned char* result, unsigned char* format, unsigned char* arguments) {
  const auto* at = from_bytes<const char*>(format);
  argument_reader given(from_bytes<const unsigned char*>(arguments));
  std::string text;
  int count = 0;
  while (*at != '\0') {
    if (*at != '%') {
      text += *at++;
      continue;
    }
    append_next(text, next_conversion(at), given);
    ++count;
  }
  std::printf("%s", text.c_str());
  to_bytes(result, count);
  last_printed.wave = sim::runtime::wave_id();
  last_printed.lane = sim::runtime::lane_id();
  last_printed.text[text.copy(last_printed.text, sizeof last_printed.text - 1)] = '\0';
}

void trap_behind_line() {
  const bool is_own = last_printed.wave == sim::runtime::wave_id() && last_printed.lane == sim::runtime::lane_id();
  std::string_view line = is_own ? last_printed.text : "";
  if (line.ends_with('\n')) line.remove_suffix(1);
  for (const auto& [begin, why] : {std::pair<std::string_view, fault>("heddle: assertion: ", fault::assertion),
                                   std::pair<std::string_view, fault>("heddle: protocol: ", fault::protocol)})
    if (line.starts_with(begin)) sim::runtime::trap(why, std::string(line.substr(begin.size())).c_str());
  sim::runtime::trap(fault::assertion, "trap");
}

void device_malloc(unsigned char* result, unsigned char* bytes) {
  to_bytes(result, std::malloc(from_bytes<size_t>(bytes)));
}

void device_free(unsigned char* address) { std::free(from_bytes<void*>(address)); }

void device___assertfail(unsigned char* message, unsigned char*, unsigned char*, unsigned char*, unsigned char*) {
  const std::string text = std::string("assert(") + from_bytes<const char*>(message) + ")";
  sim::runtime::trap(fault::assertion, text.c_str());
}

}  // namespace heddle::ptx
