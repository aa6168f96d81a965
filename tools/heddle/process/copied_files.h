// Files that copies of this process have no use for.
#pragma once

namespace heddle::tools {

/// Copies that are made from now on close this file; until forget_file().
void close_in_copies(int file);
void forget_file(int file);

/// For a copy, once: closes them.
void close_files_of_the_parent();

}  // namespace heddle::tools
