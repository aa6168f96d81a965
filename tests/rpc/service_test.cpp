// The service library on host threads: every call, what it refuses, and how a service starts, waits and stops.
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/service/c.h>
#include <heddle/rpc/service/server.h>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::rpc::tests::service_test {
namespace {

using service = basic_service<host::target, host::device, checked>;
using client = service::client_type;
namespace fs = std::filesystem;

/// A directory that is gone after the test.
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
  std::string path_ = (fs::temp_directory_path() / "heddle-service-XXXXXX").string();
};

std::string read_file(const fs::path& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
}
void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// A service that runs; the test is its client, as any thread may be.
class running {
 public:
  explicit running(const service_limits& limits = {}, service_shape shape = {.ports = 4, .lanes = 1})
      : host(on_, shape, limits) {}
  const client& at() {
    host.start();
    return client_;
  }

 private:
  host::device on_;

 public:
  service host;

 private:
  client client_ = host.client();
};

// -- files --------------------------------------------------------------------------------------------------------------------

class services_files : public testing::Test {
 protected:
  own_directory directory;
  service_limits in_directory() const { return {.bound_bytes = 256, .directory = directory.path().string()}; }
};

TEST_F(services_files, are_written_read_and_sought_in_pieces_of_any_size) {
  running run(in_directory());
  const client& at = run.at();
  std::string text;
  for (uint32_t n = 0; text.size() < 5000; ++n) text += std::to_string(n) + ",";
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{31}, uint64_t{32}, uint64_t{33}, uint64_t{231},
                              uint64_t{232}, uint64_t{233}, uint64_t{1000}, uint64_t{5000}}) {
    const file opened{at.open("some.txt", "w+").value};
    const service_answer written = at.write(opened, text.data(), size);
    EXPECT_TRUE(written.ok());
    EXPECT_EQ(written.value, size);
    EXPECT_EQ(at.seek(opened, 0, seek_origin::end).value, size);
    EXPECT_EQ(at.seek(opened, 0, seek_origin::start).value, 0u);
    std::string back(5100, '?');
    const service_answer taken = at.read(opened, back.data(), back.size());
    EXPECT_TRUE(taken.ok());
    EXPECT_EQ(taken.value, size);
    EXPECT_EQ(back.substr(0, size), text.substr(0, size));
    EXPECT_EQ(back.substr(size, 1), "?") << "more was written than was read";
    EXPECT_TRUE(at.close(opened).ok());
    EXPECT_EQ(read_file(directory.path() / "some.txt"), text.substr(0, size));
  }
  EXPECT_EQ(run.host.handlers().files().open_count(), 0u);
}

TEST_F(services_files, open_in_each_mode_of_fopen) {
  running run(in_directory());
  const client& at = run.at();
  write_file(directory.path() / "there", "abc");
  const auto try_mode = [&](const char* path, const char* mode) {
    const service_answer opened = at.open(path, mode);
    if (opened.ok()) at.close(file{opened.value});
    return opened;
  };
  EXPECT_TRUE(try_mode("there", "rb").ok());
  EXPECT_TRUE(try_mode("there", "r+").ok());
  EXPECT_EQ(try_mode("absent", "r").error, ENOENT);
  EXPECT_TRUE(try_mode("there", "ab+").ok());
  EXPECT_EQ(read_file(directory.path() / "there"), "abc");
  EXPECT_EQ(try_mode("there", "wx").error, EEXIST);
  EXPECT_TRUE(try_mode("there", "w").ok());
  EXPECT_EQ(read_file(directory.path() / "there"), "");
  for (const char* const mode : {"", "z", "rw", "r++", "rx", "w+q"})
    EXPECT_EQ(try_mode("there", mode).status, service_status::malformed) << mode;

  const file appended{at.open("there", "a").value};
  at.write(appended, "1", 1);
  at.close(appended);
  const file again{at.open("there", "a").value};
  at.write(again, "2", 1);
  at.close(again);
  EXPECT_EQ(read_file(directory.path() / "there"), "12");
}

TEST_F(services_files, tell_of_their_end_and_of_failures_and_take_a_character_back) {
  running run(in_directory());
  const client& at = run.at();
  write_file(directory.path() / "two", "ab");
  const file opened{at.open("two", "r").value};
  char bytes[4] = {};
  EXPECT_EQ(at.read(opened, bytes, 2).value, 2u);
  EXPECT_EQ(at.at_end(opened).value, 0u);
  EXPECT_EQ(at.read(opened, bytes, 1).value, 0u);
  EXPECT_EQ(at.at_end(opened).value, 1u);
  EXPECT_EQ(at.unread(opened, 'z').value, uint64_t{'z'});
  EXPECT_EQ(at.at_end(opened).value, 0u);
  EXPECT_EQ(at.read(opened, bytes, 4).value, 1u);
  EXPECT_EQ(bytes[0], 'z');
  EXPECT_EQ(at.has_failed(opened).value, 0u);
  EXPECT_FALSE(at.write(opened, "x", 1).ok());
  EXPECT_EQ(at.has_failed(opened).value, 1u);
  EXPECT_TRUE(at.clear(opened).ok());
  EXPECT_EQ(at.has_failed(opened).value + at.at_end(opened).value, 0u);
  EXPECT_EQ(at.at_end(file{99}).status, service_status::bad_handle);
  EXPECT_EQ(at.at_end(standard_input).status, service_status::refused) << "nothing has allowed it";
  EXPECT_EQ(at.clear(standard_output).status, service_status::refused) << "its flags are the host's";
  EXPECT_EQ(at.unread(standard_error, 'x').status, service_status::refused);
  EXPECT_TRUE(at.has_failed(standard_output).ok());
  testing::internal::CaptureStdout();
  EXPECT_EQ(at.puts("a line, 100%").value, 13u);
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line, 100%\n");
}

TEST_F(services_files, are_removed_and_renamed) {
  running run(in_directory());
  const client& at = run.at();
  fs::create_directory(directory.path() / "below");
  write_file(directory.path() / "one", "1");
  EXPECT_TRUE(at.rename("one", "below/two").ok());
  EXPECT_EQ(read_file(directory.path() / "below" / "two"), "1");
  EXPECT_EQ(at.rename("one", "three").error, ENOENT);
  EXPECT_TRUE(at.remove("below/two").ok());
  EXPECT_EQ(at.remove("below/two").error, ENOENT);
  EXPECT_FALSE(fs::exists(directory.path() / "below" / "two"));
}

TEST_F(services_files, lie_below_the_directory_that_the_host_allows) {
  own_directory outside;
  write_file(outside.path() / "secret", "s");
  fs::create_symlink(outside.path() / "secret", directory.path() / "link");
  fs::create_directory_symlink(outside.path(), directory.path() / "folder");
  running run(in_directory());
  const client& at = run.at();
  const std::string absolute = (outside.path() / "secret").string();
  const std::string climbing = "../" + outside.path().filename().string() + "/secret";
  for (const std::string& path : {absolute, climbing, std::string("link"), std::string("folder/secret")}) {
    EXPECT_EQ(at.open(path.c_str(), "r").status, service_status::refused) << path;
    EXPECT_EQ(at.open(path.c_str(), "w").status, service_status::refused) << path;
  }
  for (const std::string& path : {absolute, climbing, std::string("folder/secret")}) {
    EXPECT_EQ(at.remove(path.c_str()).status, service_status::refused) << path;
    EXPECT_EQ(at.rename(path.c_str(), "mine").status, service_status::refused) << path;
  }
  write_file(directory.path() / "mine", "m");
  EXPECT_FALSE(at.rename("mine", absolute.c_str()).ok());
  EXPECT_EQ(read_file(outside.path() / "secret"), "s");
  EXPECT_EQ(read_file(directory.path() / "mine"), "m");
}

TEST_F(services_files, are_everywhere_or_nowhere_where_the_host_says_so) {
  own_directory outside;
  const std::string absolute = (outside.path() / "file").string();
  {
    running run({.files = file_access::everywhere, .directory = directory.path().string()});
    const client& at = run.at();
    const service_answer opened = at.open(absolute.c_str(), "w");
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE(at.close(file{opened.value}).ok());
    EXPECT_TRUE(at.open("relative", "w").ok());
    EXPECT_TRUE(fs::exists(directory.path() / "relative"));
    EXPECT_TRUE(at.remove(absolute.c_str()).ok());
  }
  running run({.files = file_access::none});
  EXPECT_EQ(run.at().open("relative", "w").status, service_status::refused);
  running unnamed;
  EXPECT_EQ(unnamed.at().open("relative", "w").status, service_status::refused) << "no directory is named";
  char byte = 0;
  EXPECT_EQ(unnamed.at().read(standard_input, &byte, 1).status, service_status::refused) << "nothing has allowed it";
  EXPECT_EQ(run.at().remove("relative").status, service_status::refused);
  EXPECT_TRUE(run.at().flush(standard_output).ok());
}

TEST_F(services_files, have_handles_that_name_one_file_only) {
  running run({.directory = directory.path().string(), .open_files = 2});
  const client& at = run.at();
  const file first{at.open("1", "w").value};
  const file second{at.open("2", "w").value};
  EXPECT_EQ(at.open("3", "w").status, service_status::no_memory);
  EXPECT_TRUE(at.close(first).ok());
  EXPECT_EQ(at.close(first).status, service_status::bad_handle);
  const file third{at.open("3", "w").value};
  EXPECT_NE(third.handle, first.handle) << "a handle is given twice";
  EXPECT_EQ(at.write(first, "x", 1).status, service_status::bad_handle);
  for (const uint64_t wild : {uint64_t{99}, ~uint64_t{0}, uint64_t{1} << 32 | 1, second.handle + (uint64_t{1} << 40)}) {
    EXPECT_EQ(at.write(file{wild}, "x", 1).status, service_status::bad_handle) << wild;
    EXPECT_EQ(at.seek(file{wild}, 0, seek_origin::start).status, service_status::bad_handle) << wild;
    EXPECT_EQ(at.close(file{wild}).status, service_status::bad_handle) << wild;
  }
  for (const file standard : {standard_input, standard_output, standard_error}) {
    EXPECT_EQ(at.close(standard).status, service_status::bad_handle);
    EXPECT_EQ(at.seek(standard, 1 << 30, seek_origin::start).status, service_status::refused);
  }
}

TEST_F(services_files, report_what_the_host_says) {
  running run(in_directory());
  const client& at = run.at();
  write_file(directory.path() / "file", "abc");
  const file opened{at.open("file", "r").value};
  EXPECT_EQ(at.write(opened, "x", 1).status, service_status::failed);
  EXPECT_EQ(at.seek(opened, -1, seek_origin::start).error, EINVAL);
  EXPECT_EQ(at.open("file/below", "r").error, ENOTDIR);
}

TEST_F(services_files, grow_no_further_than_the_host_allows) {
  service_limits limits = in_directory();
  limits.file_bytes = 10;
  running run(limits);
  const client& at = run.at();
  const file opened{at.open("file", "w").value};
  EXPECT_EQ(at.write(opened, "12345678", 8).status, service_status::ok);
  EXPECT_EQ(at.write(opened, "90a", 3).error, EFBIG);
  EXPECT_EQ(at.print_to(opened, "%s", "90a").error, EFBIG);
  EXPECT_EQ(at.write(opened, "90", 2).status, service_status::ok);
  EXPECT_EQ(at.seek(opened, 1000, seek_origin::start).status, service_status::ok);
  EXPECT_EQ(at.write(opened, "b", 1).error, EFBIG);
  EXPECT_EQ(at.close(opened).status, service_status::ok);
  const file longer{at.open("file", "a").value};
  EXPECT_EQ(at.write(longer, "b", 1).error, EFBIG);
  EXPECT_EQ(at.close(longer).status, service_status::ok);
  EXPECT_EQ(read_file(directory.path() / "file"), "1234567890");
}

TEST_F(services_files, grow_no_further_through_any_number_of_handles) {
  service_limits limits = in_directory();
  limits.file_bytes = 4096;
  limits.bound_bytes = 4096;
  running run(limits, {.ports = 4, .lanes = 1, .servers = 2});
  const client& at = run.at();
  const std::string text(3000, 'a');
  const auto append = [&] {
    for (uint32_t n = 0; n < 16; ++n) {
      const file opened{at.open("file", "a").value};
      const service_answer written = at.write(opened, text.data(), text.size());
      EXPECT_TRUE(written.ok() || written.error == EFBIG);
      EXPECT_EQ(at.print_to(opened, "%s", "b").ok(), fs::file_size(directory.path() / "file") <= 4096);
    }
  };
  std::thread beside(append);
  append();
  beside.join();
  EXPECT_LE(fs::file_size(directory.path() / "file"), 4096u);
}

TEST_F(services_files, that_are_pipes_are_refused_at_once) {
  ASSERT_EQ(mkfifo((directory.path() / "pipe").c_str(), 0600), 0);
  running run(in_directory());
  // Any of them would wait for the other end of the pipe.
  for (const char* const mode : {"r", "w", "a", "r+"}) EXPECT_FALSE(run.at().open("pipe", mode).ok()) << mode;
  EXPECT_EQ(run.at().open("pipe", "r").status, service_status::refused);
  EXPECT_EQ(run.at().open(".", "r").status, service_status::refused);
}

// -- posts --------------------------------------------------------------------------------------------------------------------

TEST_F(services_files, are_written_by_posts_in_their_order) {
  running run(in_directory(), {.ports = 4, .lanes = 1, .servers = 3});
  const client& at = run.at();
  const file opened{at.open("posted", "w").value};
  std::string expected;
  for (uint32_t n = 0; n < 300; ++n) {
    const std::string piece(n, static_cast<char>('a' + n % 26));
    expected += piece;
    const service_answer posted = at.post_write(opened, piece.data(), piece.size());
    ASSERT_EQ(posted.status, service_status::ok);
    ASSERT_EQ(posted.value, piece.size());
    if (n % 7 != 0) continue;
    expected += std::to_string(n) + " times\n";
    ASSERT_TRUE(at.post_print_to(opened, "%u %s\n", n, "times").ok());
  }
  ASSERT_TRUE(at.settle().ok());
  EXPECT_EQ(read_file(directory.path() / "posted"), expected) << "all of it, behind settle()";
  EXPECT_EQ(run.host.counts().posts_failed, 0u);
}

TEST(services_posts, that_cannot_be_carried_out_are_counted) {
  running run({.bound_bytes = 256});
  const client& at = run.at();
  EXPECT_TRUE(at.post_write(file{77}, "text", 4).ok()) << "nothing learns it";
  EXPECT_TRUE(at.post_print("%d\n", "no number").ok());
  EXPECT_TRUE(at.post_call<void(int)>(5, 1).ok());
  EXPECT_TRUE(at.settle().ok());
  EXPECT_EQ(run.host.counts().posts_failed, 3u);
  const std::string large(300, 'x');
  EXPECT_EQ(at.post_puts(large.c_str()).status, service_status::too_large) << "known before it is sent";
  EXPECT_EQ(at.clock().status, service_status::ok) << "the service goes on";
  EXPECT_EQ(run.host.counts().posts_failed, 3u);
}

TEST(services_posts, before_a_stop_are_carried_out_and_behind_it_lost_with_a_word) {
  running run;
  std::atomic<int> sum{0};
  run.host.add<void(int)>(1, [&](int value) { sum += value; }).value();
  const client& at = run.at();
  for (int n = 1; n <= 100; ++n) ASSERT_TRUE(at.post_call<void(int)>(1, n).ok());
  run.host.stop();
  EXPECT_TRUE(run.host.join(5'000'000'000));
  EXPECT_EQ(sum, 5050);
  (void)at.post_call<void(int)>(1, 1);
  EXPECT_EQ(at.settle().status, service_status::ended);
  EXPECT_EQ(at.post_call<void(int)>(1, 1).status, service_status::ended);
  EXPECT_EQ(sum, 5050);
}

// -- settings -----------------------------------------------------------------------------------------------------------------

std::string refusal_of(service_shape shape, const service_limits& limits = {}) {
  host::device on;
  const result<void> checked_settings = service::check(on, shape, limits);
  return checked_settings ? "" : checked_settings.why().line();
}

TEST(services_settings, are_refused_with_what_they_may_be) {
  EXPECT_EQ(refusal_of({.ports = 4, .lanes = 1}), "");
  EXPECT_EQ(refusal_of({.ports = 0}), "service(ports): range: 0; it may be 1 to 16384");
  EXPECT_EQ(refusal_of({.ports = max_ports + 1}), "service(ports): range: 16385; it may be 1 to 16384");
  EXPECT_EQ(refusal_of({.stage_bytes = max_stage_bytes + 1}),
            "service(stage_bytes): range: 16777217; it may be 0 to 16777216");
  EXPECT_EQ(refusal_of({.servers = 0}), "service(servers): range: 0; it may be 1 to 1024");
  EXPECT_NE(refusal_of({.lanes = 65}).find("service(lanes): range: 65"), std::string::npos)
      << refusal_of({.lanes = 65});
  for (const uint64_t bound : {uint64_t{0}, uint64_t{248}, uint64_t{260}, uint64_t{1} << 31})
    EXPECT_EQ(refusal_of({}, {.bound_bytes = bound}), "service(bound_bytes): range: " + std::to_string(bound) +
                                                          "; it may be a multiple of 8, 256 to 1073741824");
  EXPECT_EQ(refusal_of({}, {.directory = "/nowhere/at/all"}),
            "service(directory): /nowhere/at/all: No such file or directory");
  EXPECT_EQ(refusal_of({}, {.files = file_access::none, .directory = "/nowhere/at/all"}), "");
}

TEST(services_placement, puts_threads_where_it_says_and_refuses_what_is_not_there) {
  const std::vector<uint32_t> own = own_processors().value();
  const uint32_t last = own.back();
  service_shape shape{.ports = 4, .lanes = 1, .servers = 2};
  shape.placement.processors = {last};
  running run({}, shape);
  std::vector<uint32_t> seen;
  run.host.add<void()>(1, [&] { seen = own_processors().value(); }).value();
  EXPECT_TRUE(run.at().call<void()>(1).ok());
  EXPECT_EQ(seen, std::vector<uint32_t>{last});
  EXPECT_EQ(own_processors().value(), own) << "the thread that makes the service stays where it was";

  const std::string mine = "this process may run on " + detail::list_of(own);
  shape.placement.processors = {last, 1023};
  EXPECT_EQ(refusal_of(shape), "placement(processors): 1023: " + mine) << "of the second thread";
  shape.servers = 1;
  EXPECT_EQ(refusal_of(shape), "") << "there is no second thread";
  shape.placement = {.numa_node = 1000};
  EXPECT_EQ(refusal_of(shape), "placement(numa_node): 1000: this computer names no such node");
  EXPECT_EQ(detail::parsed_processors("0-2,8,10-11"), (std::vector<uint32_t>{0, 1, 2, 8, 10, 11}));
  if (!processors_of_node(0)) GTEST_SKIP() << "this computer names no nodes";
  shape.placement = {.numa_node = 0};
  EXPECT_EQ(refusal_of(shape), "");
  const std::vector<uint32_t> of_node = processors_of(shape.placement, 0).value();
  for (const uint32_t n : of_node)
    EXPECT_NE(std::find(own.begin(), own.end(), n), own.end()) << "those that this process may use";
}

/// A machine whose clients can wake no thread.
struct napping_target : host::target {
  static constexpr bool can_wake = false;
  static void nap(uint32_t n, uint64_t most_ns) {
    naps += 1;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<uint64_t>(1000 + n, most_ns)));
  }
  static inline std::atomic<uint32_t> naps{0};
};

TEST(services_naps, ring_where_a_thread_can_be_woken_and_nap_where_none_can) {
  const auto rings_of = [](auto machine) {
    using target = typename decltype(machine)::type;
    host::device on;
    basic_service<target, host::device> host(on, {.ports = 2, .lanes = 1, .polls = 0});
    host.start();
    for (uint32_t call = 0; call < 20; ++call) {
      EXPECT_TRUE(host.client().clock().ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const auto* const bell = static_cast<const uint32_t*>(host.where().shared);
    return __atomic_load_n(bell + layout::doorbell_offset() / sizeof *bell, __ATOMIC_RELAXED);
  };
  EXPECT_EQ(rings_of(std::type_identity<host::target>{}), 20u);
  EXPECT_EQ(napping_target::naps, 0u);
  EXPECT_EQ(rings_of(std::type_identity<napping_target>{}), 0u);
  EXPECT_GT(napping_target::naps, 0u);
}

TEST(services_answers, may_lie_in_memory_of_the_device) {
  service_shape shape{.ports = 4, .lanes = 1, .stage_bytes = 600};
  shape.answers = answer_memory::device;
  running run({.bound_bytes = 4096}, shape);
  const auto sum_of = [](span<uint64_t> words) {
    uint64_t sum = 0;
    for (uint64_t n = 0; n < words.count; ++n) sum += std::exchange(words.data[n], ~words.data[n]);
    return sum;
  };
  run.host.add<uint64_t(span<uint64_t>)>(1, sum_of).value();
  EXPECT_NE(run.host.where().answers, nullptr);
  const client& at = run.at();
  for (uint64_t count = 0; count < 300; count += 37) {
    std::vector<uint64_t> words(count, count);
    const auto given = at.call<uint64_t(span<uint64_t>)>(1, span{words.data(), count});
    ASSERT_TRUE(given.ok());
    EXPECT_EQ(given.result, count * count);
    for (const uint64_t word : words) ASSERT_EQ(word, ~count);
  }
}

TEST(services_settings_death_test, end_the_program_when_a_service_is_made_with_them) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  host::device on;
  EXPECT_DEATH(service(on, {.ports = 0}), "^heddle: service\\(ports\\): range: 0; it may be 1 to 16384\n$");
}

// -- printing -----------------------------------------------------------------------------------------------------------------

std::optional<std::string> printed(std::string_view format, std::vector<print_argument> arguments = {},
                                   uint64_t bound_bytes = 1 << 20) {
  return formatted(format, arguments, bound_bytes);
}
print_argument number(int64_t value, uint32_t size = 4) {
  return {print_kind::signed_number, size, static_cast<uint64_t>(value), std::nullopt};
}
print_argument floating(double value) {
  print_argument argument{print_kind::floating, 8, 0, std::nullopt};
  std::memcpy(&argument.value, &value, sizeof value);
  return argument;
}
print_argument text(std::string_view value) { return {print_kind::text, 0, value.size(), value}; }

TEST_F(services_files, are_printed_to_as_printf_does) {
  running run(in_directory());
  const client& at = run.at();
  const file opened{at.open("out", "w").value};
  const int64_t least = std::numeric_limits<int64_t>::min();
  char expected[400];
  const int size = std::snprintf(expected, sizeof expected, "%d %5u|%-6x|%#o %c %s %10.3f %e %lld %%\n", -3, 7u, 0xabcu,
                                 8u, 'q', "text", 2.5, 1e10, static_cast<long long>(least));
  const service_answer answer = at.print_to(opened, "%d %5u|%-6x|%#o %c %s %10.3f %e %lld %%\n", -3, 7u, 0xabcu, 8u,
                                            'q', "text", 2.5, 1e10, least);
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(answer.value, static_cast<uint64_t>(size));
  EXPECT_TRUE(at.print_to(opened, "%s", static_cast<const char*>(nullptr)).ok());
  EXPECT_EQ(at.print_to(opened, "%d", "no number").status, service_status::malformed);
  EXPECT_TRUE(at.close(opened).ok());
  EXPECT_EQ(read_file(directory.path() / "out"), expected + std::string("(null)"));
}

// -- the C library's names --------------------------------------------------------------------------------------------------------

/// A service of the selected machine, whose client is what the names of C take.
class services_in_c : public services_files {
 protected:
  services_in_c() { run_.start(); }
  /// What a file in the directory holds behind the printing.
  template <typename Print>
  std::string file_after(Print print) {
    heddle_FILE* const out = heddle_fopen(host, "out", "w");
    print(out);
    EXPECT_EQ(heddle_fclose(host, out), 0);
    return read_file(directory.path() / "out");
  }

 private:
  host::device on_;
  basic_service<host::target, host::device> run_{on_,
                                                 {.ports = 4, .lanes = 1, .memory_bytes = 4096},
                                                 {.directory = directory.path().string(), .environment = {"PATH"}}};

 protected:
  heddle_host host = run_.client();
};

/// Through a va_list, as a program's own printing function does it.
int printed_by_list(const heddle_host& host, heddle_FILE* to, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int bytes = heddle_vfprintf(host, to, format, from);
  va_end(from);
  return bytes;
}

TEST_F(services_in_c, print_each_argument_by_its_conversion) {
  char expected[1000];
  const int size =
      std::snprintf(expected, sizeof expected,
                    "%d %i %u %x %X %o|%hhd %hd %hhu %hu|%ld %lu %lld %llx|%jd %zu %td|%c%5c|%s %-6.2s|%p|%f %.2e %g "
                    "%a %Lf|%*d %-*.*f%%",
                    -1, 2, 3u, 0xabu, 0xcdu, 8u, 300, -300, 200, 70000, -7L, 8UL, -9LL, 0xfedcba9876543210ULL,
                    intmax_t{-10}, size_t{11}, ptrdiff_t{-12}, 'q', 'r', "text", "cut off", static_cast<void*>(this),
                    0.5, 1e10, 2.5, 1.0, 1.25L, 6, 42, 9, 2, 3.14159);
  const std::string here = file_after([&](heddle_FILE* out) {
    EXPECT_EQ(heddle_fprintf(host, out,
                             "%d %i %u %x %X %o|%hhd %hd %hhu %hu|%ld %lu %lld %llx|%jd %zu %td|%c%5c|%s %-6.2s|%p|%f "
                             "%.2e %g %a %Lf|%*d %-*.*f%%",
                             -1, 2, 3u, 0xabu, 0xcdu, 8u, 300, -300, 200, 70000, -7L, 8UL, -9LL, 0xfedcba9876543210ULL,
                             intmax_t{-10}, size_t{11}, ptrdiff_t{-12}, 'q', 'r', "text", "cut off",
                             static_cast<void*>(this), 0.5, 1e10, 2.5, 1.0, 1.25L, 6, 42, 9, 2, 3.14159),
              size);
  });
  EXPECT_EQ(here, expected);
}

TEST_F(services_in_c, print_nothing_where_a_format_cannot_be_told) {
  const std::string nothing = file_after([&](heddle_FILE* out) {
    int stored = 0;
    EXPECT_EQ(printed_by_list(host, out, "%n", &stored), -1);
    EXPECT_EQ(printed_by_list(host, out, "%y", 1), -1);
    EXPECT_EQ(printed_by_list(host, out, "ends in %"), -1);
    std::string many;
    for (uint32_t n = 0; n <= heddle_printf_arguments_max; ++n) many += "%d";
    EXPECT_EQ(printed_by_list(host, out, many.c_str(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
              -1);
    EXPECT_EQ(printed_by_list(host, out, many.c_str() + 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
              32);
    EXPECT_EQ(printed_by_list(host, out, "%s", static_cast<const char*>(nullptr)), 6);
  });
  EXPECT_EQ(nothing, std::string(32, '0') + "(null)");
}

TEST_F(services_in_c, read_write_and_seek_in_files) {
  EXPECT_EQ(heddle_fopen(host, "nothing", "r"), nullptr);
  heddle_FILE* const file = heddle_fopen(host, "lines", "w+");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(heddle_fputs(host, "first\nsecond\n", file), 0);
  EXPECT_EQ(heddle_fwrite(host, "abcdef", 3, 2, file), 2U);
  EXPECT_EQ(heddle_ftell(host, file), 19);
  char none = 'x';
  EXPECT_EQ(heddle_fgets(host, &none, 1, file), &none) << "room for the end alone";
  EXPECT_EQ(none, 0);
  EXPECT_EQ(heddle_fgetc(host, file), -1);
  EXPECT_EQ(heddle_ftell(host, file), 19);
  EXPECT_EQ(heddle_feof(host, file), 1) << "to be told where it stands changes nothing";
  EXPECT_EQ(heddle_fseek(host, file, 0, 0), 0);
  EXPECT_EQ(heddle_fseek(host, file, 0, 3), -1);
  char line[10];
  EXPECT_STREQ(heddle_fgets(host, line, sizeof line, file), "first\n");
  EXPECT_STREQ(heddle_fgets(host, line, 4, file), "sec") << "as much as there is room for";
  EXPECT_EQ(heddle_fgetc(host, file), 'o');
  EXPECT_EQ(heddle_ungetc(host, 'O', file), 'O');
  EXPECT_STREQ(heddle_fgets(host, line, sizeof line, file), "Ond\n");
  char rest[8] = {};
  EXPECT_EQ(heddle_fread(host, rest, 4, 2, file), 1U) << "whole elements";
  EXPECT_STREQ(rest, "abcdef");
  EXPECT_EQ(heddle_fgets(host, line, sizeof line, file), nullptr);
  EXPECT_EQ(heddle_feof(host, file), 1);
  EXPECT_EQ(heddle_ferror(host, file), 0);
  heddle_clearerr(host, file);
  EXPECT_EQ(heddle_feof(host, file), 0);
  EXPECT_EQ(heddle_fread(host, rest, 0, 2, file) + heddle_fwrite(host, rest, SIZE_MAX, 2, file), 0U);
  EXPECT_EQ(heddle_fflush(host, file), 0);
  EXPECT_EQ(heddle_fclose(host, file), 0);
  EXPECT_EQ(heddle_fclose(host, file), -1) << "it is closed";
  EXPECT_EQ(heddle_fclose(host, nullptr), -1);
  EXPECT_EQ(heddle_rename(host, "lines", "moved"), 0);
  EXPECT_EQ(heddle_remove(host, "lines"), -1);
  EXPECT_EQ(heddle_remove(host, "moved"), 0);
}

TEST_F(services_in_c, reach_memory_the_environment_and_the_clock) {
  auto* const block = static_cast<char*>(heddle_malloc(host, 100));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(heddle_malloc(host, 1 << 20), nullptr);
  heddle_free(host, block);
  char value[4096];
  EXPECT_STREQ(heddle_getenv(host, "PATH", value, sizeof value), getenv("PATH"));
  EXPECT_EQ(heddle_getenv(host, "PATH", value, 1), nullptr) << "it does not fit";
  EXPECT_EQ(heddle_getenv(host, "HOME", value, sizeof value), nullptr) << "it is not allowed";
  EXPECT_GT(heddle_clock_ns(host), 0U);
  testing::internal::CaptureStdout();
  EXPECT_EQ(heddle_puts(host, "to the standard output"), 0);
  EXPECT_EQ(heddle_printf(host, "%d\n", 5), 2);
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "to the standard output\n5\n");
}

TEST(services_print, takes_each_argument_as_what_it_is) {
  EXPECT_EQ(printed("%u", {number(-1)}), "4294967295");
  EXPECT_EQ(printed("%u", {number(-1, 8)}), "18446744073709551615");
  EXPECT_EQ(printed("%hhx", {number(-1, 1)}), "ff");
  EXPECT_EQ(printed("%lld", {number(-5, 2)}), "-5");
  EXPECT_EQ(printed("%+.2f", {floating(1.0)}), "+1.00");
  EXPECT_EQ(printed("%*d|%-*d|%.*f", {number(4), number(1), number(4), number(2), number(1), floating(0.25)}),
            "   1|2   |0.2");
  EXPECT_EQ(printed("%*d|", {number(-4), number(1)}), "1   |");
  EXPECT_EQ(printed("%*s|%-*d|", {number(-1), text(""), number(-1), number(7)}), " |7|");
  EXPECT_EQ(printed("%b|%#B|%Lf", {number(5), number(6), floating(0.5)}), "101|0B110|0.500000");
  EXPECT_EQ(printed("%.3s|%5s|%-5s|", {text("abcdef"), text("x"), text("y")}), "abc|    x|y    |");
  EXPECT_EQ(printed("%s", {text(std::string_view("a\0b", 3))}), std::string("a\0b", 3));
  EXPECT_EQ(printed("100%%"), "100%");
  EXPECT_EQ(printed("%f", {floating(std::numeric_limits<double>::max())})->size(), 316u);
}

TEST(services_print, refuses_what_printf_would_take_on_trust) {
  EXPECT_FALSE(printed("%n", {number(0)}));
  EXPECT_FALSE(printed("%s", {number(4096)})) << "a number is no address";
  EXPECT_FALSE(printed("%d", {text("x")}));
  EXPECT_FALSE(printed("%f", {number(1)}));
  EXPECT_FALSE(printed("%d", {floating(1)}));
  EXPECT_FALSE(printed("%d"));
  EXPECT_FALSE(printed("%d %d", {number(1)}));
  EXPECT_FALSE(printed("%d", {number(1), number(2)})) << "one too many";
  EXPECT_FALSE(printed("%"));
  EXPECT_FALSE(printed("%-"));
  EXPECT_FALSE(printed("%y", {number(1)}));
  EXPECT_FALSE(printed("%99999d", {number(1)}));
  EXPECT_FALSE(printed("%.99999999999999999999d", {number(1)}));
  EXPECT_FALSE(printed("%*d", {number(1 << 30), number(1)}));
  EXPECT_FALSE(printed("%4000d", {number(1)}, 100)) << "above the bound";
  EXPECT_TRUE(printed("%4000d", {number(1)}, 4000));
}

// -- host functions -----------------------------------------------------------------------------------------------------------

struct pair_of_floats {
  float a;
  double b;
};

TEST(services_call, carries_values_spans_and_texts_both_ways) {
  running run;
  run.host
      .add<double(pair_of_floats, span<const uint16_t>, span<uint64_t>, const char*)>(
          "all",
          [](pair_of_floats pair, span<const uint16_t> in, span<uint64_t> both, const char* text) {
            double sum = pair.a + pair.b + static_cast<double>(std::strlen(text));
            for (uint64_t n = 0; n < in.count; ++n) sum += in.data[n];
            for (uint64_t n = 0; n < both.count; ++n) both.data[n] *= 2;
            return sum;
          })
      .value();
  const client& at = run.at();
  const uint16_t in[] = {1, 2, 3};
  for (const uint64_t count : std::initializer_list<uint64_t>{0, 1, 7, 100}) {
    std::vector<uint64_t> both(count + 1, 21);
    const auto given = at.call<double(pair_of_floats, span<const uint16_t>, span<uint64_t>, const char*)>(
        named("all"), pair_of_floats{0.5f, 2.0}, span{in, 3}, span{both.data(), count}, "four");
    ASSERT_TRUE(given.ok());
    EXPECT_EQ(given.result, 12.5);
    for (uint64_t n = 0; n < count; ++n) EXPECT_EQ(both[n], 42u);
    EXPECT_EQ(both[count], 21u);
  }
}

TEST(services_call, carries_nothing_and_null) {
  running run;
  int called = 0;
  run.host.add<void()>(7, [&called] { ++called; }).value();
  run.host
      .add<bool(span<const int>, span<int>, const char*)>(
          8, [](span<const int> a, span<int> b,
                const char* c) { return a.data == nullptr && b.data == nullptr && c == nullptr; })
      .value();
  const client& at = run.at();
  EXPECT_TRUE(at.call<void()>(7).ok());
  EXPECT_EQ(called, 1);
  const auto given = at.call<bool(span<const int>, span<int>, const char*)>(8, span<const int>{}, span<int>{}, nullptr);
  EXPECT_TRUE(given.ok() && given.result);
}

TEST(services_call, refuses_what_is_not_registered_or_not_so) {
  running run({.bound_bytes = 256});
  ASSERT_TRUE(run.host.add<int(int)>("one", [](int n) { return n; }));
  EXPECT_FALSE(run.host.add<int(int)>("one", [](int n) { return n; })) << "a name is taken twice";
  ASSERT_TRUE(run.host.add<int(int)>(1, [](int n) { return n; }));
  EXPECT_EQ(run.host.add<int(int)>(1, [](int n) { return n; }).why().name, "taken");
  EXPECT_EQ(run.host.add<int(int)>(~uint64_t{0}, [](int n) { return n; }).why().name, "range");
  ASSERT_TRUE(run.host.add<void(span<char>)>("grows", [](span<char>) {}));
  ASSERT_TRUE(run.host.add<int()>("throws", []() -> int { throw std::runtime_error("on purpose"); }));
  const client& at = run.at();
  EXPECT_EQ(run.host.add<int(int)>("late", [](int n) { return n; }).why().name, "started");
  EXPECT_EQ(at.call<int(int)>(named("two"), 1).answer.status, service_status::unhandled);
  EXPECT_EQ(at.call<int(int, int)>(named("one"), 1, 1).answer.status, service_status::wrong_signature);
  EXPECT_EQ(at.call<int(unsigned)>(named("one"), 1).answer.status, service_status::wrong_signature);
  EXPECT_EQ(at.call<void(int)>(named("one"), 1).answer.status, service_status::wrong_signature);
  EXPECT_EQ(at.call<int()>(named("throws")).answer.status, service_status::failed);
  std::vector<char> many(1000);
  EXPECT_EQ(at.call<void(span<char>)>(named("grows"), span{many.data(), 1000}).answer.status,
            service_status::too_large);
  EXPECT_EQ(at.call<void(span<char>)>(named("grows"), span{many.data(), ~uint64_t{0}}).answer.status,
            service_status::too_large);
  // The service goes on.
  EXPECT_EQ(at.call<int(int)>(named("one"), 5).result, 5);
}

TEST(services_call, of_what_throws_anything_has_no_answer_and_the_service_goes_on) {
  std::vector<std::string> lines;
  running run({.on_throw = [&](const std::string& line) { lines.push_back(line); }});
  ASSERT_TRUE(run.host.add<int(int)>(0, [](int) -> int { throw 42; }));
  ASSERT_TRUE(run.host.on(user_opcode(0), [](service::port& opened) {
    opened.recv([](packet&, uint32_t) {});
    throw std::runtime_error("on purpose");
  }));
  ASSERT_TRUE(run.host.on(user_opcode(1), [](service::port&) { throw 43; }));
  const client& at = run.at();
  for (uint32_t n = 0; n < 5; ++n) {
    const auto thrown = at.call<int(int)>(0, 123);
    EXPECT_EQ(thrown.answer.status, service_status::failed);
    EXPECT_EQ(thrown.result, 0);
    const auto expect_no_answer = [](auto port) {
      port->send([](packet& to, uint32_t) { to.words[0] = 77; });
      port->recv([](packet&, uint32_t) { ADD_FAILURE() << "a request comes back as its own answer"; });
      EXPECT_TRUE(port->unanswered());
    };
    {
      auto port = at.ports().open<user_opcode(0)>();
      expect_no_answer(&port);
    }
    {
      auto port = at.ports().open<user_opcode(1)>();
      expect_no_answer(&port);
    }
    auto port = at.ports().open<user_opcode(2)>();
    expect_no_answer(&port);
  }
  EXPECT_TRUE(at.clock().ok());
  run.host.stop();
  EXPECT_TRUE(run.host.join());
  EXPECT_EQ(run.host.counts().thrown, 10u);
  EXPECT_EQ(run.host.counts().unhandled, 5u);
  ASSERT_EQ(lines.size(), 15u);
  EXPECT_EQ(lines[0], "a host function that a kernel called has thrown what is no std::exception");
  EXPECT_EQ(lines[1], "a handler of an opcode has thrown: on purpose");
}

// -- the rest of the library --------------------------------------------------------------------------------------------------

TEST(services_memory, is_given_once_and_taken_back) {
  alignas(16) unsigned char block[256];
  memory_pool pool(block, sizeof block);
  void* const a = pool.allocate(100);
  void* const b = pool.allocate(1);
  void* const c = pool.allocate(100);
  EXPECT_EQ(a, block);
  EXPECT_EQ(b, block + 112);
  EXPECT_EQ(c, block + 128);
  EXPECT_EQ(pool.allocate(100), nullptr);
  EXPECT_EQ(pool.allocate(~uint64_t{0}), nullptr);
  const auto address = [](const void* at) { return reinterpret_cast<uintptr_t>(at); };
  EXPECT_FALSE(pool.free(address(a) + 16));
  EXPECT_FALSE(pool.free(address(a) - 16));
  EXPECT_FALSE(pool.free(~uint64_t{0}));
  EXPECT_TRUE(pool.free(address(a)));
  EXPECT_FALSE(pool.free(address(a))) << "given back twice";
  EXPECT_TRUE(pool.free(address(c)));
  EXPECT_TRUE(pool.free(address(b)));
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_EQ(pool.allocate(256), block) << "neighbours are not joined";
  EXPECT_EQ(memory_pool(nullptr, 100).allocate(1), nullptr);
}

TEST(services_memory, is_bounded_by_what_was_set_aside) {
  running run({}, {.ports = 2, .lanes = 1, .memory_bytes = 4096});
  const client& at = run.at();
  void* const all = at.allocate(4096);
  ASSERT_NE(all, nullptr);
  std::memset(all, 1, 4096);
  EXPECT_EQ(at.allocate(1), nullptr);
  EXPECT_TRUE(at.free(all).ok());
  EXPECT_TRUE(at.free(nullptr).ok());
  EXPECT_EQ(at.free(all).status, service_status::bad_handle);
  int somewhere = 0;
  EXPECT_EQ(at.free(&somewhere).status, service_status::bad_handle);
}

TEST(services_program, tells_the_time_and_what_the_environment_allows) {
  ASSERT_EQ(setenv("HEDDLE_TEST_VARIABLE", "a value", 1), 0);
  running run({.environment = {"HEDDLE_TEST_VARIABLE", "HEDDLE_TEST_ABSENT"}});
  const client& at = run.at();
  char value[16] = "???????????????";
  const service_answer answer = at.environment("HEDDLE_TEST_VARIABLE", value, sizeof value);
  EXPECT_EQ(answer.value, 7u);
  EXPECT_STREQ(value, "a value");
  EXPECT_EQ(at.environment("HEDDLE_TEST_VARIABLE", value, 3).value, 7u);
  EXPECT_EQ(at.environment("HEDDLE_TEST_ABSENT", value, sizeof value).error, ENOENT);
  EXPECT_EQ(at.environment("PATH", value, sizeof value).status, service_status::refused);
  const uint64_t before = at.clock().value;
  EXPECT_GE(at.clock().value, before);
  EXPECT_GT(at.clock(clock_kind::system).value, uint64_t{1'600'000'000} * 1'000'000'000);
}

TEST(services_program, ends_when_a_kernel_asks_and_has_its_answer) {
  std::atomic<int> code{0};
  std::string why;
  running run(
      {.on_exit = [&](int32_t asked) { code = asked; }, .on_abort = [&](const std::string& text) { why = text; }});
  const client& at = run.at();
  EXPECT_TRUE(at.exit(-7).ok());
  EXPECT_TRUE(at.abort("for a reason").ok());
  run.host.stop();
  run.host.join();
  EXPECT_EQ(code, -7);
  EXPECT_EQ(why, "for a reason");
}

TEST(services_program_death_test, ends_with_the_status_that_a_kernel_asks_for) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        running run;
        run.at().exit(7);
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(7), "");
  EXPECT_DEATH(
      {
        running run;
        run.at().abort("for a reason");
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      "a kernel has aborted: for a reason");
}

TEST(services_program_death_test, ends_while_another_thread_waits_for_input) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0) std::_Exit(9);
        running run({.input = true}, {.ports = 2, .lanes = 1, .servers = 2});
        const client& at = run.at();
        std::thread reads([at] {
          char byte;
          at.read(standard_input, &byte, 1);
        });
        // A read that has begun holds the stream.
        while (ftrylockfile(stdin) == 0) {
          funlockfile(stdin);
          std::this_thread::yield();
        }
        at.exit(7);
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(7), "");
}

TEST(services_opcodes, of_users_have_handlers_and_of_nobody_are_counted) {
  running run;
  ASSERT_TRUE(run.host.on(user_opcode(3), [](service::port& opened) {
    opened.recv_and_send([](packet& both, uint32_t) { both.words[0] *= 2; });
  }));
  EXPECT_FALSE(run.host.on(user_opcode(3), [](service::port&) {}));
  EXPECT_FALSE(run.host.on(9, [](service::port&) {})) << "an opcode of the library";
  const client& at = run.at();
  uint64_t answer = 0;
  {
    auto port = at.ports().open<user_opcode(3)>();
    port.send_and_recv([](packet& to, uint32_t) { to.words[0] = 21; },
                       [&](packet& from, uint32_t) { answer = from.words[0]; });
  }
  EXPECT_EQ(answer, 42u);
  {
    auto port = at.ports().open<user_opcode(4)>();
    port.send([](packet&, uint32_t) {});
  }
  while (run.host.counts().unhandled == 0) std::this_thread::yield();
  EXPECT_EQ(run.host.counts().calls, 2u);
}

// -- start, wait, stop --------------------------------------------------------------------------------------------------------

TEST(services_stop, answers_what_was_sent_before_and_tells_who_comes_later) {
  running run;
  run.host.add<int(int)>(1, [one = std::make_unique<int>(1)](int n) { return n + *one; }).value();
  const client& at = run.at();
  EXPECT_EQ(at.call<int(int)>(1, 1).result, 2);
  run.host.stop();
  EXPECT_TRUE(run.host.join());
  const auto late = at.call<int(int)>(1, 1);
  EXPECT_EQ(late.answer.status, service_status::ended);
  EXPECT_EQ(late.result, 0);
  EXPECT_EQ(at.allocate(1), nullptr);
}

TEST(services_stop, tells_the_clients_of_a_service_that_was_never_started) {
  host::device on;
  service host(on, {.ports = 2, .lanes = 1});
  host.add<int(int)>(1, [](int n) { return n + 1; }).value();
  const client at = host.client();
  service_answer waiting;
  std::thread waits([&] { waiting = at.call<int(int)>(1, 1).answer; });
  host.stop();
  waits.join();
  EXPECT_EQ(waiting.status, service_status::ended);
  EXPECT_EQ(at.call<int(int)>(1, 1).answer.status, service_status::ended);
  EXPECT_TRUE(host.join());
}

TEST(services_stop, counts_no_call_as_given_up_that_its_handler_has_closed) {
  running run;
  constexpr uint16_t opcode = user_opcode(4);
  run.host
      .on(opcode,
          [](service::port& port) {
            port.recv_and_send([](packet&, uint32_t) {});
            port.close();
            throw std::runtime_error("behind the answer");
          })
      .value();
  const client& at = run.at();
  for (int n = 0; n < 10; ++n) {
    auto port = at.ports().open<opcode>();
    bool has_come = false;
    port.send([](packet&, uint32_t) {});
    port.recv([&](packet&, uint32_t) { has_come = true; });
    EXPECT_TRUE(has_come) << "the service goes on";
  }
  run.host.stop();
  EXPECT_TRUE(run.host.join());
  EXPECT_EQ(run.host.counts().given_up, 0u);
  EXPECT_EQ(run.host.counts().thrown, 10u);
}

TEST(services_stop, may_be_asked_for_by_a_handler) {
  running run;
  run.host.add<void()>(1, [&run] { run.host.stop(); }).value();
  EXPECT_TRUE(run.at().call<void()>(1).ok());
  EXPECT_TRUE(run.host.join());
}

TEST(services_stop, does_not_wait_for_ever_for_a_client_that_has_died) {
  running run({}, {.ports = 2, .lanes = 1, .stage_bytes = 0});
  run.host.add<int(int)>(1, [](int n) { return n + 1; }).value();
  const client& at = run.at();
  // Half a request: the stream is longer than the packet that is sent, and the rest is never sent.
  auto port = at.ports().open<opcode::host_call>();
  port.send([](packet& to, uint32_t) { to.words[0] = 1000; });
  while (run.host.counts().calls == 0) std::this_thread::yield();
  run.host.stop();
  EXPECT_FALSE(run.host.join(20'000'000));
  EXPECT_EQ(run.host.counts().given_up, 1u);
  // And a client that still lives learns of it.
  port.send([](packet&, uint32_t) {});  // the host had given the packet back for this
  EXPECT_FALSE(port.ended());
  port.send([](packet&, uint32_t) { ADD_FAILURE() << "the host does not go on"; });
  EXPECT_TRUE(port.ended());
}

TEST(services_patience, gives_up_a_call_that_is_left_half_done_and_serves_the_others) {
  running run({}, {.ports = 2, .lanes = 1, .stage_bytes = 0, .patience = 1000});
  run.host.add<int(int)>(1, [](int n) { return n + 1; }).value();
  const client& at = run.at();
  auto port = at.ports().open<opcode::host_call>();
  // Half a request, whose rest is never sent.
  port.send([](packet& to, uint32_t) { to.words[0] = 1000; });
  // The only thread of the service waits in that call, and does not wait for ever.
  EXPECT_EQ(at.call<int(int)>(1, 4).result, 5);
  EXPECT_EQ(run.host.counts().given_up, 1u);
  port.send([](packet&, uint32_t) {});
  port.send([](packet&, uint32_t) { ADD_FAILURE() << "the host does not go on"; });
  EXPECT_TRUE(port.ended()) << "and a client that still lives learns of it";
}

TEST(services_stop, leaves_other_servers_at_work_while_a_handler_is_slow) {
  running run({}, {.ports = 2, .lanes = 1, .servers = 2});
  std::atomic<bool> goes_on{false};
  run.host
      .add<void()>("slow",
                   [&] {
                     while (!goes_on) std::this_thread::yield();
                   })
      .value();
  run.host.add<void()>("quick", [] {}).value();
  const client at = run.at();
  std::thread waits([&] { EXPECT_TRUE(at.call<void()>(named("slow")).ok()); });
  for (uint32_t n = 0; n < 100; ++n) EXPECT_TRUE(at.call<void()>(named("quick")).ok());
  goes_on = true;
  waits.join();
}

TEST(services_stop, sleeps_when_idle_and_wakes_for_a_call) {
  // A ring alone can wake it: the sleep would last for an hour.
  running run({}, {.ports = 2, .lanes = 1, .polls = 1, .sleep_ns = uint64_t{3600} * 1'000'000'000});
  const client& at = run.at();
  for (uint32_t n = 1; n <= 20; ++n) {
    while (run.host.counts().sleeps < n) std::this_thread::yield();
    EXPECT_TRUE(at.clock().ok());
  }
  run.host.stop();
  EXPECT_TRUE(run.host.join());
}

TEST(services_stop, ends_a_service_under_load) {
  running run({}, {.ports = 16, .lanes = 1});
  std::atomic<uint64_t> served{0};
  run.host
      .add<void()>(1,
                   [&] {
                     std::this_thread::sleep_for(std::chrono::microseconds(200));
                     ++served;
                   })
      .value();
  const client at = run.at();
  std::atomic<uint64_t> answered{0};
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < 12; ++n)
    threads.emplace_back([&] {
      while (at.call<void()>(1).ok()) ++answered;
    });
  while (answered < 100) std::this_thread::yield();
  run.host.stop();
  const uint64_t before = served;
  EXPECT_TRUE(run.host.join(uint64_t{60} * 1'000'000'000));
  // One call of each thread may be under way, and one may have begun before the server saw that it is to stop.
  EXPECT_LE(served - before, 2 * threads.size());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, served);
}

TEST(services_stop, ends_a_service_whose_memory_is_full_of_junk) {
  host::device on;
  basic_service<host::target, host::device> host(on, {.ports = 4, .lanes = 1});
  host.start();
  // Whatever a kernel writes over its mailboxes is a call more or less, and no endless row of them.
  const auto at = host.where();
  auto* const bytes = static_cast<unsigned char*>(at.shared);
  for (const size_t offset : {layout::client_outbox_offset(), at.shape.server_outbox_offset()})
    for (uint32_t port = 0; port < 4; ++port)
      std::atomic_ref(*reinterpret_cast<uint32_t*>(bytes + offset + port * sizeof(uint32_t))).store(5 + 2 * port);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const uint64_t calls = host.counts().calls;
  EXPECT_LE(calls, 8u);
  host.stop();
  EXPECT_TRUE(host.join(uint64_t{60} * 1'000'000'000));
}

/// At a random moment, a thousand times: what is answered was carried out, once, and what is not answered was not carried out.
TEST(services_stop, at_any_moment_leaves_no_call_half_done) {
  const auto seed = static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed());
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<uint32_t> moment(0, 2000);
  uint64_t all_answered = 0;
  uint64_t all_ended = 0;
  for (uint32_t round = 0; round < 1000; ++round) {
    host::device on;
    service host(on, {.ports = 2, .lanes = 1, .servers = 1 + round % 2, .polls = round % 3});
    std::atomic<uint64_t> carried_out{0};
    // 8 bytes fit in the packet with the head; 80 do not.
    using function = uint64_t(uint64_t, span<const char>);
    host.add<function>(1,
                       [&](uint64_t n, span<const char>) {
                         ++carried_out;
                         return n + 1;
                       })
        .value();
    host.start();
    std::atomic<uint64_t> answered{0};
    std::atomic<uint64_t> ended{0};
    std::vector<std::thread> threads;
    for (uint32_t n = 0; n < 3; ++n)
      threads.emplace_back([&, at = host.client()] {
        constexpr char bytes[80] = {};
        for (uint64_t call = 0;; ++call) {
          const auto given = at.call<function>(1, call, span{bytes, call % 2 * sizeof bytes});
          if (!given.ok()) {
            EXPECT_EQ(given.answer.status, service_status::ended);
            ++ended;
            return;
          }
          EXPECT_EQ(given.result, call + 1);
          ++answered;
        }
      });
    for (uint32_t n = moment(random); n != 0; --n) host::relax_processor();
    host.stop();
    EXPECT_TRUE(host.join());
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(answered, carried_out) << "round " << round << " of seed " << seed;
    ASSERT_EQ(ended, 3u);
    all_answered += answered;
    all_ended += ended;
  }
  EXPECT_GT(all_answered, 0u);
  EXPECT_EQ(all_ended, 3000u);
}

}  // namespace
}  // namespace heddle::rpc::tests::service_test
