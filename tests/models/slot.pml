/* The slot protocol, four phases: docs/slots.md, rpc/slot/.
 *
 * Beside what both_sides.pml takes: ENDING, EARLY (a call gives its slot back with the answer) or UNTIL_IDLE (when it is cleared).
 *
 * What is left out: as in port.pml. A mailbox is a bit that its side alone changes; that neighbours share its word is not modelled.
 */
#define EARLY 0
#define UNTIL_IDLE 1
#ifndef ENDING
#define ENDING EARLY
#endif

/* Planted bugs, beside LOST_DELIVERY. */
#define EARLY_POST 1          /* the server posts, and then writes the answer */
#define EARLY_ACKNOWLEDGE 2   /* the client acknowledges the answer, and then reads it */
#define EARLY_CLOSE 3         /* the client unlocks before it has read the answer */
#define CLIENT_UNLOCKED 4     /* the client takes a slot without the lock */
#define SERVER_UNLOCKED 5     /* the server takes a slot without the lock */
#define CLIENT_LOOKS_ONCE 6   /* the client does not look again with the lock in hand */
#define SERVER_LOOKS_ONCE 7   /* the server does not look again with the lock in hand */
#define TAKES_UNCLEARED 8     /* the client takes a slot whose outbox is 0, whatever its inbox says */
#define NO_CLEAR 9            /* the server posts for the second time and has not cleared the page */
#define NEVER_COLLECTS 10     /* answers that no wave waits for are never acknowledged */
#define COLLECTS_UNLOCKED 11  /* answers are acknowledged although a wave waits for them */
#define TWO_UNLOCKS 12        /* the client unlocks twice */

/* The outboxes differ: the server owns the page. They are equal: the holder of the client's lock does. */
#define CLIENT_OWNS(b) (c_out[b] == s_out[b])
#define SERVER_OWNS(b) (c_out[b] != s_out[b])
#define IDLE(b) (!c_out[b] && !s_out[b])

#include "both_sides.pml"

#define looks_idle(b) (!c_lock[b] && (!c_in[b] || BUG == TAKES_UNCLEARED) && !c_out[b])
#define looks_done(b) ((!c_lock[b] || BUG == COLLECTS_UNLOCKED) && c_in[b] && c_out[b] && BUG != NEVER_COLLECTS)
#define looks_worth(b) (looks_idle(b) || looks_done(b))
#define looks_asked(b) (s_in[b] != s_out[b])

/* A look at each slot, and the acknowledgement of answers that no wave waits for. */
inline collect() {
  atomic { STEP; n = 0; slot = 0 }
  do
  :: n < BOXES ->
    if
    :: atomic { may_step && looks_done(slot) -> takes_a_step }
#if BUG == COLLECTS_UNLOCKED
      atomic { STEP; c_out[slot] = false; SEE }
#else
      atomic { STEP; client_try_lock(slot) }
      if
      :: got ->
        atomic { STEP; c_saw[slot] = c_in[slot]; found = c_in[slot] && c_out[slot]; SEE }
        if
        :: found -> atomic { STEP; assert(CLIENT_OWNS(slot)); c_out[slot] = false; SEE }
        :: else
        fi;
        atomic { STEP; client_unlock(slot) }
      :: else
      fi
#endif
    :: atomic { may_step && !looks_done(slot) -> takes_a_step }
    fi;
    n++;
    slot = (slot + 1) % BOXES
  :: else -> break
  od
}

proctype wave(byte me) {
  byte n, slot, call;
  bool got, found, again;
  do
  :: call < CALLS ->
    again = false;
    /* Each slot once, from the wave's own on. When none is idle, the answers that no wave waits for are collected, and the call fails;
     * here it is repeated when another look may find something. */
  invoke:
    atomic {
      (!again || SOME(looks_worth)) && STEP;
      again = true;
      n = 0;
      slot = me % BOXES
    }
    do
    :: n < BOXES ->
      if
      :: atomic { may_step && looks_idle(slot) -> takes_a_step }
#if BUG == CLIENT_UNLOCKED
        atomic { STEP; got = true; c_holder[slot] = me + 1 }
#else
        atomic { STEP; client_try_lock(slot) }
#endif
        if
        :: got ->
          atomic {
            STEP;
            c_saw[slot] = c_in[slot];
            found = (!c_in[slot] || BUG == TAKES_UNCLEARED) && !c_out[slot] || BUG == CLIENT_LOOKS_ONCE;
            SEE
          }
          if
          :: found -> goto taken
          :: else
#if BUG != CLIENT_UNLOCKED
            -> atomic { STEP; client_unlock(slot) }
#endif
          fi
        :: else
        fi
      :: atomic { may_step && !looks_idle(slot) -> takes_a_step }
      fi;
      n++;
      slot = (slot + 1) % BOXES
    :: else -> break
    od;
    collect();
    goto invoke;

  taken:
    atomic { STEP; client_begins_use(slot) }
    atomic { STEP; assert(data[slot] == 0); data[slot] = REQUEST(me, call); client_ends_use(slot) }
    atomic { STEP; assert(!c_out[slot]); c_out[slot] = true; SEE }
    if
    :: !leaves(me, call) ->
      atomic { may_step && c_in[slot] -> takes_a_step; c_saw[slot] = true; SEE }
#if BUG == EARLY_ACKNOWLEDGE
      atomic { STEP; c_out[slot] = false; SEE }
#endif
#if BUG == EARLY_CLOSE
      atomic { STEP; c_lock[slot] = false; SEE }
#endif
      atomic { STEP; client_begins_use(slot) }
      atomic { STEP; assert(data[slot] == ANSWER(REQUEST(me, call))); client_ends_use(slot) }
#if BUG != EARLY_ACKNOWLEDGE
      atomic { STEP; assert(c_out[slot]); c_out[slot] = false; SEE }
#endif
#if ENDING == UNTIL_IDLE
      atomic { may_step && !c_in[slot] -> takes_a_step; c_saw[slot] = false; SEE }
#endif
    :: else
    fi;
#if BUG != CLIENT_UNLOCKED
    if
    :: BUG != EARLY_CLOSE || leaves(me, call) -> atomic { STEP; client_unlock(slot) }
    :: else
    fi;
#endif
#if BUG == TWO_UNLOCKS
    atomic { STEP; client_unlock(slot) }
#endif
    call++
  :: else -> break
  od;
  ended[me] = true
}

/* One more wave, of a launch of its own: collects until every slot is idle. */
active proctype collector() {
  byte n, slot, me = WAVES;
  bool got, found;
  all_have_ended;
end_nothing_to_collect:
  SOME(looks_done);
  collect();
  goto end_nothing_to_collect
}

proctype server(byte me) {
  byte n, slot;
  bool got, found, work;
  slot = me % BOXES;
end_nobody_asks:
  atomic { SOME(looks_asked) -> n = 0 }
  do
  :: n < BOXES ->
    if
    :: atomic { looks_asked(slot) }
#if BUG == SERVER_UNLOCKED
      atomic { got = true; s_holder[slot] = me + 1 }
#else
      atomic { server_try_lock(slot) }
#endif
      if
      :: got ->
        atomic { s_saw[slot] = s_in[slot]; work = s_in[slot]; found = s_in[slot] != s_out[slot] || BUG == SERVER_LOOKS_ONCE; SEE }
        if
        :: found -> goto taken
        :: else
#if BUG != SERVER_UNLOCKED
          -> atomic { server_unlock(slot) }
#endif
        fi
      :: else
      fi
    :: atomic { !looks_asked(slot) }
    fi;
    n++;
    slot = (slot + 1) % BOXES
  :: else -> goto end_nobody_asks
  od;

taken:
#if BUG == EARLY_POST
  atomic { s_out[slot] = work; SEE }
#endif
  atomic { server_begins_use(slot) }
  atomic {
    if
    :: work ->
      handle(data[slot]);
      data[slot] = ANSWER(data[slot])
    :: else ->
      assert(data[slot] > 100);
      data[slot] = (BUG == NO_CLEAR -> data[slot] : 0)
    fi;
    server_ends_use(slot)
  }
#if BUG != EARLY_POST
  atomic { assert(s_out[slot] != work); s_out[slot] = work; SEE }
#endif
#if BUG != SERVER_UNLOCKED
  atomic { server_unlock(slot) }
#endif
  slot = (slot + 1) % BOXES;
  goto end_nobody_asks
}

init {
  byte n;
  atomic {
    SEE
    for (n : 0 .. SERVERS - 1) { run server(n) }
    for (n : 0 .. WAVES - 1) {
      run wave(n);
#if PROGRESS != FAIR
      run adversary(n)
#endif
    }
  }
}
