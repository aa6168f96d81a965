#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

HEDDLE_TEST(ports, "port.*", 50);
HEDDLE_TEST(wide_ports, "port.echo", 50, "calls=20");
HEDDLE_TEST(planted, "zoo.crossed-calls", 50);
HEDDLE_TEST(failing, "fake.racy", 50);
HEDDLE_TEST(misspelt, "port.ecko", 50);
HEDDLE_TEST(unknown_key, "port.echo", 50, "waves=2");
HEDDLE_TEST(uninstrumented, "fake.silent", 50);
