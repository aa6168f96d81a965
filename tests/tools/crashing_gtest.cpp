// Scenarios that end their process as tests of GoogleTest.
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

HEDDLE_TEST(runs, "crash.none", 50);
HEDDLE_TEST(crashes, "crash.[ahu]*", 20);
