// A library of its own, with debug information, that calls what it is given.
extern "C" void call_back(void (*what)(void*), void* with) {
  what(with);
  asm volatile("");  // no jump instead of the call: the frame is to be seen
}
