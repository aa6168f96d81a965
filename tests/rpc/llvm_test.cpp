// Programs that were built against LLVM's libc for GPUs, served on host threads: each opcode, formats, files, what a hostile client gets,
// and how a service stops. Once with a client of our own, and once with LLVM's header, unchanged, where it is there.
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/llvm/service.h>

#include "llvm_client.h"

#ifdef LLVM_RPC_HEADER
#include "rpc.h"
#endif

#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace heddle::rpc::llvm::tests::llvm_test {
namespace {

using service = basic_service<host::target, host::device>;
namespace fs = std::filesystem;

class own_directory {
 public:
  own_directory() {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory can be made");
  }
  ~own_directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path() const { return path_; }

 private:
  std::string path_ = (fs::temp_directory_path() / "heddle-llvm-XXXXXX").string();
};

std::string read_file(const fs::path& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
}

template <revision Header>
class of_our_own : public own_client<host::target> {
 public:
  static constexpr revision built_with = Header;
  of_our_own(void* shared, uint32_t ports) : own_client<host::target>(shared, locks_, {ports, 1, Header}) {}

 private:
  uint32_t locks_[max_ports_of(Header) / 32] = {};
};

#ifdef LLVM_RPC_HEADER
class of_llvm : public ::rpc::Client {
 public:
  static constexpr revision built_with = revision::of_2025;
  of_llvm(void* shared, uint32_t ports) : Client(ports, shared) {}
  static uint64_t lanes() { return ::rpc::get_lane_mask(); }
  static bool any(uint64_t mask, bool holds) { return ::rpc::ballot(mask, holds) != 0; }
};
using clients = testing::Types<of_our_own<revision::of_2025>, of_our_own<revision::of_2026>, of_llvm>;

TEST(llvm_wire, lies_where_the_header_of_llvm_has_it) {
  using client = ::rpc::Process<false>;
  using server = ::rpc::Process<true>;
  for (const uint32_t ports : {1u, 2u, 3u, 31u, 64u, 4095u, 4096u}) {
    const layout mine{ports, 32};
    EXPECT_EQ(mine.server_outbox_offset(), server::outbox_offset(ports));
    EXPECT_EQ(mine.client_outbox_offset(), client::outbox_offset(ports));
    EXPECT_EQ(mine.header_offset(), client::header_offset(ports));
    EXPECT_EQ(mine.packet_offset(), client::buffer_offset(ports));
    EXPECT_EQ(mine.size_bytes(), client::allocation_size(ports, 32));
  }
  EXPECT_EQ(sizeof(header), sizeof(::rpc::Header));
  EXPECT_EQ(sizeof(packet), sizeof(::rpc::Buffer));
  EXPECT_EQ(max_ports, ::rpc::MAX_PORT_COUNT);
}
#else
using clients = testing::Types<of_our_own<revision::of_2025>, of_our_own<revision::of_2026>>;
#endif

TEST(llvm_wire, has_the_offsets_of_its_description) {
  constexpr layout three{3, 2};
  EXPECT_EQ(three.server_outbox_offset(), 0u);
  EXPECT_EQ(three.client_outbox_offset(), 12u);
  EXPECT_EQ(three.header_offset(), 24u);
  EXPECT_EQ(three.packet_offset(), 72u);
  EXPECT_EQ(three.size_bytes(), 72u + 3 * 2 * 64);
  EXPECT_EQ(static_cast<uint32_t>(opcode::system), 0x6300001du);
}

TEST(llvm_wire, of_2026_has_a_doorbell_in_front_of_the_same) {
  constexpr layout three{3, 2, revision::of_2026};
  EXPECT_EQ(layout::doorbell_offset(), 0u);
  EXPECT_EQ(three.server_outbox_offset(), 64u);
  EXPECT_EQ(three.client_outbox_offset(), 64u + 12);
  EXPECT_EQ(three.header_offset(), 64u + 24);
  EXPECT_EQ(three.packet_offset(), 64u + 72);
  EXPECT_EQ(three.size_bytes(), 64u + 72 + 3 * 2 * 64);
  EXPECT_EQ(offsetof(doorbell_words, count), 0u);
  EXPECT_EQ(offsetof(doorbell_words, mailbox), 8u);
  EXPECT_EQ(offsetof(doorbell_words, event), 16u);
  EXPECT_EQ(max_ports_of(revision::of_2026), 16384u);
}

TEST(llvm_wire, has_files_that_are_no_addresses_and_name_one_file) {
  EXPECT_EQ(handle_of(0), no_file);
  EXPECT_EQ(handle_of(0x7fff12345671), 0u) << "the low bits name a standard stream, whatever is above";
  EXPECT_EQ(handle_of(2), 1u);
  EXPECT_EQ(handle_of(3), 2u);
  for (const uint64_t handle : {uint64_t{3}, uint64_t{7} << 32 | 3, uint64_t{0xffffffff} << 32 | (max_files - 1)}) {
    EXPECT_EQ(handle_of(stream_of(handle)), handle);
    EXPECT_EQ(stream_of(handle) & 3, 0u);
  }
  for (const uint64_t junk : {uint64_t{4}, uint64_t{8}, ~uint64_t{3}, uint64_t{1} << 56 | 12})
    EXPECT_EQ(handle_of(junk), no_file) << junk;
}

/// A service with a directory, and one client of it.
template <typename Client>
class llvm_libc : public testing::Test {
 protected:
  service& start(service_limits limits = {}, service_policy policy = {},
                 service_shape shape = {.ports = 2, .lanes = 1}) {
    if (limits.directory.empty()) limits.directory = directory.path().string();
    shape.memory_bytes = 4096;
    shape.header = Client::built_with;
    host.emplace(on, shape, std::move(limits), std::move(policy));
    for (const auto& [number, function] : functions) host->allow(number, function).value();
    if (allowed != nullptr) host->allow(allowed).value();
    if (added) host->on(opcode_of('u', 1), added).value();
    host->start();
    client_.emplace(host->buffer(), host->ports());
    calls_.emplace(*client_);
    return *host;
  }

  own_directory directory;
  host::device on;
  std::vector<std::pair<uint64_t, host_function>> functions;
  unsigned long long (*allowed)(void*) = nullptr;
  std::function<void(service::port&)> added;
  std::optional<service> host;
  std::optional<Client> client_;
  std::optional<libc<Client>> calls_;
};
TYPED_TEST_SUITE(llvm_libc, clients);

TYPED_TEST(llvm_libc, writes_reads_and_seeks_files_of_any_size) {
  this->start({.bound_bytes = 256});
  auto& at = *this->calls_;
  std::string text;
  for (uint32_t n = 0; text.size() < 5000; ++n) text += std::to_string(n) + ",";
  for (const int each : {0, 1, 55, 56, 57, 119, 120, 121, 255, 256, 257, 511, 512, 1000, 5000}) {
    const auto size = static_cast<uint64_t>(each);
    const uint64_t file = at.open("some.txt", "w+");
    ASSERT_NE(file, 0u);
    EXPECT_EQ(at.write(file, text.data(), size), size);
    EXPECT_EQ(at.template word<opcode::ftell>(file), static_cast<int64_t>(size));
    EXPECT_EQ(at.template word<opcode::fseek>(file, 0, SEEK_SET), 0);
    std::string back(5100, '?');
    uint64_t done = 0;
    // A read is 256 bytes at most here.
    for (uint64_t bytes = 1; bytes != 0; done += bytes) bytes = at.read(file, back.data() + done, 5000 - done);
    EXPECT_EQ(done, size);
    EXPECT_EQ(back.substr(0, size), text.substr(0, size));
    EXPECT_EQ(back.substr(size, 1), "?");
    EXPECT_EQ(at.template word<opcode::fflush>(file), 0);
    EXPECT_EQ(at.template word<opcode::close_file>(file), 0);
    EXPECT_EQ(read_file(this->directory.path() / "some.txt"), text.substr(0, size));
  }
  EXPECT_EQ(this->host->files().open_count(), 0u);
  EXPECT_EQ(this->host->counts().refused, 0u);
}

TYPED_TEST(llvm_libc, has_lines_flags_and_characters_that_go_back) {
  this->start();
  auto& at = *this->calls_;
  const uint64_t file = at.open("lines", "w+");
  EXPECT_EQ(at.write(file, "one\ntwo", 7), 7u);
  EXPECT_EQ(at.template word<opcode::fseek>(file, 0, SEEK_SET), 0);
  char line[8] = {};
  EXPECT_TRUE(at.gets(line, 3, file));
  EXPECT_STREQ(line, "on");
  EXPECT_TRUE(at.gets(line, 8, file));
  EXPECT_STREQ(line, "e\n");
  EXPECT_EQ(at.template word<opcode::feof>(file), 0);
  EXPECT_TRUE(at.gets(line, 8, file));
  EXPECT_STREQ(line, "two");
  EXPECT_NE(at.template word<opcode::feof>(file), 0);
  EXPECT_FALSE(at.gets(line, 8, file));
  EXPECT_EQ(at.template word<opcode::ungetc>('x', file), 'x');
  EXPECT_EQ(at.template word<opcode::feof>(file), 0);
  EXPECT_TRUE(at.gets(line, 8, file));
  EXPECT_STREQ(line, "x");
  at.template word<opcode::clearerr>(file);
  EXPECT_EQ(at.template word<opcode::feof>(file), 0);
  EXPECT_EQ(at.template word<opcode::ferror>(file), 0);
  EXPECT_EQ(at.template word<opcode::fseek>(file, static_cast<uint64_t>(int64_t{-3}), SEEK_END), 0);
  EXPECT_EQ(at.template word<opcode::ftell>(file), 4);
  EXPECT_EQ(at.template word<opcode::close_file>(file), 0);
  const uint64_t only = at.open("lines", "r");
  EXPECT_EQ(at.write(only, "x", 1), 0u);
  EXPECT_NE(at.template word<opcode::ferror>(only), 0);
  at.template word<opcode::clearerr>(only);
  EXPECT_EQ(at.template word<opcode::ferror>(only), 0);
  EXPECT_EQ(at.template text<opcode::rename>({"lines", "other"}), 0);
  EXPECT_EQ(read_file(this->directory.path() / "other"), "one\ntwo");
  EXPECT_EQ(at.template text<opcode::remove>({"other"}), 0);
  EXPECT_EQ(at.template text<opcode::remove>({"other"}), -1);
  EXPECT_EQ(at.template text<opcode::rename>({"other", "lines"}), -1);
  EXPECT_EQ(at.open("other", "r"), 0u);
  EXPECT_FALSE(fs::exists(this->directory.path() / "other"));
}

TYPED_TEST(llvm_libc, writes_to_the_standard_streams) {
  this->start();
  auto& at = *this->calls_;
  testing::internal::CaptureStdout();
  EXPECT_EQ(at.template write<opcode::write_to_stdout>(0, "a", 1), 1u);
  EXPECT_EQ(at.template write<opcode::write_to_stdout_newline>(0, "b", 1), 2u);
  EXPECT_EQ(at.write(libc<TypeParam>::out, "c", 1), 1u);
  EXPECT_EQ(at.template print<opcode::printf_to_stdout>(0, "%d.", variadic(false, 4)), 2);
  EXPECT_EQ(at.template print<opcode::printf_to_stdout_packed>(0, "%d.", variadic(true, 5)), 2);
  EXPECT_EQ(at.template word<opcode::fflush>(libc<TypeParam>::out), 0);
  EXPECT_EQ(at.template word<opcode::fflush>(0), 0);
  EXPECT_EQ(at.template word<opcode::ferror>(libc<TypeParam>::out), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "ab\nc4.5.");
  testing::internal::CaptureStderr();
  EXPECT_EQ(at.template write<opcode::write_to_stderr>(0, "d", 1), 1u);
  EXPECT_EQ(at.template print<opcode::printf_to_stderr>(0, "%s", variadic(false, "text")), 4);
  EXPECT_EQ(at.template print<opcode::printf_to_stderr_packed>(0, "%%", variadic(true)), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "dtext%");
}

TYPED_TEST(llvm_libc, prints_what_printf_prints) {
  this->start();
  auto& at = *this->calls_;
  const uint64_t file = at.open("printed", "w");
  std::string wanted;
  int cases = 0;
  const auto compare = [&](const char* format, auto... values) {
    char line[600];
    const size_t before = wanted.size();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    const int size = snprintf(line, sizeof line, format, values...);
#pragma GCC diagnostic pop
    for (const bool packed : {false, true}) {
      const variadic arguments(packed, values...);
      const int64_t result = packed ? at.template print<opcode::printf_to_stream_packed>(file, format, arguments)
                                    : at.template print<opcode::printf_to_stream>(file, format, arguments);
      EXPECT_EQ(result, size) << format;
      wanted.append(line, static_cast<size_t>(size));
    }
    const std::string printed = read_file(this->directory.path() / "printed");
    EXPECT_EQ(printed.substr(std::min(before, printed.size())), wanted.substr(before)) << format;
    ++cases;
  };
  compare("");
  compare("plain, and %%");
  for (const char* const format : {"%d", "%i", "%5d|", "%-5d|", "%05d", "%+d", "% d",  "%.3d", "%8.3d|", "%hd", "%hhd",
                                   "%u", "%x", "%#X",  "%o",    "%#o",  "%hu", "%hhx", "%c|",  "%3c|",   "%b",  "%#b"})
    for (const int value : {0, 1, -1, 65, 40000, 2147483647, -2147483647 - 1}) compare(format, value);
  for (const char* const format :
       {"%ld", "%lld", "%jd", "%zd", "%td", "%lu", "%llx", "%#lo", "%20ld|", "%-20ld|", "%lb"})
    for (const int64_t value : {int64_t{0}, int64_t{-5}, INT64_MAX, INT64_MIN}) compare(format, value);
  for (const char* const format :
       {"%f", "%F", "%e", "%E", "%g", "%G", "%a", "%A", "%.0f", "%10.3f|", "%-10.1e|", "%+g", "%#g"})
    for (const double value : {0.0, -0.0, 1.5, -123456.789, 1e300, 1e-300, double{INFINITY}, -double{INFINITY}})
      compare(format, value);
  for (const char* const format : {"%s", "%10s|", "%-10s|", "%.2s|", "%.0s|"})
    for (const char* const value :
         {"", "a", "text", "a text that is longer than a packet of this wire has room for, by far"})
      compare(format, value);
  compare("%s", static_cast<const char*>(nullptr));
  compare("%p|%p", static_cast<void*>(&cases), static_cast<void*>(nullptr));
  compare("%*d|%-*d|%.*f|%*s|", -6, 1, 3, 2, 2, 0.125, -1, "");
  // Arguments that padding goes between, and texts from both ends.
  compare("%d %ld %d %s %c %f %s %d", 1, int64_t{2}, 3, "four", 'x' + 0, 5.5, "six", 7);
  EXPECT_EQ(at.template print<opcode::printf_to_stream>(file, "%Lf", variadic(false, 0.5)), 8) << "a GPU's is a double";
  EXPECT_EQ(this->host->counts().refused, 0u);
}

unsigned long long doubled(void* argument) {
  uint64_t value = 0;
  memcpy(&value, argument, sizeof value);
  return 2 * value;
}
unsigned long long never(void*) { abort(); }

TYPED_TEST(llvm_libc, calls_only_functions_that_are_allowed) {
  this->allowed = doubled;
  this->functions.emplace_back(7, [](std::span<unsigned char> argument) { return uint64_t{argument.size()}; });
  this->functions.emplace_back(8, [](std::span<unsigned char>) -> uint64_t { throw std::runtime_error("no"); });
  this->start({.bound_bytes = 256, .on_throw = [](const std::string&) {}});
  auto& at = *this->calls_;
  const uint64_t value = 21;
  EXPECT_EQ(at.call(reinterpret_cast<uintptr_t>(doubled), &value, sizeof value), 42u);
  EXPECT_EQ(at.call(7, "abc", 3), 3u);
  EXPECT_EQ(at.call(7, nullptr, 0), 0u);
  EXPECT_EQ(at.call(8, nullptr, 0), ~uint64_t{0});
  EXPECT_EQ(this->host->counts().refused, 0u);
  EXPECT_EQ(at.call(reinterpret_cast<uintptr_t>(never), &value, sizeof value), ~uint64_t{0});
  EXPECT_EQ(at.call(7, std::string(300, 'x').data(), 300), ~uint64_t{0}) << "above the bound";
  EXPECT_EQ(this->host->counts().refused, 2u);
}

TYPED_TEST(llvm_libc, has_memory_and_an_end_and_runs_commands_where_it_may) {
  std::atomic<int> code{0};
  std::atomic<int> aborted{0};
  std::string command;
  const service_limits limits{.on_exit = [&](int32_t with) { code = with; },
                              .on_abort = [&](const std::string&) { ++aborted; }};
  this->start(limits);
  EXPECT_EQ(this->calls_->template text<opcode::system>({"true"}), -1) << "refused unless it is allowed";
  this->start(limits, {.system = [&](const char* line) {
                command = line;
                return 512;
              }});
  auto& at = *this->calls_;
  EXPECT_EQ(at.template text<opcode::system>({"make tea"}), 512);
  EXPECT_EQ(command, "make tea");
  const auto first = static_cast<uint64_t>(at.template word<opcode::malloc>(1000));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(at.template word<opcode::malloc>(5000), 0) << "more than there is";
  at.free(first);
  at.free(0);
  at.nothing();
  EXPECT_NE(at.template word<opcode::malloc>(4096), 0) << "what was freed is there again";
  at.template end<opcode::exit>(3);
  at.template end<opcode::abort>(0);
  this->host->stop();
  this->host->join();
  EXPECT_EQ(code, 3);
  EXPECT_EQ(aborted, 1);
}

TYPED_TEST(llvm_libc, leaves_other_opcodes_to_the_program) {
  this->added = [](service::port& opened) {
    opened.recv([](const packet& from, uint32_t) { EXPECT_EQ(from.words[0], 1u); });
    opened.send([](packet& to, uint32_t) { to.words[0] = 2; });
  };
  this->start();
  EXPECT_EQ(this->calls_->template word<static_cast<opcode>(opcode_of('u', 1))>(1), 2);
  EXPECT_EQ(this->calls_->template word<static_cast<opcode>(opcode_of('u', 2))>(1), 0)
      << "not the question as the answer";
  EXPECT_EQ(this->host->counts().unhandled, 1u);
  EXPECT_FALSE(this->host->on(opcode_of('u', 3), this->added)) << "it runs";
}

// -- hostile clients ----------------------------------------------------------------------------------------------------------

TYPED_TEST(llvm_libc, answers_nonsense_with_errors) {
  this->start({.bound_bytes = 256, .open_files = 2});
  auto& at = *this->calls_;
  for (const uint64_t file : {uint64_t{0}, uint64_t{4}, uint64_t{12}, uint64_t{1} << 24 | 12, ~uint64_t{3},
                              uint64_t{0x7fff00001000}, uint64_t{1}}) {
    char byte = 0;
    EXPECT_EQ(at.write(file, "x", 1), 0u) << file;
    EXPECT_EQ(at.read(file, &byte, 1), 0u) << file;
    EXPECT_FALSE(at.gets(&byte, 1, file)) << file;
    EXPECT_EQ(at.template print<opcode::printf_to_stream>(file, "%d", variadic(false, 1)), -1) << file;
    EXPECT_EQ(at.template word<opcode::fseek>(file, 0, SEEK_SET), -1) << file;
    EXPECT_EQ(at.template word<opcode::ftell>(file), -1) << file;
    EXPECT_EQ(at.template word<opcode::close_file>(file), -1) << file;
    EXPECT_EQ(at.template word<opcode::ungetc>('x', file), -1) << file;
    EXPECT_NE(at.template word<opcode::feof>(file), 0) << file;
    EXPECT_NE(at.template word<opcode::ferror>(file), 0) << file;
  }
  for (const char* const path : {"", "../x", "/etc/passwd", "no/such"}) EXPECT_EQ(at.open(path, "r"), 0u) << path;
  EXPECT_EQ(at.open("x", "rw"), 0u);
  EXPECT_EQ(at.open(std::string(300, 'x').c_str(), "w"), 0u) << "above the bound";
  const uint64_t closed = at.open("x", "w");
  EXPECT_EQ(at.template word<opcode::close_file>(closed), 0);
  EXPECT_EQ(at.write(closed, "x", 1), 0u) << "a file that was closed";
  const uint64_t again = at.open("x", "w");
  EXPECT_NE(again, closed);
  EXPECT_NE(at.open("y", "w"), 0u);
  EXPECT_EQ(at.open("z", "w"), 0u) << "too many";
  EXPECT_EQ(at.template word<opcode::fseek>(again, 0, 3), -1);
  EXPECT_EQ(at.template word<opcode::fseek>(again, uint64_t{1} << 40, SEEK_SET), 0);
  EXPECT_EQ(at.write(again, "x", 1), 0u) << "a file larger than the limit";
  at.free(12345);
  // Texts without an end, and what is no format.
  EXPECT_EQ(at.template text<opcode::remove>({"x"}, 1), -1);
  EXPECT_EQ(at.template text<opcode::system>({"x"}, 1), -1);
  EXPECT_EQ(at.template print<opcode::printf_to_stream>(again, "abc", variadic(false), 1), -1);
  EXPECT_EQ(at.template print<opcode::printf_to_stream>(again, "%s", variadic(false, "abc"), 1), -1);
  for (const char* const format : {"%n", "%", "%l", "%5$d", "%ls", "%lc", "%m", "%hs", "%k", "%99999d"})
    EXPECT_EQ(at.template print<opcode::printf_to_stream>(again, format, variadic(false, "")), -1) << format;
  const std::string half(200, 'h');
  EXPECT_EQ(at.template print<opcode::printf_to_stream>(again, "%s%s", variadic(false, half.c_str(), half.c_str())), -1)
      << "together above the bound";
  EXPECT_EQ(at.template print<opcode::printf_to_stream>(again, "%s", variadic(false, half.c_str())), -1)
      << "the file is at its limit";
  EXPECT_EQ(this->host->counts().unhandled + this->host->counts().given_up + this->host->counts().thrown, 0u);
  EXPECT_NE(this->calls_->open("x", "w"), 1u);
}

TEST(llvm_service, goes_on_for_others_when_a_client_streams_without_end) {
  host::device on;
  service served(on, {.ports = 3, .lanes = 1}, {.on_exit = [](int32_t) {}},
                 {.patience_ns = 1'000'000, .stream_bytes = 1 << 20});
  served.start();
  own_client<host::target> bad(served.buffer(), nullptr, {3, 1});
  auto* const packets =
      reinterpret_cast<packet*>(static_cast<unsigned char*>(served.buffer()) + layout{3, 1}.packet_offset());
  // Port 2: a stream of 2^63 bytes. Port 1: one of a kilobyte, of which there is a packet. Junk in each word beside.
  for (const auto& [port, size_bytes] : {std::pair{2u, uint64_t{1} << 63}, std::pair{1u, uint64_t{1024}}}) {
    bad.header_of(port) = {~uint64_t{0}, static_cast<uint32_t>(opcode::write_to_stdout), ~0u};
    packets[port].words[0] = size_bytes;
    host::target::atomic_ref<uint32_t, scope::system>(bad.outbox(port)).store(0xfffffff1u, memory_order::release);
  }
  while (served.counts().given_up < 2) std::this_thread::yield();
  // Its own mailbox, under the server's feet.
  bad.inbox(2) = 77;
  uint32_t locks[1] = {0b110};
  own_client<host::target> rest(served.buffer(), locks, {3, 1});
  libc<own_client<host::target>> at(rest);
  for (int n = 0; n < 100; ++n) ASSERT_EQ(at.word<static_cast<opcode>(12345)>(1), 0);
  EXPECT_EQ(served.counts().unhandled, 100u);
  EXPECT_EQ(served.counts().calls, 102u);
}

TEST(llvm_service, gives_up_a_call_whose_client_has_died) {
  host::device on;
  service served(on, {.ports = 1, .lanes = 1});
  served.start();
  own_client<host::target> client(served.buffer(), nullptr, {1, 1});
  client.header_of(0) = {1, static_cast<uint32_t>(opcode::open_file), 0};
  reinterpret_cast<packet*>(static_cast<unsigned char*>(served.buffer()) + layout{1, 1}.packet_offset())->words[0] =
      1000;
  host::target::atomic_ref<uint32_t, scope::system>(client.outbox(0)).store(1, memory_order::release);
  while (served.counts().calls == 0) std::this_thread::yield();
  served.stop();
  EXPECT_FALSE(served.join(16'000'000));
  EXPECT_EQ(served.counts().given_up, 1u);
}

TEST(llvm_service, closes_the_port_of_a_handler_that_throws) {
  host::device on;
  std::string told;
  service served(on, {.ports = 2, .lanes = 1}, {.on_throw = [&](const std::string& line) { told = line; }});
  served.on(opcode_of('u', 1), [](service::port&) { throw std::runtime_error("no"); }).value();
  served.start();
  own_client<host::target> client(served.buffer(), nullptr, {2, 1});
  client.header_of(1) = {1, opcode_of('u', 1), 0};
  host::target::atomic_ref<uint32_t, scope::system>(client.outbox(1)).store(1, memory_order::release);
  while (served.counts().thrown == 0) std::this_thread::yield();
  uint32_t locks[1] = {0b10};
  own_client<host::target> other(served.buffer(), locks, {2, 1});
  EXPECT_EQ(libc<own_client<host::target>>(other).word<opcode::close_file>(0), -1) << "others are served";
  served.stop();
  served.join();
  EXPECT_EQ(told, "a handler of an opcode has thrown: no");
}

TEST(llvm_service, has_opcodes_of_libc_served_by_others_where_it_is_told_so) {
  host::device on;
  std::vector<void*> freed;
  alignas(16) unsigned char block[64] = {};
  const rpc::memory_source source = {.allocate = [&](uint64_t size) -> void* { return size > 64 ? nullptr : block; },
                                     .free = [&](void* memory) { freed.push_back(memory); }};
  service served(on, {.ports = 1, .lanes = 1}, {.memory = source});
  EXPECT_FALSE(served.on(static_cast<uint32_t>(opcode::feof), [](service::port&) {})) << "not by accident";
  const auto answer = [](uint64_t value) {
    return [value](service::port& at) {
      at.recv([](const packet&, uint32_t) {});
      at.send([&](packet& to, uint32_t) { to.words[0] = value; });
    };
  };
  EXPECT_TRUE(served.override_libc(opcode::feof, answer(77)));
  EXPECT_FALSE(served.override_libc(opcode::feof, answer(78))) << "it has a handler";
  served.start();
  uint32_t locks[1] = {};
  own_client<host::target> client(served.buffer(), locks, {1, 1});
  libc<own_client<host::target>> at(client);
  EXPECT_EQ(at.word<opcode::feof>(0), 77);
  const int64_t memory = at.word<opcode::malloc>(64);
  EXPECT_EQ(memory, reinterpret_cast<intptr_t>(block)) << "memory comes from the program's function";
  EXPECT_EQ(at.word<opcode::malloc>(65), 0);
  at.free(static_cast<uint64_t>(memory));
  at.free(static_cast<uint64_t>(memory));
  EXPECT_EQ(at.word<opcode::feof>(0), 77) << "what came before is served";
  EXPECT_EQ(freed, std::vector<void*>{block}) << "once";
  EXPECT_EQ(served.counts().refused, 2u) << "of the size, and of the second free";
  EXPECT_FALSE(served.override_libc(opcode::ferror, answer(1))) << "it runs";
}

TEST(llvm_service, gives_a_port_to_the_next_call_when_it_is_closed_by_hand) {
  host::device on;
  service served(on, {.ports = 1, .lanes = 1});
  served.start();
  uint32_t locks[1] = {};
  own_client<host::target> client(served.buffer(), locks, {1, 1});
  auto early = client.open<opcode::noop>();
  early.send([](auto*, uint32_t) {});
  early.close();
  EXPECT_EQ(libc<own_client<host::target>>(client).word<opcode::close_file>(0), -1);
  early.close();
  EXPECT_EQ(locks[0], 0u) << "a second close gives no port of others back";
}

TYPED_TEST(llvm_libc, stops_while_clients_call_and_another_service_goes_on) {
  constexpr uint32_t threads = 3;
  constexpr service_shape shape{
      .ports = 2, .lanes = 1, .servers = 2, .polls = 4, .sleep_ns = 100'000, .header = TypeParam::built_with};
  const service_limits limits{.directory = this->directory.path().string()};
  const layout wire{shape.ports, shape.lanes, shape.header};
  struct alignas(64) line {
    unsigned char bytes[64];
  };
  auto* const memory = this->on.template allocate_shared<line>(wire.size_bytes() / sizeof(line) + 1, "ports");
  auto first = std::make_unique<service>(this->on, shape, limits, service_policy{}, memory);
  first->start();
  TypeParam client(memory, shape.ports);
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> callers;
  for (uint32_t n = 0; n < threads; ++n)
    callers.emplace_back([&, n] {
      libc<TypeParam> at(client);
      const std::string name = "of " + std::to_string(n);
      while (!ends) {
        // Of several packets, and of one.
        if (at.template text<opcode::rename>({name.c_str(), name.c_str()}) != -1) ++wrong;
        if (at.template print<opcode::printf_to_stream>(12, "%s", variadic(false, name.c_str())) != -1) ++wrong;
        if (at.template word<opcode::malloc>(0) != 0) ++wrong;
        ++calls;
      }
    });
  while (calls < 50) std::this_thread::yield();
  first->stop();
  EXPECT_TRUE(first->join(uint64_t{60} * 1'000'000'000)) << "it does not wait for clients to stop";
  const uint64_t then = calls;
  // Those that wait now go on with the next.
  service second(this->on, shape, limits, service_policy{}, memory);
  second.start();
  while (calls < then + 50) std::this_thread::yield();
  ends = true;
  for (auto& one : callers) one.join();
  second.stop();
  EXPECT_TRUE(second.join(uint64_t{60} * 1'000'000'000));
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(first->counts().given_up + second.counts().given_up, 0u);
}

TEST(llvm_doorbell, is_rung_by_each_call_and_counts_those_that_are_not_done_with) {
  uint64_t count = 0;
  uint64_t mailbox = 0;
  host::device on;
  service_shape shape{.ports = 2, .lanes = 1, .polls = 1, .sleep_ns = 3'600'000'000'000, .header = revision::of_2026};
  shape.rings = {&count, &mailbox, 42};
  const auto load = [](uint64_t& word) {
    return host::target::atomic_ref<uint64_t, scope::system>(word).load(memory_order::acquire);
  };
  service host(on, shape, {.files = file_access::none});
  of_our_own<revision::of_2026> client(host.buffer(), shape.ports);
  {
    auto early = client.open<opcode::noop>();
    EXPECT_EQ(load(count), 1u);
    EXPECT_EQ(load(mailbox), 42u) << "the first of those that are open stores its event";
    early.send([](auto*, uint32_t) {});
  }
  EXPECT_EQ(load(count), 1u) << "the server has not closed it";
  mailbox = 0;
  auto second = client.open<opcode::noop>();
  EXPECT_EQ(load(count), 2u);
  EXPECT_EQ(load(mailbox), 0u) << "one that is not the first does not interrupt";
  second.send([](auto*, uint32_t) {});
  second.close();
  host.start();
  // Its thread sleeps for an hour between two looks: woken, as by a thread that the interrupt has woken, it looks now.
  while (load(count) != 0) {
    host.wake();
    std::this_thread::yield();
  }
  EXPECT_EQ(host.counts().calls, 2u);
  libc<of_our_own<revision::of_2026>> calls(client);
  std::atomic<bool> answered{false};
  std::thread interrupted([&] {
    while (!answered) {
      if (load(count) != 0) host.wake();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(calls.word<opcode::close_file>(1 << 10), -1);
  answered = true;
  interrupted.join();
  host.stop();
  EXPECT_TRUE(host.join());
  EXPECT_EQ(load(count), 0u);
}

TEST(llvm_service, refuses_settings_that_cannot_be) {
  const auto why = [](service_shape shape, service_limits limits = {}) {
    return service::check(shape, limits).why().line();
  };
  EXPECT_EQ(why({.ports = 0}), "llvm service(ports): range: 0; it may be 1 to 4096");
  EXPECT_EQ(why({.ports = 16385, .header = revision::of_2026}),
            "llvm service(ports): range: 16385; it may be 1 to 16384");
  uint64_t word = 0;
  EXPECT_EQ(why({.rings = {&word, &word, 1}}), "llvm service(rings): range: only clients of the revision of 2026 ring");
  EXPECT_EQ(why({.header = revision::of_2026, .rings = {&word, nullptr, 1}}).substr(0, 72),
            "llvm service(rings): range: a doorbell with a count needs a mailbox: LLV");
  EXPECT_EQ(why({.lanes = 65}), "llvm service(lanes): range: 65; it may be 1 to 64");
  EXPECT_EQ(why({.servers = 0}), "llvm service(servers): range: 0; it may be 1 to 1024");
  EXPECT_EQ(why({}, {.bound_bytes = 1}), "llvm service(bound_bytes): range: 1; it may be 256 to 1073741824");
  EXPECT_EQ(why({}, {.directory = "/no/such"}), "llvm service(directory): /no/such: No such file or directory");
  EXPECT_TRUE(service::check({}, {}));
}

}  // namespace
}  // namespace heddle::rpc::llvm::tests::llvm_test
