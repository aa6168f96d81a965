#include <heddle/tools/progress/judge/rpc_shapes.h>

namespace heddle::judge {
namespace {

// The server looks at one port after the other and goes on for ever: the last step, taken when `done` was 0, goes back to the first.
#define HEDDLE_ONE_PORT "S0{0:if xchg(ask0,0)==0 goto 0; 1:if xchg(done0,1)==0 goto 0}"
#define HEDDLE_TWO_PORTS \
  "S0{0:if xchg(ask0,0)==0 goto 2; 1:st done0=1; 2:if xchg(ask1,0)==0 goto 0; 3:if xchg(done1,1)==0 goto 0}"

// Lock the port, ask, wait, unlock.
#define HEDDLE_LOCKED_CALL "{0:if xchg(lock0,1)==1 goto 0; 1:st ask0=1; 2:if xchg(done0,0)==0 goto 2; 3:st lock0=0}"

// Try one port and then the other until one is free.
#define HEDDLE_SCANNING_CALL                                                                                 \
  "{0:if xchg(lock0,1)==0 goto 5; 1:if xchg(lock1,1)==1 goto 0; 2:st ask1=1; 3:if xchg(done1,0)==0 goto 3; " \
  "4:if xchg(lock1,0)==1 goto END; 5:st ask0=1; 6:if xchg(done0,0)==0 goto 6; 7:st lock0=0}"

const std::vector<rpc_shape> shapes = {
    {"own-ports", "two waves, a port each",
     "T0{0:st ask0=1; 1:if ld done0==0 goto 1}\n"
     "T1{0:st ask1=1; 1:if ld done1==0 goto 1}\n" HEDDLE_TWO_PORTS},
    {"shared-port", "two waves share a port under a spin lock",
     "T0" HEDDLE_LOCKED_CALL "\nT1" HEDDLE_LOCKED_CALL "\n" HEDDLE_ONE_PORT},
    {"shared-port-3", "three waves share a port under a spin lock",
     "T0" HEDDLE_LOCKED_CALL "\nT1" HEDDLE_LOCKED_CALL "\nT2" HEDDLE_LOCKED_CALL "\n" HEDDLE_ONE_PORT},
    {"try-lock", "three waves, two ports, scan with try-lock",
     "T0" HEDDLE_SCANNING_CALL "\nT1" HEDDLE_SCANNING_CALL "\nT2" HEDDLE_SCANNING_CALL "\n" HEDDLE_TWO_PORTS},
    {"waits-for-higher", "wave 0 waits for what wave 1 does after its call",
     "T0{0:st ask0=1; 1:if ld done0==0 goto 1; 2:if ld flag==0 goto 2}\n"
     "T1{0:st ask1=1; 1:if ld done1==0 goto 1; 2:st flag=1}\n" HEDDLE_TWO_PORTS},
    {"waits-for-lower", "wave 1 waits for what wave 0 does after its call",
     "T0{0:st ask0=1; 1:if ld done0==0 goto 1; 2:st flag=1}\n"
     "T1{0:st ask1=1; 1:if ld done1==0 goto 1; 2:if ld flag==0 goto 2}\n" HEDDLE_TWO_PORTS},
    {"barrier", "a barrier of two waves, then a call each",
     "T0{0:st here0=1; 1:if ld here1==0 goto 1; 2:st ask0=1; 3:if ld done0==0 goto 3}\n"
     "T1{0:st here1=1; 1:if ld here0==0 goto 1; 2:st ask1=1; 3:if ld done1==0 goto 3}\n" HEDDLE_TWO_PORTS},
    {"few-places", "two waves, a call each, then each waits for the other",
     "T0{0:st ask0=1; 1:if ld done0==0 goto 1; 2:st went0=1; 3:if ld went1==0 goto 3}\n"
     "T1{0:st ask1=1; 1:if ld done1==0 goto 1; 2:st went1=1; 3:if ld went0==0 goto 3}\n" HEDDLE_TWO_PORTS},
    {"helper-kernel", "wave 0 waits for a kernel that is launched behind it",
     "T0{0:if ld helped==0 goto 0}\n"
     "T1{0:st helped=1}"},
    {"persistent-kernel", "wave 0 works until the host stops it, behind wave 1's end",
     "T0{0:if ld stop==1 goto END; 1:if xchg(work,0)==0 goto 0}\n"
     "T1{0:st done=1}\n"
     "H0{0:if ld done==0 goto 0; 1:st stop=1}"},
};

}  // namespace

const std::vector<rpc_shape>& rpc_shapes() { return shapes; }

}  // namespace heddle::judge
