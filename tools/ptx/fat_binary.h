// The PTX in what nvcc writes: fat binaries, and the objects and programs that have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx {

/// Whether the bytes are an object, a program or a fat binary, and no text.
bool is_binary(std::string_view content);

/// The PTX of each fat binary in the bytes, of the highest architecture that each has as PTX; texts stay as they are. Throws error, whose line is 0.
/// (Formats: ELF-64; LZ4 block format; fat binaries are not documented: magic numbers and fields as nvcc 11 to 13 writes them.)
std::vector<std::string> ptx_in(std::string_view content);

/// By which name the host code of an object registers device code that is linked with that of other files; empty where it is not linked, and in all but an
/// object. Throws as ptx_in().
std::string linked_name_in(std::string_view content);

}  // namespace heddle::ptx
