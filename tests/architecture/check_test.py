#!/usr/bin/env python3
"""The checker itself, in both directions: a tree that keeps the rules, and one violation of each after the other."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check
import sources

RULES = '''
checked = ["a"]
backward = []
[includes]
"short/" = "a/long/"
[tops]
"a (all)" = ["a/all.h"]
[limits]
file_lines = 30
class_members = 3
class_functions = 2
function_lines = 5
parameters = 2
raised = 1
[rooms]
"a" = []
"a/long" = ["a"]
"a (all)" = ["a", "a/long"]
[falling]
tracked_files = 6
'''

TREE = {
    'a/one.h': '// A lane whose turn it is goes first.\nclass one {\n  int x = 0, y{};\n  void f(int, std::pair<int, int>);\n};\n',
    'a/long/two.h': '#include <heddle/a/one.h>\nstruct two { int x; };\n',
    'a/all.h': '#include <heddle/short/two.h>\n#include "one.h"\n',
    'b/free.cpp': '// Whoever is outside is not looked at.\n',
}


class Rules(unittest.TestCase):
    def told(self, changes=None, rules=RULES):
        with tempfile.TemporaryDirectory() as root:
            files = dict(TREE)
            files.update(changes or {})
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), 'w', encoding='utf-8') as file:
                    file.write(text)
            rules_file = os.path.join(root, 'rules.toml')
            with open(rules_file, 'w', encoding='utf-8') as file:
                file.write(rules)
            return check.check(root, rules_file)[0]

    def assert_told(self, part, changes=None, rules=RULES):
        told = self.told(changes, rules)
        self.assertTrue(any(part in line for line in told), (part, told))

    def test_public_headers_include_public_ones_alone(self):
        self.assertEqual(self.told({'cmake/public_headers.txt': '# comment\na/*.h\na/long/two.h\n'},
                                   RULES.replace('tracked_files = 6', 'tracked_files = 7')), [])
        self.assert_told('a/all.h:1 is installed and includes a/long/two.h, which is not',
                         {'cmake/public_headers.txt': 'a/*.h\n'})
        self.assert_told('there is no a/gone.h', {'cmake/public_headers.txt': 'a/gone.h\n'})

    def test_a_tree_that_keeps_them(self):
        self.assertEqual(self.told(), [])

    def test_an_edge_that_is_not_in_the_list(self):
        self.assert_told('a may not include a/long: a/one.h:1 includes a/long/two.h',
                         {'a/one.h': '#include <heddle/short/two.h>\n'})
        self.assert_told('a may not include a (all)', {'a/one.h': '#include "all.h"\n'})

    def test_an_edge_that_is_listed_as_backward_and_one_that_is_gone(self):
        backward = RULES.replace('backward = []', 'backward = ["a -> a/long"]')
        self.assertEqual(self.told({'a/one.h': '#include <heddle/short/two.h>\n'}, backward), [])
        self.assert_told('a -> a/long is gone', rules=backward)

    def test_a_cycle_among_what_is_allowed(self):
        self.assert_told('allows a cycle: a -> a/long -> a', rules=RULES.replace('"a" = []', '"a" = ["a/long"]'))

    def test_a_room_that_is_not_listed_and_one_that_is_not_there(self):
        self.assert_told('a/new is not in rules.toml', {'a/new/x.h': 'int x;\n'})
        self.assert_told('a/old of rules.toml is not there', rules=RULES.replace('[falling]', '"a/old" = []\n[falling]'))

    def test_sizes(self):
        self.assert_told('a/one.h one: 4, at most 3', {'a/one.h': 'class one {\n int a, b;\n std::map<int, int> c; int d{};\n};\n'})
        self.assert_told('a/one.h one: 3, at most 2', {'a/one.h': 'class one {\n one();\n void f() const { g(); }\n int g();\n};\n'})
        self.assert_told('one::f: 3, at most 2', {'a/one.cpp': 'void one::f(int a, std::array<int, 3> b, int c) {}\n'})
        self.assert_told('f: 6, at most 5', {'a/one.cpp': 'void f() {\n  if (x) {\n  }\n  for (;;) {\n  }\n}\n'})
        self.assert_told('a/one.h: 31, at most 30', {'a/one.h': '\n' * 31})

    def test_a_number_that_falls_is_written_down(self):
        self.assert_told('persons_a has fallen to 0', rules=RULES + 'persons_a = 1\n')
        self.assert_told('parameters_excess is 2, and may be 1 at most', {'a/one.cpp': 'void f(int, int, int, int);\n'},
                         RULES + 'parameters = 1\nparameters_excess = 1\n')

    def test_a_limit_that_is_raised(self):
        tall = {'a/one.h': '\n' * 31}
        raised = RULES + '[[raised]]\nwhat = "file_lines"\nwhere = "a/one.h"\nto = 31\nwhy = "a table"\n'
        self.assertEqual(self.told(tall, raised), [])
        self.assert_told('needs a reason', tall, raised.replace('a table', ''))
        self.assert_told('has no file_lines', tall, raised.replace('a/one.h', 'a/gone.h'))
        self.assert_told('at most 1 may be', tall, raised + '[[raised]]\nwhat = "file_lines"\nwhere = "a/all.h"\nto = 50\nwhy = "x"\n')

    def test_persons(self):
        self.assert_told('a/one.h:2: nobody waits', {'a/one.h': '/* It blocks;\n   nobody waits. */\n'})
        self.assert_told('a/one.h:2: nobody waits', {'a/one.h': '\nconst char* text = "nobody waits";\n'})
        self.assertEqual(self.told({'a/one.h': 'const char* who = "nothing";  // a lane whose turn comes\n'}), [])

    def test_too_many_files(self):
        self.assert_told('tracked_files', {f'b/{n}': '' for n in range(3)})

    def test_an_empty_tree(self):
        with tempfile.TemporaryDirectory() as root:
            rules_file = os.path.join(root, 'rules.toml')
            with open(rules_file, 'w', encoding='utf-8') as file:
                file.write(RULES)
            self.assertIn('no sources', check.check(root, rules_file)[0][0])


class Sources(unittest.TestCase):
    def shape(self, text):
        read = sources.read(text)
        return ([(each.name, each.members, each.functions) for each in read.classes],
                [(each.name, each.parameters, each.lines) for each in read.functions])

    def test_members_and_functions(self):
        self.assertEqual(self.shape('''
template <typename T, size_t N>
class [[nodiscard]] box final : public base<T, N> {
 public:
  using value = T;
  box() = default;
  explicit box(T value) : value_(std::move(value)), more_{1, 2} {
    use([&](int a, int b) { return a < b; });
  }
  friend void swap(box& a, box& b);
  static constexpr size_t most = N;
  bool operator<(const box& other) const { return value_ < other.value_; }
  template <typename F, typename = void>
  void each(F&& visit) const;
  struct inner {
    int a = 0;
  } inner_;

 private:
  std::function<void(int, int)> call_;
  T value_, *next_ = nullptr;
  std::array<int, 4> more_ = {1, 2, 3, 4};
  alignas(64) char line_[64];
};
'''), ([('box', 6, 3), ('inner', 1, 0)],
       [('box', 1, 3), ('operator_', 1, 1), ('each', 1, 0)]))

    def test_what_is_no_function(self):
        self.assertEqual(self.shape('''
#define OPEN {
namespace a::b {
enum class kind : uint8_t { one, two };
constexpr auto table = std::to_array<int>({1, 2});
extern "C" {
int f(void);
}
const char* text = R"(class x { int a; };)";
const auto made = call(1, 2, 3);
}  // namespace a::b
'''), ([], [('f', 0, 0)]))


if __name__ == '__main__':
    unittest.main()
