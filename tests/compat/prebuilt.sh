#!/bin/bash
# prebuilt.sh HEDDLE FOLDER: objects and archives that another compiler has made begin anew with each run, main() among them, and it is told that what they
# load and store is not seen.
set -euo pipefail
. "$(dirname "$0")/expect.sh"
heddle=$1
rm -rf "$2"
mkdir -p "$2/parts"
cd "$2"

refuse() { # TEXT COMMAND...
  local text=$1
  shift
  "$@" >told 2>&1 || true
  if grep -E -e "$text" told >/dev/null; then
    echo "\"$text\" is in what this says: $*"
    cat told
    exit 1
  fi
}

# A framework for tests, as such have it: tests are known by initialization, results are kept in statics and on the heap, and main() is in an archive.
cat >parts/frame.h <<'END'
#pragma once
#include <string>
struct known_test {
  known_test(const char* name, void (*run)());
};
void expect_equal(int got, int wanted, const char* where);
int run_all(const std::string& one);
bool tries_again();
void raise_flag();
bool is_raised();
END
cat >parts/frame.cc <<'END'
#include "frame.h"
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace {
std::map<std::string, void (*)()>& all() {
  static std::map<std::string, void (*)()> known;
  return known;
}
std::vector<std::string> failures;
std::string first_of_all = "a text that is longer than what fits in";
int runs = 0;
}  // namespace
known_test::known_test(const char* name, void (*run)()) { all().emplace(name, run); }
void expect_equal(int got, int wanted, const char* where) {
  if (got == wanted) return;
  std::printf("%s: Failure\nwanted %d, got %d\n", where, wanted, got);
  failures.push_back(where);
}
int run_all(const std::string& one) {
  ++runs;
  first_of_all += " there";
  if (runs != 1 || first_of_all.size() != 45) return 7;
  for (const auto& [name, run] : all())
    if (one.empty() || one == name) run();
  for (int n = 0; n < 8; ++n) std::printf("more %d\n", n);
  return failures.empty() ? 0 : 1;
}
bool tries_again() {
  static int left = 50;
  return --left > 0;
}
static bool flag;
void raise_flag() { flag = true; }
bool is_raised() { return flag; }
END
cat >parts/frame_main.cc <<'END'
#include "frame.h"
int main(int count, char** words) { return run_all(count > 1 ? words[1] : ""); }
END
cat >tests.cc <<'END'
#include <atomic>
#include <thread>
#include "frame.h"
static void adds() {
  std::atomic<int> sum{0};
  std::thread other([&] { sum.fetch_add(1); });
  sum.fetch_add(1);
  other.join();
  expect_equal(sum, 2, "adds");
}
static void adds_in_two_steps() {
  std::atomic<int> sum{0};
  std::thread other([&] { sum.store(sum.load() + 1); });
  sum.store(sum.load() + 1);
  other.join();
  expect_equal(sum, 2, "adds_in_two_steps");
}
// That it ends is told by what is not seen alone.
static void gives_up() {
  static std::atomic<int> never{0};
  std::thread other([] {
    while (never == 0 && tries_again()) std::this_thread::yield();
  });
  other.join();
}
// So is that a wait is over.
static void waits_for_a_flag() {
  static std::atomic<int> turns{0};
  std::thread other([] {
    turns.fetch_add(1);
    while (!is_raised()) std::this_thread::yield();
  });
  while (turns == 0) std::this_thread::yield();
  raise_flag();
  other.join();
}
static known_test fourth("waits_for_a_flag", waits_for_a_flag);
static known_test third("gives_up", gives_up);
static known_test first("adds", adds), second("adds_in_two_steps", adds_in_two_steps);
END
for each in frame frame_main; do c++ -std=c++17 -O1 -g -c parts/$each.cc -o parts/$each.o; done
ar crs parts/libframe.a parts/frame.o
ar crs parts/libframe_main.a parts/frame_main.o
ar crsT parts/libthin.a parts/frame.o parts/frame_main.o

prove() { # PROGRAM
  expect "tests +ok +ok +300" "$1" fuzz --schedules 300 -- adds
  expect "^[^ ]*: proved .*, without what .*(frame|thin).* loads and stores" "$1" verify --jobs 1 -- adds
  expect "tests +ok +ok +50" "$1" fuzz --schedules 50 -- gives_up
  expect "assertion at .*main.*of 300 schedules" "$1" fuzz --schedules 300 -- adds_in_two_steps
  cp told said
  expect "^    adds_in_two_steps: Failure" cat said
  expect "^    wanted 2, got 1" cat said
  expect "tests +ok +ok +300" "$1" fuzz --schedules 300 -- waits_for_a_flag
  expect "^[^ ]*: incomplete: a loop may wait for what code stores that heddle has not compiled" "$1" verify --jobs 1 --time 20 -- waits_for_a_flag
  refuse "not reproducible" "$1" verify --jobs 1 -- adds_in_two_steps
  cp told said
  expect "^[^ ]*: assertion at .*main" cat said
}
"$heddle" c++ -std=c++17 -g -Iparts tests.cc -Lparts -lframe_main -lframe parts/libframe_main.a -lframe -lframe_main -o tests
prove ./tests
expect "not seen: libframe_main.a and libframe.a" ./tests fuzz --schedules 20 -- adds
"$heddle" c++ -std=c++17 -g -Iparts tests.cc parts/frame.o parts/frame_main.o -o tests
prove ./tests
expect "not seen: frame.o and frame_main.o" ./tests fuzz --schedules 20 -- adds
"$heddle" c++ -std=c++17 -g -Iparts tests.cc -Lparts -l:libthin.a -o tests
prove ./tests

# A main() of the program's own comes before one in an archive.
cp tests.cc own.cc
echo 'int main(int count, char** words) { return run_all(count > 1 ? words[1] : ""); }' >>own.cc
"$heddle" c++ -std=c++17 -g -Iparts own.cc -Lparts -lframe_main -lframe -o own
expect "1 scenario, all as expected" ./own fuzz --schedules 20 -- adds
cp told said
refuse "frame_main" cat said

# What heddle has compiled itself is seen, and its main() may lie in an archive all the same.
for each in frame frame_main; do "$heddle" c++ -std=c++17 -g -c parts/$each.cc -o parts/$each.seen.o; done
ar crs parts/libseen_main.a parts/frame_main.seen.o
"$heddle" c++ -std=c++17 -g -Iparts tests.cc parts/frame.seen.o -Lparts -lseen_main -o tests
refuse "Not compiled by heddle" ./tests fuzz --schedules 300 -- adds
cp told said
expect "frame_main +ok +ok +300" cat said
expect "assertion at .*main" ./tests fuzz --schedules 300 -- adds_in_two_steps
expect "^[^ ]*: proved .*args=adds: no run" ./tests verify --jobs 1 -- adds
expect "^heddle: no command before --list; ./tests fuzz -- --list calls main\(\) with it, and HEDDLE_AS=itself ./tests --list does so once" ./tests --list

# What CMake asks a compiler that links: in which folders the linker looks.
echo 'int main() {}' >empty.cc
expect "collect2.* -L[^ ]*/usr/lib" "$heddle" c++ -v empty.cc -o empty

# The archives of GoogleTest, as docs/existing-code.md has it.
if [[ $(c++ -print-file-name=libgtest_main.a) != */* ]]; then
  echo "GoogleTest's archives are left out: there is no libgtest_main.a; install libgtest-dev"
  exit 0
fi
cat >queue_test.cpp <<'END'
#include <gtest/gtest.h>
#include <atomic>
#include <thread>
static int value;
static std::atomic<bool> full{false};
static void passes(std::memory_order order) {
  std::thread other([order] {
    value = 5;
    full.store(true, order);
  });
  while (!full.load(std::memory_order_acquire)) std::this_thread::yield();
  EXPECT_EQ(value, 5);
  other.join();
}
TEST(Queue, Passes) { passes(std::memory_order_release); }
TEST(Queue, PassesTooEarly) { passes(std::memory_order_relaxed); }
END
"$heddle" c++ -g queue_test.cpp -lgtest_main -lgtest -o queue_test
expect "queue_test +ok +ok " ./queue_test fuzz -n 300 -- --gtest_filter=Queue.Passes
expect "^queue_test: proved .*, without what libgtest_main.a and libgtest.a loads and stores" ./queue_test verify -- --gtest_filter=Queue.Passes
expect "^queue_test: race at queue_test.cpp:12" ./queue_test fuzz -n 300 -- --gtest_filter=Queue.PassesTooEarly
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(queue CXX)
set(CMAKE_CXX_STANDARD 20)
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
add_executable(tests_of_queue queue_test.cpp)
target_link_libraries(tests_of_queue PRIVATE GTest::gtest_main)
gtest_discover_tests(tests_of_queue)
END
"$heddle" build cmake -B build >told 2>&1 && "$heddle" build cmake --build build >told 2>&1 || { cat told && exit 1; }
cd build
HEDDLE_AS="fuzz -n 100" ctest >told 2>&1 || true
cp told said
expect "Queue.Passes \.+ +Passed" cat said
expect "Queue.PassesTooEarly \.+\*\*\*Failed" cat said
