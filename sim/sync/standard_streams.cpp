#include <heddle/sim/sync/standard_streams.h>

#include <array>
#include <ios>
#include <iostream>
#include <locale>
#include <memory>
#include <new>
#include <ostream>
#include <streambuf>

namespace heddle::sim {
namespace {

template <typename Char>
struct kept_stream {
  std::basic_ios<Char>& of;
  std::basic_streambuf<Char>* buffer = of.rdbuf();
  std::basic_ostream<Char>* tie = of.tie();
  Char fill = of.fill();
  std::ios_base::fmtflags flags = of.flags();
  std::streamsize precision = of.precision();
  std::streamsize width = of.width();
  std::ios_base::iostate state = of.rdstate();
  std::ios_base::iostate exceptions = of.exceptions();
  std::locale locale = of.getloc();

  void restore() const {
    of.exceptions(std::ios_base::goodbit);
    // Setting a buffer clears the state.
    if (of.rdbuf() != buffer) of.rdbuf(buffer);
    of.clear(state);
    of.exceptions(exceptions);
    of.tie(tie);
    of.fill(fill);
    of.flags(flags);
    of.precision(precision);
    of.width(width);
    restore_locale();
  }

 private:
  void restore_locale() const {
    const std::locale now = of.getloc();
    if (now == locale) return;
    // What the program has put into it may be memory of the run, and is not destroyed: the program would not have, either.
    alignas(std::locale) std::byte for_ever[sizeof(std::locale)];
    new (static_cast<void*>(for_ever)) std::locale(now);
    of.imbue(locale);
  }
};

}  // namespace

struct standard_streams::all {
  std::array<kept_stream<char>, 4> narrow = {{{std::cin}, {std::cout}, {std::cerr}, {std::clog}}};
  std::array<kept_stream<wchar_t>, 4> wide = {{{std::wcin}, {std::wcout}, {std::wcerr}, {std::wclog}}};

  template <typename Do>
  void each(Do&& act) {
    for (auto& one : narrow) act(one);
    for (auto& one : wide) act(one);
  }
};

standard_streams::standard_streams() = default;
standard_streams::~standard_streams() = default;

void standard_streams::keep_first() { kept_ = std::make_unique<all>(); }

void standard_streams::keep_buffers() {
  if (kept_ == nullptr) return;
  kept_->each([](auto& one) { one.buffer = one.of.rdbuf(); });
}

void standard_streams::restore() {
  if (kept_ == nullptr) return;
  kept_->each([](const auto& one) { one.restore(); });
}

}  // namespace heddle::sim
