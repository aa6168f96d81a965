// What the statements call that stand for instructions of x86 (host_accesses.cpp): operations on a number of bytes that is known where they are called.
#include <string>
#include <string_view>
#include <utility>

#include "host_accesses.h"

namespace heddle::rewrite {
namespace {

constexpr std::string_view functions =
    "__extension__ typedef unsigned long long heddle_x86_word; __extension__ typedef unsigned __int128 "
    "heddle_x86_wide; "
    // A part of a register, and a register of which an instruction has set a part.
    "@ heddle_x86_word heddle_x86_part(heddle_x86_word v, unsigned long n) "
    "{ return n >= 8 ? v : v & (((heddle_x86_word)1 << n * 8) - 1); } "
    "@ heddle_x86_word heddle_x86_with(heddle_x86_word old, heddle_x86_word v, unsigned long n) "
    "{ return n >= 4 ? heddle_x86_part(v, n) : (old & ~(((heddle_x86_word)1 << n * 8) - 1)) | heddle_x86_part(v, n); } "
    "@ heddle_x86_word heddle_x86_signed(heddle_x86_word v, unsigned long n) "
    "{ return n >= 8 ? v : (heddle_x86_word)((long)(v << (64 - n * 8)) >> (64 - n * 8)); } "
    "@ heddle_x86_word heddle_x86_load(unsigned char* p, unsigned long n) "
    "{ switch (n) { case 1: return __atomic_load_n(p, 2); case 2: return __atomic_load_n((unsigned short*)p, 2); "
    "case 4: return __atomic_load_n((unsigned*)p, 2); default: return __atomic_load_n((unsigned long*)p, 2); } } "
    "@ void heddle_x86_store(unsigned char* p, heddle_x86_word v, unsigned long n) "
    "{ switch (n) { case 1: __atomic_store_n(p, (unsigned char)v, 3); break; "
    "case 2: __atomic_store_n((unsigned short*)p, (unsigned short)v, 3); break; "
    "case 4: __atomic_store_n((unsigned*)p, (unsigned)v, 3); break; "
    "default: __atomic_store_n((unsigned long*)p, (unsigned long)v, 3); } } ";

constexpr std::string_view function_of_change =
    "@ heddle_x86_word heddle_x86_#(unsigned char* p, heddle_x86_word v, unsigned long n) "
    "{ switch (n) { case 1: return __atomic_%_#(p, (unsigned char)v, 5); "
    "case 2: return __atomic_%_#((unsigned short*)p, (unsigned short)v, 5); "
    "case 4: return __atomic_%_#((unsigned*)p, (unsigned)v, 5); "
    "default: return __atomic_%_#((unsigned long*)p, (unsigned long)v, 5); } } ";

constexpr std::string_view function_of_comparison =
    "{ TYPE e = (TYPE)*a; int done = __atomic_compare_exchange_n((TYPE*)p, &e, (TYPE)v, 0, 5, 5); "
    "if (!done) *a = heddle_x86_with(*a, e, sizeof e); return done; } ";

constexpr std::string_view functions_of_pairs =
    "@ int heddle_x86_cmpxchg16(unsigned char* p, heddle_x86_word* a, heddle_x86_word* d, heddle_x86_word b, "
    "heddle_x86_word c) "
    "{ heddle_x86_wide e = (heddle_x86_wide)*d << 64 | *a; "
    "int done = __atomic_compare_exchange_n((heddle_x86_wide*)p, &e, (heddle_x86_wide)c << 64 | b, 0, 5, 5); "
    "if (!done) { *a = (heddle_x86_word)e; *d = (heddle_x86_word)(e >> 64); } return done; } "
    "@ int heddle_x86_cmpxchg8(unsigned char* p, heddle_x86_word* a, heddle_x86_word* d, heddle_x86_word b, "
    "heddle_x86_word c) "
    "{ unsigned long e = heddle_x86_part(*d, 4) << 32 | heddle_x86_part(*a, 4); "
    "int done = __atomic_compare_exchange_n((unsigned long*)p, &e, heddle_x86_part(c, 4) << 32 | heddle_x86_part(b, "
    "4), 0, 5, 5); "
    "if (!done) { *a = e & 0xffffffffu; *d = e >> 32; } return done; } ";

void replace_all(std::string& in, std::string_view what, std::string_view by) {
  for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + by.size()))
    in.replace(at, what.size(), by);
}

std::string make_functions() {
  std::string made(functions);
  for (const char* const name : {"add", "and", "or", "xor", "xchg"}) {
    std::string one(function_of_change);
    const bool is_exchange = std::string_view(name) == "xchg";
    replace_all(one, "__atomic_%_#", is_exchange ? "__atomic_exchange_n" : "__atomic_fetch_" + std::string(name));
    replace_all(one, "#", name);
    made += one;
  }
  made += "@ int heddle_x86_cmpxchg(unsigned char* p, heddle_x86_word* a, heddle_x86_word v, unsigned long n) { ";
  for (const auto& [size, type] : {std::pair("1", "unsigned char"), std::pair("2", "unsigned short"),
                                   std::pair("4", "unsigned"), std::pair("8", "unsigned long")}) {
    std::string one(function_of_comparison);
    replace_all(one, "TYPE", type);
    made += "if (n == " + std::string(size) + ") " + one;
  }
  made += "return 0; } ";
  made +=
      "@ heddle_x86_word heddle_x86_neg(unsigned char* p, unsigned long n) { heddle_x86_word o = heddle_x86_load(p, "
      "n); "
      "while (!heddle_x86_cmpxchg(p, &o, 0 - o, n)) {} return o; } ";
  made += functions_of_pairs;
  replace_all(made, "@", "static __inline __attribute__((always_inline, artificial, unused))");
  return made;
}

}  // namespace

std::string_view functions_of_accesses() {
  static const std::string all = make_functions();
  return all;
}

}  // namespace heddle::rewrite
