/* The port protocol: docs/ports.md, rpc/port/, rpc/mailbox.h, rpc/lock.h.
 *
 * Beside what both_sides.pml takes: SENDS, the packets of each request. With more than one the server waits inside the call.
 *
 * What is left out: lanes beside the first of a wave, the doorbell, servers that end, checks, and memory orders. Memory is one, but
 * for the outboxes, which arrive late: that what was stored before a hand-over arrives before it is what release and acquire are for,
 * and what the simulator's memory and its race detector are for. A look that only steers (a scan without the lock) is one step.
 */
#ifndef SENDS
#define SENDS 1
#endif

/* Planted bugs, beside LOST_DELIVERY. */
#define EARLY_TOGGLE 1    /* the server hands over, and then writes the answer */
#define EARLY_CLOSE 2     /* the client unlocks before it has read the answer */
#define CLIENT_UNLOCKED 3 /* the client opens without the lock */
#define SERVER_UNLOCKED 4 /* the server opens without the lock */
#define NO_SECOND_LOOK 5  /* the server takes the lock and does not look at the inbox again */
#define NOT_OWNED 6       /* the client takes the lock and does not look at the inbox */
#define STALE_MIRROR 7    /* a client's port does not keep its copy of the outbox in step */
#define TWO_UNLOCKS 8     /* the client unlocks twice */
#define NO_UNLOCK 9       /* the client forgets to, behind a call that it does not wait for */
#define KEPT_PACKET 10    /* the server closes, and does not hand the packet back */
#define NEVER_SERVES 11   /* the server puts back each port that it finds: all processes step, and nothing is done */

/* Equal words: the client owns the packet. */
#define CLIENT_OWNS(b) (c_out[b] == s_out[b])
#define SERVER_OWNS(b) (c_out[b] != s_out[b])
#define IDLE(b) (c_out[b] == s_out[b])

#include "both_sides.pml"

#define looks_free(b) (!c_lock[b] && c_in[b] == c_out[b])
#define looks_asked(b) (s_in[b] != s_out[b])

proctype wave(byte me) {
  byte n, port, call, sent;
  bool got, owns, first_pass;
  bool mine; /* the open port's copy of its outbox */
  do
  :: call < CALLS ->
    /* open: from the wave's own port on; the first pass locks at once, later ones look first */
    first_pass = true;
  pass:
    atomic {
      (first_pass || SOME(looks_free)) && STEP;
      n = 0;
      port = me % BOXES
    }
    do
    :: n < BOXES ->
      if
      :: atomic { may_step && (first_pass || looks_free(port)) -> takes_a_step }
#if BUG == CLIENT_UNLOCKED
        atomic { STEP; got = true; c_holder[port] = me + 1 }
#else
        atomic { STEP; client_try_lock(port) }
#endif
        if
        :: got ->
          atomic { STEP; mine = c_out[port]; c_saw[port] = c_in[port]; owns = c_in[port] == mine || BUG == NOT_OWNED; SEE }
          if
          :: owns -> goto opened
          :: else
#if BUG != CLIENT_UNLOCKED
            -> atomic { STEP; client_unlock(port) }
#endif
          fi
        :: else
        fi
      :: atomic { may_step && !first_pass && !looks_free(port) -> takes_a_step }
      fi;
      n++;
      port = (port + 1) % BOXES
    :: else -> break
    od;
    first_pass = false;
    goto pass;

  opened:
    sent = 0;
    do
    :: sent < SENDS ->
      if
      :: sent > 0 -> atomic { may_step && c_in[port] == mine -> takes_a_step; c_saw[port] = c_in[port]; SEE }
      :: else
      fi;
      atomic { STEP; client_begins_use(port) }
      atomic { STEP; data[port] = REQUEST(me, call); client_ends_use(port) }
      atomic { STEP; c_out[port] = !mine; mine = mine ^ (BUG != STALE_MIRROR); sent++; SEE }
    :: else -> break
    od;
    if
    :: !leaves(me, call) ->
      atomic { may_step && c_in[port] == mine -> takes_a_step; c_saw[port] = c_in[port]; SEE }
#if BUG == EARLY_CLOSE
      atomic { STEP; c_lock[port] = false; SEE }
#endif
      atomic { STEP; client_begins_use(port) }
      atomic { STEP; assert(data[port] == ANSWER(REQUEST(me, call))); client_ends_use(port) }
    :: else
    fi;
#if BUG == NO_UNLOCK
    if
    :: leaves(me, call) -> goto closed
    :: else
    fi;
#endif
#if BUG != CLIENT_UNLOCKED
    if
    :: BUG != EARLY_CLOSE || leaves(me, call) -> atomic { STEP; assert(mine == c_out[port]); client_unlock(port) }
    :: else
    fi;
#endif
#if BUG == TWO_UNLOCKS
    atomic { STEP; client_unlock(port) }
#endif
  closed:
    call++
  :: else -> break
  od;
  ended[me] = true
}

proctype server(byte me) {
  byte n, port, received, request;
  bool got, owns, mine;
  port = me % BOXES;
end_nobody_asks:
  atomic { SOME(looks_asked) -> n = 0 }
  do
  :: n < BOXES ->
    if
    :: atomic { looks_asked(port) }
#if BUG == SERVER_UNLOCKED
      atomic { got = true; s_holder[port] = me + 1 }
#else
      atomic { server_try_lock(port) }
#endif
      if
      :: got ->
        atomic { mine = s_out[port]; s_saw[port] = s_in[port]; owns = (s_in[port] != mine || BUG == NO_SECOND_LOOK) && BUG != NEVER_SERVES; SEE }
        if
        :: owns -> goto opened
        :: else
#if BUG != SERVER_UNLOCKED
          -> atomic { server_unlock(port) }
#endif
        fi
      :: else
      fi
    :: atomic { !looks_asked(port) }
    fi;
    n++;
    port = (port + 1) % BOXES
  :: else -> goto end_nobody_asks
  od;

opened:
  received = 0;
  do
  :: received < SENDS ->
    if
    :: received > 0 ->
      atomic { s_out[port] = !mine; mine = !mine; SEE }
      atomic { s_in[port] != mine -> s_saw[port] = s_in[port]; SEE }
    :: else
    fi;
    atomic { server_begins_use(port) }
    atomic { assert(received == 0 || data[port] == request); request = data[port]; server_ends_use(port); received++ }
  :: else -> break
  od;
  atomic { handle(request) }
#if BUG == EARLY_TOGGLE
  atomic { s_out[port] = !mine; SEE }
#endif
  atomic { server_begins_use(port) }
  atomic { data[port] = ANSWER(request); server_ends_use(port) }
#if BUG != EARLY_TOGGLE && BUG != KEPT_PACKET
  atomic { s_out[port] = !mine; SEE }
#endif
#if BUG != SERVER_UNLOCKED
  atomic { server_unlock(port) }
#endif
  port = (port + 1) % BOXES;
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
