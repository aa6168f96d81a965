// new and delete of the whole program (new_delete.cpp).
#pragma once

namespace heddle::sim::runtime {

/// Does nothing but be called: so the linker takes new and delete out of the library, which are weak.
void use_new_and_delete();

}  // namespace heddle::sim::runtime
