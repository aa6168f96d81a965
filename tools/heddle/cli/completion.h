// What may stand next on a command line, for shells: from the help of the commands, and from the scenarios of this very program.
#pragma once

#include <string>
#include <vector>

namespace heddle::tools {

struct suggestions {
  enum class kind { words, files, folders };  ///< files and folders are found by the shell
  struct word {
    std::string text;     ///< one that ends with "=" goes on without a blank
    std::string meaning;  ///< a few words, or empty
  };
  kind is = kind::words;
  std::vector<word> words;  ///< those that begin with what has been typed
};

/// `typed` are the words behind the program's name; the last one is being typed and may be empty.
suggestions suggest(const std::vector<std::string>& typed);

/// The script that a shell (bash, zsh, fish) reads to complete `program`, a name or a path; empty for other shells.
std::string completion_script(const std::string& shell, const std::string& program);

}  // namespace heddle::tools
