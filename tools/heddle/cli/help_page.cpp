#include <heddle/tools/cli/help_page.h>

#include <sstream>

namespace heddle::tools {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream from(line);
  std::vector<std::string> words;
  for (std::string word; from >> word;) words.push_back(word);
  return words;
}

void append(std::string& text, std::string_view line) {
  if (!text.empty()) text += ' ';
  text += line;
}

help_block item_of(std::string_view line) {
  const size_t gap = line.find("  ");
  if (gap == std::string_view::npos) return {.is = help_block::kind::item, .term = std::string(line), .text = {}};
  const size_t text = line.find_first_not_of(' ', gap);
  return {.is = help_block::kind::item,
          .term = std::string(line.substr(0, gap)),
          .text = std::string(text == std::string_view::npos ? "" : line.substr(text))};
}

}  // namespace

help_page parse_help(std::string_view text) {
  using enum help_block::kind;
  help_page page;
  std::istringstream lines{std::string(text)};
  bool begins = true;    // nothing but usage until now
  bool goes_on = false;  // the last line was of the last block
  size_t lines_of_block = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t blanks = line.find_first_not_of(' ');
    if (blanks == std::string::npos) {
      begins = goes_on = false;
    } else if (begins && line.starts_with("heddle ") && line.find(" finds ") == std::string::npos) {
      page.usage.push_back(line);
    } else if (blanks == 2) {
      if (goes_on && lines_of_block == 1 && page.blocks.back().is == paragraph) page.blocks.back().is = heading;
      page.blocks.push_back(item_of(std::string_view(line).substr(2)));
      goes_on = true;
    } else if (goes_on) {
      append(page.blocks.back().text, std::string_view(line).substr(blanks));
      ++lines_of_block;
    } else {
      page.blocks.push_back({.is = paragraph, .term = {}, .text = line});
      goes_on = true;
      lines_of_block = 1;
    }
  }
  return page;
}

std::vector<help_option> options_of(const help_page& page) {
  std::vector<help_option> options;
  for (const help_block& block : page.blocks) {
    if (block.is != help_block::kind::item || !block.term.starts_with('-')) continue;
    help_option option;
    option.meaning = block.text;
    for (std::string& word : words_of(block.term)) {
      if (word.ends_with(',')) word.pop_back();
      if (word.starts_with('-')) {
        option.names.push_back(word);
      } else {
        option.value = word;
      }
    }
    options.push_back(std::move(option));
  }
  return options;
}

std::string argument_of(const help_page& page) {
  if (page.usage.empty()) return {};
  const std::vector<std::string> words = words_of(page.usage.front());
  if (words.size() < 3) return {};
  std::string name = words[2];
  if (name.starts_with('[')) name = name.substr(1, name.find(']') - 1);
  if (name.starts_with('-') || name == "OPTIONS") return {};
  return name.substr(0, name.find("..."));
}

}  // namespace heddle::tools
