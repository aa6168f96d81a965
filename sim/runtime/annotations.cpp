// What code tells ThreadSanitizer beside what that sees by itself, implemented for the simulator: libraries do so where the compiler says that
// it instruments for ThreadSanitizer.
//
// All of it does nothing. What an annotation describes (a fence, a lock of the library's own) is seen here as it is; one that is believed
// would hide that it orders too little. Names and signatures are those of compiler-rt's tsan_interface.h and tsan_interface_ann.cpp.
//
// Weak: a program may bring definitions of its own.
#include <stddef.h>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): ThreadSanitizer chose the names

#define HEDDLE_NOTHING(name, ...) \
  [[gnu::weak]] void name(__VA_ARGS__) {}

HEDDLE_NOTHING(__tsan_acquire, void*)
HEDDLE_NOTHING(__tsan_release, void*)
HEDDLE_NOTHING(__tsan_mutex_create, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_destroy, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_pre_lock, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_post_lock, void*, unsigned, int)
HEDDLE_NOTHING(__tsan_mutex_post_unlock, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_pre_signal, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_post_signal, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_pre_divert, void*, unsigned)
HEDDLE_NOTHING(__tsan_mutex_post_divert, void*, unsigned)
/// How often it was locked, of a lock that is unlocked altogether.
[[gnu::weak]] int __tsan_mutex_pre_unlock(void*, unsigned) { return 0; }

// Each is told the file and the line of its caller.
#define HEDDLE_ANNOTATION(name) HEDDLE_NOTHING(Annotate##name, const char*, int)
#define HEDDLE_ANNOTATION_OF(name, ...) HEDDLE_NOTHING(Annotate##name, const char*, int, __VA_ARGS__)
HEDDLE_ANNOTATION_OF(HappensBefore, const volatile void*)
HEDDLE_ANNOTATION_OF(HappensAfter, const volatile void*)
HEDDLE_ANNOTATION_OF(CondVarSignal, const volatile void*)
HEDDLE_ANNOTATION_OF(CondVarSignalAll, const volatile void*)
HEDDLE_ANNOTATION_OF(CondVarWait, const volatile void*, const volatile void*)
HEDDLE_ANNOTATION_OF(MutexIsNotPHB, const volatile void*)
HEDDLE_ANNOTATION_OF(MutexIsUsedAsCondVar, const volatile void*)
HEDDLE_ANNOTATION_OF(RWLockCreate, const volatile void*)
HEDDLE_ANNOTATION_OF(RWLockCreateStatic, const volatile void*)
HEDDLE_ANNOTATION_OF(RWLockDestroy, const volatile void*)
HEDDLE_ANNOTATION_OF(RWLockAcquired, const volatile void*, long)
HEDDLE_ANNOTATION_OF(RWLockReleased, const volatile void*, long)
HEDDLE_ANNOTATION_OF(PCQCreate, const volatile void*)
HEDDLE_ANNOTATION_OF(PCQDestroy, const volatile void*)
HEDDLE_ANNOTATION_OF(PCQPut, const volatile void*)
HEDDLE_ANNOTATION_OF(PCQGet, const volatile void*)
HEDDLE_ANNOTATION_OF(NewMemory, const volatile void*, size_t)
HEDDLE_ANNOTATION_OF(PublishMemoryRange, const volatile void*, size_t)
HEDDLE_ANNOTATION_OF(UnpublishMemoryRange, const volatile void*, size_t)
HEDDLE_ANNOTATION_OF(TraceMemory, const volatile void*)
HEDDLE_ANNOTATION_OF(ExpectRace, const volatile void*, const char*)
HEDDLE_ANNOTATION_OF(BenignRace, const volatile void*, const char*)
HEDDLE_ANNOTATION_OF(BenignRaceSized, const volatile void*, size_t, const char*)
HEDDLE_ANNOTATION_OF(ThreadName, const char*)
HEDDLE_ANNOTATION_OF(NoOp, const volatile void*)
HEDDLE_ANNOTATION_OF(EnableRaceDetection, int)
HEDDLE_ANNOTATION(FlushState)
HEDDLE_ANNOTATION(FlushExpectedRaces)
HEDDLE_ANNOTATION(IgnoreReadsBegin)
HEDDLE_ANNOTATION(IgnoreReadsEnd)
HEDDLE_ANNOTATION(IgnoreWritesBegin)
HEDDLE_ANNOTATION(IgnoreWritesEnd)
HEDDLE_ANNOTATION(IgnoreSyncBegin)
HEDDLE_ANNOTATION(IgnoreSyncEnd)
#undef HEDDLE_ANNOTATION
#undef HEDDLE_ANNOTATION_OF
#undef HEDDLE_NOTHING

// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

}  // extern "C"
