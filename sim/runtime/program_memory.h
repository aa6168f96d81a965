// Memory of malloc(), which a kernel may reach too, and memory of a block.
#pragma once

#include <stddef.h>

namespace heddle::sim::runtime {

/// Memory that the simulator knows, as that of `new`: of a program that begins anew with each run, and of what runs in a search. Null where the C
/// library's is to be taken. The alignment is a power of two.
void* allocate_in_program(size_t size_bytes, size_t alignment);
/// Whether the memory is of such a heap, which has it back then.
bool release_in_program(void* memory);
/// How many bytes of such a heap lie there; 0 where the memory is of none.
size_t bytes_in_program(const void* memory);

/// Whether what lanes allocate is of such a heap: nothing of it is left when the next run begins.
bool memory_begins_anew();

/// Whether the address lies in a `__shared__` variable of the block of the lane that calls, or in its dynamic shared memory.
bool is_of_block(const void* address);

}  // namespace heddle::sim::runtime
