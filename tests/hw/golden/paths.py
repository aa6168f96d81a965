"""PTX or AMD assembly -> one line a kernel, of what stands in its loops and on its ways:

loops_that_order=N   loops that wait (they pause) and, without taking anything (a lock, a ticket, a packet) or handing anything over, come by
                     an instruction that orders memory: a fence, an acquire, an invalidation of a cache; "none" where no loop waits
reads=N              the fewest loads of system scope on a way from taking a lock to writing the opcode, the one store of 16 bits: what an
                     open has to read
releases=N           the fewest releases of system scope on a way through a hand-over to the end of the kernel

A number is "-" where there is no such way. gfx90a loads words of the device and of the system alike: there both count.
"""
import heapq
import re
import sys


class Machine:
    def __init__(self, kernel, label, branch, always, end, pause, lock, take, order, read, opcode, release):
        self.kernel, self.label, self.branch, self.always, self.end = map(re.compile, (kernel, label, branch, always, end))
        self.pause, self.lock, self.take, self.order, self.read = map(re.compile, (pause, lock, take, order, read))
        self.opcode, self.release = map(re.compile, (opcode, release))


PTX = Machine(
    kernel=r"\.visible \.entry (\w+)", label=r"(\$L\w+):", branch=r"\bbra(?:\.uni)?\s+(\$L\w+);", always=r"^bra|^ret;|^exit;|^trap;",
    end=r"^ret;|^exit;", pause=r"\bnanosleep", lock=r"\batom\.or\.", take=r"\batom\.(or|add|cas)\.",
    order=r"\bfence\.|\bmembar\.|\bld\.acquire|\batom\.[^ ]*acq|\bred\.[^ ]*acq", read=r"\bld\.(relaxed|acquire)\.sys", opcode=r"\bst\.[^ ]*16\b",
    release=r"\bst\.release\.sys|\bfence\.(acq_rel|release|sc)\.sys|\b(atom|red)\.[^ ]*(release|acq_rel)\.sys")
GCN = Machine(
    kernel=r"^(\w+):.*; @", label=r"(\.LBB\w+):", branch=r"\bs_c?branch\w*\s+(\.LBB\w+)", always=r"^s_branch|^s_endpgm|^s_trap",
    end=r"^s_endpgm", pause=r"^s_sleep", lock=r"^(global|flat)_atomic_or", take=r"^(global|flat)_atomic_(or|add|cmpswap)",
    order=r"^buffer_(inv|wbinv|gl)|^buffer_wb", read=r"^(global|flat)_load_\w+ .*(\bglc\b|\bsc0 sc1\b)", opcode=r"^(global|flat)_store_(short|b16)",
    release=r"^buffer_wbl2(?! sc1$)")


def kernels(lines, machine):
    """Name -> its instructions with the indices of those that may follow each."""
    found, name, code, labels = {}, None, [], {}
    for line in lines + [".visible .entry end(" if machine is PTX else "end: ; @"]:
        start = machine.kernel.search(line)
        if start:
            if name is not None:
                found[name] = [(text, follow(n, text, labels, len(code), machine)) for n, text in enumerate(code)]
            name, code, labels = start[1], [], {}
            continue
        text = re.split(r"//|;\s*%|\s+; ", line)[0].strip() if machine is PTX else line.split(";")[0].strip()
        label = machine.label.match(text)
        if label:
            labels[label[1]] = len(code)
        elif text and not text.startswith((".", "{", "}", "(", ")")):
            code.append(text)
    return {each: code for each, code in found.items() if not each.startswith("__")}


def follow(n, text, labels, count, machine):
    target = machine.branch.search(text)
    following = [labels[target[1]]] if target else []
    if not machine.always.match(text):
        following.append(n + 1)
    return [each for each in following if each < count]


def loops_that_order(code, machine):
    """Of the cycles that neither take nor release, those with a pause: how many have an order in them."""
    cut = [bool(machine.take.search(text) or machine.release.search(text)) for text, _ in code]

    def reached(start, edges):
        seen, left = set(), [start]
        while left:
            for each in edges[left.pop()]:
                if not cut[each] and each not in seen:
                    seen.add(each)
                    left.append(each)
        return seen

    forward = [following for _, following in code]
    backward = [[] for _ in code]
    for n, (_, following) in enumerate(code):
        for each in following:
            backward[each].append(n)
    pauses = [n for n, (text, _) in enumerate(code) if machine.pause.search(text)]
    bad = looping = 0
    for n in pauses:
        cycle = reached(n, forward) & reached(n, backward)
        looping += n in cycle
        bad += n in cycle and any(machine.order.search(code[each][0]) for each in cycle)
    return bad if looping else "none"


def fewest(code, starts, is_end, counts):
    """The fewest instructions that count, on a way from one of the starts to an end, both included."""
    ways = [(int(bool(counts(code[n][0]))), n) for n in starts]
    heapq.heapify(ways)
    done = {}
    while ways:
        cost, n = heapq.heappop(ways)
        if n in done:
            continue
        done[n] = cost
        for each in code[n][1]:
            heapq.heappush(ways, (cost + int(bool(counts(code[each][0]))), each))
    return min((cost for n, cost in done.items() if is_end(code[n][0])), default=None)


def main():
    lines = open(sys.argv[1]).read().split("\n")
    machine = PTX if any(".visible .entry" in line for line in lines) else GCN
    for name, code in kernels(lines, machine).items():
        where = lambda what: [n for n, (text, _) in enumerate(code) if what.search(text)]
        reads = fewest(code, where(machine.lock), machine.opcode.search, machine.read.search)
        ends = [fewest(code, [n], machine.end.match, machine.release.search) for n in where(machine.release)]
        before = fewest(code, [0], machine.release.search, machine.release.search)
        after = min((each for each in ends if each is not None), default=None)
        releases = None if before is None or after is None else before + after - 1
        shown = lambda number: "-" if number is None else number
        print(f"{name}: loops_that_order={loops_that_order(code, machine)} reads={shown(reads)} releases={shown(releases)}")


main()
