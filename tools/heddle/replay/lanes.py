"""Lanes of a simulated run, for gdb.

  heddle lanes      every lane: its state, what it does or waits in, and where
  heddle lane ID    a lane's own stack, which the commands for frames (backtrace, up, info locals) then show; 1.3 is lane 3 of wave 1,
                    and a host thread goes by its name
  heddle lane       back to where the process stands

`heddle replay --gdb` loads this; elsewhere, source it. It reads memory alone: the process need not run, and is not changed. A lane that does
not run has left its registers on its stack, in the order of Boost.Context's jump_fcontext.
"""
import os
import re

import gdb
import gdb.unwinder

# Frames of these are the machine's, and not the code under test.
MACHINE = re.compile(
    r"heddle::(sim|scheduler|tools)::|boost::|std::|__?tsan_|(__)?pthread_|jump_fcontext|make_fcontext|(__GI_)?raise$|operator (new|delete)"
)
# Lines of frames that belong to the machine whatever their function is called: the headers that stand in for a GPU's.
MACHINE_FILES = re.compile(r"^(sim|scheduler)/|/heddle/(sim|scheduler)/|^/usr/(include|lib)/|^\./nptl/|^\.\./sysdeps/")
# Where `--break` stops (sim/observe/debugger.cpp): itself, or a function of the C library's that it calls.
STOPS = ("heddle::sim::stop_for_debugger", "__pthread_kill_implementation")
STATES = {"candidate": "enabled"}


def elements(vector):
    """The elements of a std::vector of libstdc++ or libc++."""
    try:
        first, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    except gdb.error:
        first, end = vector["__begin_"], vector["__end_"]
    return [first[n] for n in range(int(end - first))]


def core():
    """The run that this OS thread makes (sim/core/run_core.h)."""
    symbol = gdb.lookup_global_symbol("heddle::sim::execution::instance")
    if symbol is None:
        raise gdb.GdbError("there is no simulator in this program, or no debug information of it")
    execution = symbol.value()
    if int(execution) == 0:
        raise gdb.GdbError("no simulated run is under way in this thread")
    return execution["core_"]


def first_used(values, used):
    return [place.dereference() for place in elements(values["places_"])[: int(used)]]


def lanes():
    threads = core()["threads"]
    return first_used(threads["lanes"], threads["lanes_used"])


def id_of(lane):
    wave = lane["of"].dereference()
    if wave["host"]:
        try:
            return wave["name"]["_M_dataplus"]["_M_p"].string()
        except gdb.error:
            return wave["name"].format_string().strip('"')
    return "%d.%d" % (int(wave["device_id"]), int(lane["index"]))


def word(enumerator):
    return str(enumerator).split("::")[-1].replace("_", " ")


def doing(lane):
    """"load acquire system": as reports have it (sim/machine/operation.cpp)."""
    pending = lane["pending"]
    kind = word(pending["kind"])
    kind = {"read modify write": "read-modify-write", "compare exchange": "compare-exchange"}.get(kind, kind)
    atomic = kind in ("load", "store", "read-modify-write", "compare-exchange", "fence", "volatile load", "volatile store")
    return "%s %s %s" % (kind, word(pending["order"]), word(pending["reach"])) if atomic else kind


def stands_on(lane, address):
    stack = lane["runs"]["stack_"]
    low = int(stack["low"])
    return bool(lane["begun"]) and low <= address < low + int(stack["size_bytes"])


def running(all_lanes):
    """The lane on whose stack the process stands; None on the OS thread's own."""
    stack_pointer = int(real_frame().read_register("rsp"))
    live = [lane for lane in all_lanes if word(lane["state"]) != "ended"]
    return next((lane for lane in live if stands_on(lane, stack_pointer)), None)


class lane_unwinder(gdb.unwinder.Unwinder):
    """Lets the frame in which the process stands be called by a lane that does not run, while that lane is chosen."""

    def __init__(self):
        super().__init__("heddle lane")
        self.registers = None
        self.stack_pointer = None
        self.places = None

    def choose(self, lane):
        """Of None: no lane."""
        registers = None if lane is None else self.registers_of(lane)
        self.registers = None
        gdb.invalidate_cached_frames()
        self.stack_pointer = int(gdb.newest_frame().read_register("rsp"))
        self.registers = registers
        gdb.invalidate_cached_frames()

    def registers_of(self, lane):
        """What it has left, as jump_fcontext puts it: name to value."""
        left = int(lane["runs"]["context_"])
        pointer = gdb.lookup_type("unsigned long").pointer()
        size, places = self.layout()
        found = {name: gdb.Value(left + at).cast(pointer).dereference() for name, at in places.items()}
        found["rip"] = gdb.Value(left + size).cast(pointer).dereference()
        found["rsp"] = gdb.Value(left + size + 8).cast(pointer.target())
        return found

    def layout(self):
        """How many bytes it takes below the address to return to, and where in them it saves which register."""
        if self.places is None:
            code = gdb.execute("with disassembly-flavor att -- x/16i jump_fcontext", to_string=True)
            size = re.search(r"lea +-0x([0-9a-f]+)\(%rsp\),%rsp", code)
            saved = re.findall(r"mov +%(r1[2-5]|rbx|rbp),(?:0x([0-9a-f]+))?\(%rsp\)", code)
            if size is None or {name for name, _ in saved} != {"rbx", "rbp", "r12", "r13", "r14", "r15"}:
                raise gdb.GdbError("the stacks of lanes cannot be read here: Boost.Context saves registers in another way than on x86-64")
            self.places = int(size.group(1), 16), {name: int(at or "0", 16) for name, at in saved}
        return self.places

    def __call__(self, pending_frame):
        if self.registers is None:
            return None
        stack_pointer = pending_frame.read_register("rsp")
        if int(stack_pointer) != self.stack_pointer:
            return None
        made = pending_frame.create_unwind_info(frame_id(stack_pointer, pending_frame.read_register("rip")))
        for name, value in self.registers.items():
            made.add_saved_register(name, value.cast(pending_frame.read_register(name).type))
        return made


class frame_id:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


unwinder = lane_unwinder()


def real_frame():
    """The frame in which the process stands, whichever lane is chosen."""
    return gdb.newest_frame()


def frames(first):
    """Those from this one outwards."""
    level = first
    while level is not None and level.is_valid():
        yield level
        try:
            level = level.older()
        except gdb.error:
            return


def place_of(frame):
    where = frame.find_sal()
    return "%s:%d" % (os.path.normpath(where.symtab.filename), where.line) if where.symtab is not None else None


def function_of(frame):
    """Without namespaces, classes and arguments of templates, as reports name it."""
    name = (frame.name() or "??").replace("(anonymous namespace)", "").replace("operator()", "operator\0")
    before = None
    while name != before:
        before, name = name, re.sub(r"<[^<>]*>", "", name)
    return name.partition("(")[0].rpartition("::")[2].replace("\0", "()")


def under_test(frame):
    where = frame.find_sal()
    if where.symtab is None or MACHINE_FILES.search(where.symtab.filename):
        return False
    return not MACHINE.match(frame.name() or "??")


def own_frames(lane, is_running):
    """The frames of the code under test that the lane is in, innermost first; chooses the lane."""
    unwinder.choose(None if is_running else lane)
    start = real_frame() if is_running else real_frame().older()
    found = []
    for frame in frames(start):
        if re.match(r"heddle::sim::execution::run_lane|heddle::sim::fiber::start", frame.name() or ""):
            break
        if under_test(frame):
            found.append(frame)
    return found


def state_of(lane, is_running):
    state = word(lane["state"])
    return "runs" if is_running else "not begun" if not lane["begun"] else STATES.get(state, state)


def has_stack(lane):
    return bool(lane["begun"]) and word(lane["state"]) != "ended"


def find_sources():
    """Names in the program are relative to the folder of its sources: one of those above the program, as a rule."""
    place = place_of(gdb.selected_frame())
    folder = os.path.dirname(gdb.current_progspace().filename or "")
    while place is not None and not os.path.isabs(place) and folder not in ("", "/"):
        if os.path.isfile(os.path.join(folder, place.rpartition(":")[0])):
            if folder not in gdb.parameter("directories").split(":"):
                gdb.execute("directory " + folder, to_string=True)
            return
        folder = os.path.dirname(folder)


def level_of(frame):
    return sum(1 for _ in frames(real_frame())) - sum(1 for _ in frames(frame))


class heddle_command(gdb.Command):
    """Lanes of a simulated run."""

    def __init__(self):
        super().__init__("heddle", gdb.COMMAND_STACK, prefix=True)


class heddle_lanes(gdb.Command):
    """Lists the lanes of the run: state, operation, place in the code under test. "*" marks the one that runs."""

    def __init__(self):
        super().__init__("heddle lanes", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        unwinder.choose(None)
        all_lanes = lanes()
        runs = running(all_lanes)
        rows = []
        for lane in all_lanes:
            is_running = runs is not None and lane.address == runs.address
            own = own_frames(lane, is_running) if has_stack(lane) else []
            where = place_of(own[0]) if own else ""
            what = doing(lane) if has_stack(lane) else ""
            rows.append(("*" if is_running else " ", id_of(lane), state_of(lane, is_running), what, where))
        unwinder.choose(None)
        widths = [max([len(row[n]) for row in rows] + [0]) for n in range(4)]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[4])


class heddle_lane(gdb.Command):
    """Shows a lane's own stack, and makes it that of the commands for frames: heddle lane 1.3, heddle lane NAME. Without an ID, back to where
the process stands."""

    def __init__(self):
        super().__init__("heddle lane", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        unwinder.choose(None)
        if not wanted:
            gdb.execute("frame")
            return
        all_lanes = lanes()
        lane = next((each for each in all_lanes if id_of(each) == wanted), None)
        if lane is None:
            raise gdb.GdbError('there is no lane "%s"; heddle lanes lists them' % wanted)
        runs = running(all_lanes)
        is_running = runs is not None and lane.address == runs.address
        if not has_stack(lane):
            raise gdb.GdbError("lane %s has no stack: it has %s" % (wanted, "ended" if lane["begun"] else "not begun"))
        own = own_frames(lane, is_running)
        print("%s: %s, %s" % (wanted, state_of(lane, is_running), doing(lane)))
        for frame in own:
            print("#%-3d %s (%s)" % (level_of(frame), place_of(frame), function_of(frame)))
        if own:
            own[0].select()
            find_sources()


def stopped(event):
    """A stop of `--break`: the frame of the code under test is the one to look at; at the end of the run, the lane that it is about."""
    unwinder.registers = None
    if gdb.selected_thread() is None or gdb.newest_frame().name() not in STOPS:
        return
    # Behind gdb's own words on the stop.
    gdb.events.before_prompt.connect(look_at_code)


def look_at_code():
    gdb.events.before_prompt.disconnect(look_at_code)
    all_lanes = lanes()
    if running(all_lanes) is None:
        ended_by = core()["ending"]["ended_by"]
        about = next((each for each in all_lanes if each.address == ended_by), None)
        gdb.execute("heddle lanes" if about is None else "heddle lane " + id_of(about))
        return
    frame = next((each for each in frames(real_frame()) if under_test(each)), None)
    if frame is not None:
        frame.select()
        find_sources()
        gdb.execute("frame")


def goes_on(event):
    unwinder.registers = None


gdb.unwinder.register_unwinder(None, unwinder, replace=True)
# Branches that tell heddle which way they go raise it. A fault that is the program's own ends its run with a verdict, as without gdb.
gdb.execute("handle SIGILL nostop noprint pass", to_string=True)
gdb.events.stop.connect(stopped)
gdb.events.cont.connect(goes_on)
heddle_command()
heddle_lanes()
heddle_lane()
