/* What the models of ports and of slots share: the words that the two sides have for each of them, the link that delivers a word
 * late, and the progress models. A model says which file of rpc/ it restates; nothing here is made from that code.
 *
 * Parameters, all by -D:
 *   WAVES, BOXES (ports or slots), SERVERS, CALLS   how many; CALLS for each wave. A wave is one lane: the one that acts for its wave
 *   CALL      WAITS: each call waits for its answer; LEAVES: none does; MIXED: waves and calls take turns
 *   PROGRESS  FAIR, HSA, OBE, HSA_OBE, LOBE, UNFAIR: which waves have a turn in the end (docs/simulator.md)
 *   BUG       one planted bug, by name
 *   PRINT_STEPS   pan prints each reachable step from one state of a box to another once, sorted; for searches without reduction
 */
#ifndef WAVES
#define WAVES 2
#endif
#ifndef BOXES
#define BOXES 2
#endif
#ifndef SERVERS
#define SERVERS 1
#endif
#ifndef CALLS
#define CALLS 2
#endif

#define WAITS 0
#define LEAVES 1
#define MIXED 2
#ifndef CALL
#define CALL MIXED
#endif
/* Whether this call of this wave is asynchronous: no wave waits for its answer. */
#define leaves(w, n) (CALL == LEAVES || (CALL == MIXED && ((w) + (n)) % 2 == 1))

#define FAIR 0
#define HSA 1
#define OBE 2
#define HSA_OBE 3
#define LOBE 4
#define UNFAIR 5
#ifndef PROGRESS
#define PROGRESS FAIR
#endif

#define NO_BUG 0
#define LOST_DELIVERY 100 /* what the client's outbox 0 goes back to does not arrive */
#ifndef BUG
#define BUG NO_BUG
#endif

/* "For some box", "for each box", of an expression with one argument; at most four boxes. */
#define SOME(of) (of(0) || of(1 % BOXES) || of(2 % BOXES) || of(3 % BOXES))
#define EACH(of) (of(0) && of(1 % BOXES) && of(2 % BOXES) && of(3 % BOXES))

/* -- the words ------------------------------------------------------------------------------------------------------------------ */

bool c_out[BOXES];  /* the client's outbox */
bool s_out[BOXES];
bool c_in[BOXES];   /* the client's inbox: as much of the server's outbox as has arrived */
bool s_in[BOXES];
bool c_lock[BOXES];
bool s_lock[BOXES];
byte data[BOXES];   /* packet or page: 0, a request, or an answer */

/* Not read by the protocol: what it is judged by. */
bool c_saw[BOXES];     /* the inbox, as the holder of the client's lock read it last */
bool s_saw[BOXES];
bool c_uses[BOXES];    /* a wave of the client is reading or writing the data */
bool s_uses[BOXES];
byte c_holder[BOXES];  /* the wave that holds the lock, plus one; 0: none */
byte s_holder[BOXES];
bool handled[WAVES * CALLS];
bool ended[WAVES];

#define REQUEST(w, n) ((w) * CALLS + (n) + 1)
#define ANSWER(to) ((to) + 100)

#ifdef PRINT_STEPS
/* The state of a box as the last step left it; changes with what it is made of, so it adds no state to the search. */
short before[BOXES];
c_decl {
  /* Eight bits, and two for what the data is. Which steps the search has seen is no part of its own state. */
  static unsigned char seen_steps[1024][1024];
  static void print_state(int state) {
    int bit;
    for (bit = 9; bit >= 2; --bit) {
      putchar('0' + (state >> bit & 1));
      if (bit == 6 || bit == 2) putchar(' ');
    }
    putchar("-ra"[state & 3]);
  }
  static void print_steps(void) {
    int from, to;
    for (from = 0; from < 1024; ++from)
      for (to = 0; to < 1024; ++to)
        if (seen_steps[from][to]) {
          print_state(from);
          printf(" > ");
          print_state(to);
          putchar('\n');
        }
    fflush(stdout);
  }
  static void see_step(int from, int to) {
    static int begun;
    if (!begun) atexit(print_steps);
    begun = 1;
    if (from != to) seen_steps[from][to] = 1;
  }
}
/* The client's outbox, inbox (as read), lock and use, then the server's; then - nothing, r request, a answer. */
#define SEE c_code { \
  int box; \
  for (box = 0; box < BOXES; ++box) { \
    int to = now.c_out[box] << 9 | now.c_saw[box] << 8 | now.c_lock[box] << 7 | now.c_uses[box] << 6 | \
             now.s_out[box] << 5 | now.s_saw[box] << 4 | now.s_lock[box] << 3 | now.s_uses[box] << 2 | \
             (now.data[box] > 100 ? 2 : now.data[box] > 0 ? 1 : 0); \
    see_step(now.before[box], to); \
    now.before[box] = to; \
  } \
}
#else
#define SEE
#endif

/* -- locks ---------------------------------------------------------------------------------------------------------------------- */

/* fetch_or: `got` says whether the lock was free. */
inline client_try_lock(b) {
  got = !c_lock[b];
  c_lock[b] = true;
  if
  :: got -> c_holder[b] = me + 1
  :: else
  fi;
  SEE
}
inline client_unlock(b) {
  assert(c_lock[b]);
  c_lock[b] = false;
  c_holder[b] = 0;
  SEE
}
inline server_try_lock(b) {
  got = !s_lock[b];
  s_lock[b] = true;
  if
  :: got -> s_holder[b] = me + 1
  :: else
  fi;
  SEE
}
inline server_unlock(b) {
  assert(s_lock[b]);
  s_lock[b] = false;
  s_holder[b] = 0;
  SEE
}

/* -- data ----------------------------------------------------------------------------------------------------------------------- */

/* The data is in use between two steps, so that others can come in between. Each model defines CLIENT_OWNS and SERVER_OWNS by the
 * outboxes themselves, whatever has arrived of them. Nothing is under way to the side that owns. */
inline client_begins_use(b) {
  assert(!s_uses[b] && !c_uses[b]);
  assert(c_holder[b] == me + 1);
  assert(CLIENT_OWNS(b));
  assert(c_in[b] == s_out[b]);
  c_uses[b] = true;
  SEE
}
inline client_ends_use(b) {
  assert(c_holder[b] == me + 1);
  assert(CLIENT_OWNS(b));
  c_uses[b] = false;
  SEE
}
inline server_begins_use(b) {
  assert(!s_uses[b] && !c_uses[b]);
  assert(s_holder[b] == me + 1);
  assert(SERVER_OWNS(b));
  assert(s_in[b] == c_out[b]);
  s_uses[b] = true;
  SEE
}
inline server_ends_use(b) {
  assert(s_holder[b] == me + 1);
  assert(SERVER_OWNS(b));
  s_uses[b] = false;
  SEE
}

/* A request is handled once. */
inline handle(request) {
  assert(request >= 1 && request <= WAVES * CALLS);
  assert(!handled[request - 1]);
  handled[request - 1] = true
}

/* -- the link ------------------------------------------------------------------------------------------------------------------- */

/* A store arrives when this process gets to it. At most one is under way in each direction of a box: a side that toggles waits for the
 * other side to toggle before it toggles again; what the client's side then has is either the word or the word before. */
#define under_way(b) (c_in[b] != s_out[b] || s_in[b] != c_out[b])
active proctype link() {
  byte b;
end_nothing_is_under_way:
  do
  :: atomic {
       SOME(under_way) ->
       if
       :: c_in[0] != s_out[0] -> c_in[0] = s_out[0]
#if BUG != LOST_DELIVERY
       :: s_in[0] != c_out[0] -> s_in[0] = c_out[0]
#else
       :: s_in[0] != c_out[0] && c_out[0] -> s_in[0] = c_out[0]
#endif
#if BOXES > 1
       :: c_in[1] != s_out[1] -> c_in[1] = s_out[1]
       :: s_in[1] != c_out[1] -> s_in[1] = c_out[1]
#endif
#if BOXES > 2
       :: c_in[2] != s_out[2] -> c_in[2] = s_out[2]
       :: s_in[2] != c_out[2] -> s_in[2] = c_out[2]
#endif
#if BOXES > 3
       :: c_in[3] != s_out[3] -> c_in[3] = s_out[3]
       :: s_in[3] != c_out[3] -> s_in[3] = c_out[3]
#endif
       fi
     }
  od
}

/* -- progress ------------------------------------------------------------------------------------------------------------------- */

/* A wave that is out of turns takes no step, unless it comes to be one that is guaranteed a turn. Waits are guards, and there are
 * finitely many calls: so a progress model allows a hang exactly where, for some choice of which waves run out of turns and when, a state
 * is reached in which no process can step and one has not ended: an invalid end state. */
#if PROGRESS == FAIR
#define may_step true
#define takes_a_step skip
#else
bool out_of_turns[WAVES + 1]; /* one more: a wave that runs when the others have ended always has turns */
bool started[WAVES + 1];
#define live(w) (!ended[w])
#define lowest (me == 0 || (ended[0] && (me == 1 || (ended[1 % WAVES] && (me == 2 || (ended[2 % WAVES] && me == 3))))))
/* No live wave has started, so one that has not is let start (minimal progress). */
#define runs(w) (started[w] && !ended[w])
#define first_to_start (!started[me] && !runs(0) && !runs(1 % WAVES) && !runs(2 % WAVES) && !runs(3 % WAVES))
/* A wave whose id is not lower has started. */
#define below_a_started (started[3 % WAVES] && me <= 3 % WAVES || started[2 % WAVES] && me <= 2 % WAVES || \
                         started[1 % WAVES] && me <= 1 % WAVES || started[0] && me == 0)
#if PROGRESS == HSA
#define guaranteed lowest
#elif PROGRESS == OBE
#define guaranteed (started[me] || first_to_start)
#elif PROGRESS == HSA_OBE
#define guaranteed (started[me] || lowest)
#elif PROGRESS == LOBE
#define guaranteed (below_a_started || first_to_start)
#else
#define guaranteed (!started[me])
#endif
#define may_step (!out_of_turns[me] || guaranteed)
#define takes_a_step started[me] = true

proctype adversary(byte w) {
end_free_to_wait:
  if
  :: out_of_turns[w] = true
  :: skip
  fi
}
#endif
#define STEP may_step; takes_a_step

/* -- the end -------------------------------------------------------------------------------------------------------------------- */

#define all_have_ended (ended[0] && ended[1 % WAVES] && ended[2 % WAVES] && ended[3 % WAVES])
#define box_is_idle(b) (!c_lock[b] && !s_lock[b] && c_in[b] == s_out[b] && s_in[b] == c_out[b] && IDLE(b))

bool finished;
ltl all_ends { <> finished }

/* Every wave has ended, every request was handled, every box is back where it started and both sides know it. */
active proctype judge() {
  byte n;
  all_have_ended && EACH(box_is_idle);
  atomic {
    for (n : 0 .. WAVES * CALLS - 1) {
      assert(handled[n])
    }
    finished = true
  }
}
