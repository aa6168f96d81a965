#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/help_page.h>

#include <algorithm>
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

namespace {

// `heddle help --man`: the manual page, made of the help of each command (man(7)).

/// Text as roff takes it: a dash is a dash, and no line is a request.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\\') {
      made += "\\e";
    } else if (letter == '-') {
      made += "\\-";
    } else {
      made += letter;
    }
  }
  return made.starts_with('.') || made.starts_with('\'') ? "\\&" + made : made;
}

std::string in_quotes(std::string_view text) {
  std::string made = escaped(text);
  for (size_t at = 0; (at = made.find('"', at)) != std::string::npos; at += 4) made.replace(at, 1, "\\(dq");
  return '"' + made + '"';
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter; });
  return text;
}

std::string usage_lines(const help_page& page) {
  std::string text;
  for (const std::string& line : page.usage) text += (text.empty() ? "" : ".br\n") + escaped(line) + '\n';
  return text;
}

std::string block_lines(const help_block& block) {
  switch (block.is) {
    case help_block::kind::item:
      return ".TP\n.B " + escaped(block.term) + '\n' + escaped(block.text) + '\n';
    case help_block::kind::heading:
      return ".PP\n.I " + escaped(block.text) + '\n';
    default:
      return ".PP\n" + escaped(block.text) + '\n';
  }
}

}  // namespace

std::string man_page(std::string_view version) {
  const help_page overview = parse_help(help_text(""));
  std::string synopsis;
  std::string commands;
  for (const std::string& name : command_names()) {
    const help_page page = parse_help(help_text(name));
    synopsis += (synopsis.empty() ? "" : ".br\n") + usage_lines(page);
    commands += ".SS " + in_quotes("heddle " + name) + '\n' + usage_lines(page);
    for (const help_block& block : page.blocks) commands += block_lines(block);
  }
  // The overview: one line for NAME, then the commands, which have sections of their own, then headings.
  const std::string& summary = overview.blocks.front().text;
  std::string description, sections;
  bool below_heading = false;
  for (size_t index = 1; index < overview.blocks.size(); ++index) {
    const help_block& block = overview.blocks[index];
    if (block.is == help_block::kind::heading) {
      sections += ".SH " + in_quotes(upper(block.text)) + '\n';
      below_heading = true;
    } else if (below_heading) {
      sections += block_lines(block);
    } else {
      description += block_lines(block);
    }
  }
  std::string all = ".TH HEDDLE 1 \"\" " + in_quotes("heddle " + std::string(version)) + '\n';
  const size_t verb = summary.find(' ');
  all += ".SH NAME\nheddle \\- " + escaped(summary.substr(verb + 1)) + '\n';
  all += ".SH SYNOPSIS\n" + synopsis;
  all +=
      ".SH DESCRIPTION\nA program that links heddle::main has the same commands for its own scenarios.\n" + description;
  return all + ".SH COMMANDS\n" + commands + sections;
}

}  // namespace heddle::tools
