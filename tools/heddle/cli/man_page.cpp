// `heddle help --man`: the manual page, made of the help of each command (man(7)).
#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/help_page.h>
#include <heddle/tools/cli/man_page.h>

#include <algorithm>

namespace heddle::tools {
namespace {

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

std::string quoted(std::string_view text) {
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
    commands += ".SS " + quoted("heddle " + name) + '\n' + usage_lines(page);
    for (const help_block& block : page.blocks) commands += block_lines(block);
  }
  // The overview: one line for NAME, then the commands, which have sections of their own, then headings.
  const std::string& summary = overview.blocks.front().text;
  std::string description, sections;
  bool below_heading = false;
  for (size_t index = 1; index < overview.blocks.size(); ++index) {
    const help_block& block = overview.blocks[index];
    if (block.is == help_block::kind::heading) {
      sections += ".SH " + quoted(upper(block.text)) + '\n';
      below_heading = true;
    } else if (below_heading) {
      sections += block_lines(block);
    } else {
      description += block_lines(block);
    }
  }
  std::string all = ".TH HEDDLE 1 \"\" " + quoted("heddle " + std::string(version)) + '\n';
  const size_t verb = summary.find(' ');
  all += ".SH NAME\nheddle \\- " + escaped(summary.substr(verb + 1)) + '\n';
  all += ".SH SYNOPSIS\n" + synopsis;
  all +=
      ".SH DESCRIPTION\nA program that links heddle::main has the same commands for its own scenarios.\n" + description;
  return all + ".SH COMMANDS\n" + commands + sections;
}

}  // namespace heddle::tools
