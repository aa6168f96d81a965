#!/usr/bin/env python3
"""PTX for tests, and what it must compute.

  generate.py litmus TABLE.csv OUT.ptx           a kernel for each row of a table of litmus tests
  generate.py random FIRST COUNT OUT.ptx OUT.h   the random kernels of straight-line arithmetic with these numbers, and what each
                                                 gives: integers computed here, by the words of the PTX ISA, floats by reals.py
"""
import csv
import random
import re
import sys

import narrow
import reals

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


# -- litmus tests ----------------------------------------------------------------------------------------------------------------------


def litmus_thread(code, results):
    """The instructions of one thread; what it has read goes to results[0], [1], [2]."""
    made = []
    for one in filter(None, (part.strip() for part in code.split(";"))):
        fence = re.fullmatch(r"fence\.(sc|acq_rel)\.(cta|gpu|sys)", one)
        store = re.fullmatch(r"(st\.[a-z.]+) (\w+), (\d+)", one)
        load = re.fullmatch(r"(ld\.[a-z.]+) r(\d), (\w+)", one)
        if fence:
            made.append(one + ";")
        elif store:
            made.append(f"{store[1]}.u32 [%word_{store[2]}], {store[3]};")
        elif load:
            made.append(f"{load[1]}.u32 %read{load[2]}, [%word_{load[3]}];")
        else:
            raise SystemExit(f"not understood: {one}")
    made += [f"st.weak.u32 [%results+{4 * (results + n)}], %read{n};" for n in range(3)]
    return made


def litmus(table, out):
    text = [HEAD]
    for number, row in enumerate(csv.DictReader(open(table, encoding="utf-8"))):
        places = [place.strip() for place in row["threads"].split("||")]
        threads = [thread.strip() for thread in row["program"].split("||")]
        words = sorted(set(re.findall(r"\b([a-z])\b(?=[,;]|$| )", ";".join(threads))) - {"r"})
        words = sorted({w for w in re.findall(r"(?:ld|st)\.[a-z.]+ (?:r\d, )?([a-z])\b", row["program"])})
        text.append(f".visible .entry row_{number}(.param .u64 results, .param .u64 words)\n{{")
        text.append("  .reg .u64 %results, %words, " + ", ".join(f"%word_{w}" for w in words) + ";")
        text.append("  .reg .u32 %read<3>, %block, %thread;\n  .reg .pred %is;")
        text.append("  ld.param.u64 %results, [results];\n  ld.param.u64 %words, [words];")
        # The locations in the order in which the program names them.
        order = list(dict.fromkeys(re.findall(r"(?:ld|st)\.[a-z.]+ (?:r\d, )?([a-z])\b", row["program"])))
        text += [f"  ld.const.u64 %word_{w}, [%words+{8 * n}];" for n, w in enumerate(order)]
        text += [f"  mov.u32 %read{n}, 0;" for n in range(3)]
        text.append("  mov.u32 %block, %ctaid.x;\n  mov.u32 %thread, %tid.x;\n  shl.b32 %block, %block, 8;\n  or.b32 %block, %block, %thread;")
        count = {}
        body = []
        for index, (place, code) in enumerate(zip(places, threads)):
            if place == "host":
                continue
            block = int(place.split("cta")[1])
            own = count.get(block, 0)
            count[block] = own + 1
            text.append(f"  setp.eq.u32 %is, %block, {block * 256 + own};\n  @%is bra THREAD_{index};")
            body += [f"THREAD_{index}:"] + ["  " + one for one in litmus_thread(code, index * 3)] + ["  ret;"]
        text += ["  ret;"] + body + ["}"]
    open(out, "w", encoding="utf-8").write("\n".join(text) + "\n")


# -- random kernels --------------------------------------------------------------------------------------------------------------------


def mask(bits):
    return (1 << bits) - 1


def signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def value_of(raw, kind, bits):
    return signed(raw, bits) if kind == "s" else raw & mask(bits)


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def prmt(a, b, c):
    both, made = b << 32 | a, 0
    for n in range(4):
        which = c >> (4 * n) & 15
        byte = both >> ((which & 7) * 8) & 255
        if which & 8:
            byte = 255 if byte & 128 else 0
        made |= byte << (8 * n)
    return made


def bfe(a, pos, length, kind, bits):
    pos, length = pos & 255, length & 255
    top = bits - 1
    sign = 0 if kind == "u" or length == 0 else a >> min(pos + length - 1, top) & 1
    made = 0
    for n in range(bits):
        bit = a >> (pos + n) & 1 if n < length and pos + n <= top else sign
        made |= bit << n
    return made


def bfi(a, b, pos, length, bits):
    pos, length = pos & 255, length & 255
    for n in range(length):
        if pos + n < bits:
            b = (b & ~(1 << (pos + n))) | (a >> n & 1) << (pos + n)
    return b


def bfind(a, kind, bits):
    if kind == "s" and a >> (bits - 1):
        a = ~a & mask(bits)
    return a.bit_length() - 1 & mask(32)


def lop3(a, b, c, table):
    return sum((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32))


def dp4a(a, b, c, kinds):
    total = c
    for n in range(4):
        total += value_of(a >> 8 * n, kinds[0], 8) * value_of(b >> 8 * n, kinds[1], 8)
    return total & mask(32)


class Kernel:
    """Registers %a0.. of 32 bits and %b0.. of 64, the instructions, and their values for some inputs."""

    def __init__(self, rng, inputs):
        self.rng = rng
        self.code = []
        self.values = [{f"%b{n}": row[n] for n in range(4)} | {f"%a{n}": row[n] & mask(32) for n in range(4)} for row in inputs]
        self.used = {32: 4, 64: 4}

    def pick(self, bits):
        """A register, or now and then a constant."""
        if self.rng.random() < 0.15:
            constant = self.rng.choice([0, 1, 2, 31, 32, 33, 0x80000000, 0xFFFFFFFF, self.rng.getrandbits(bits)]) & mask(bits)
            return str(constant), [constant] * len(self.values)
        return self.register(bits)

    def register(self, bits):
        name = ("%a" if bits == 32 else "%b") + str(self.rng.randrange(self.used[bits]))
        return name, [row[name] for row in self.values]

    def give(self, bits, results):
        name = ("%a" if bits == 32 else "%b") + str(self.used[bits])
        self.used[bits] += 1
        for row, result in zip(self.values, results):
            row[name] = result & mask(bits)
        return name

    def emit(self, opcode, bits, results, *sources):
        self.code.append(f"{opcode} {self.give(bits, results)}, {', '.join(sources)};")

    def step(self):
        rng = self.rng
        bits = rng.choice([32, 32, 64])
        kind = rng.choice("us")
        (a, va), (b, vb), (c, vc) = self.pick(bits), self.pick(bits), self.pick(bits)
        (n, vn), (m, vm) = self.pick(32), self.pick(32)
        typed = lambda values: [value_of(one, kind, bits) for one in values]
        ta, tb, tc = typed(va), typed(vb), typed(vc)
        name = f"{kind}{bits}"
        both = list(zip(ta, tb))

        def simple(opcode, function):
            self.emit(f"{opcode}.{name}", bits, [function(x, y) for x, y in both], a, b)

        choice = rng.randrange(30)
        if choice == 0:
            simple("add", lambda x, y: x + y)
        elif choice == 1:
            simple("sub", lambda x, y: x - y)
        elif choice == 2:
            simple("mul.lo", lambda x, y: x * y)
        elif choice == 3:
            simple("mul.hi", lambda x, y: x * y >> bits)
        elif choice == 4:
            (x, vx), (y, vy) = self.pick(32), self.pick(32)
            self.emit(f"mul.wide.{kind}32", 64, [value_of(p, kind, 32) * value_of(q, kind, 32) for p, q in zip(vx, vy)], x, y)
        elif choice == 5:
            self.emit(f"mad.lo.{name}", bits, [x * y + z for x, y, z in zip(ta, tb, tc)], a, b, c)
        elif choice == 6:
            self.emit(f"mad.hi.{name}", bits, [(x * y >> bits) + z for x, y, z in zip(ta, tb, tc)], a, b, c)
        elif choice in (7, 8):
            odd = self.give(bits, [one | 1 for one in vb])
            self.code.append(f"or.b{bits} {odd}, {b}, 1;")
            divisors = typed([one | 1 for one in vb])
            if choice == 7:
                self.emit(f"div.{name}", bits, [quotient(x, y) for x, y in zip(ta, divisors)], a, odd)
            else:
                self.emit(f"rem.{name}", bits, [x - quotient(x, y) * y for x, y in zip(ta, divisors)], a, odd)
        elif choice == 9:
            simple("min", min)
        elif choice == 10:
            simple("max", max)
        elif choice == 11:
            self.emit(f"sad.{name}", bits, [abs(x - y) + z for x, y, z in zip(ta, tb, tc)], a, b, c)
        elif choice == 12:
            opcode, function = rng.choice([("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)])
            self.emit(f"{opcode}.b{bits}", bits, [function(x, y) for x, y in zip(va, vb)], a, b)
        elif choice == 13:
            opcode, function = rng.choice([("not", lambda x: ~x), ("cnot", lambda x: int(x == 0)), ("brev", lambda x: int(f"{x:0{bits}b}"[::-1], 2))])
            self.emit(f"{opcode}.b{bits}", bits, [function(x) for x in va], a)
        elif choice == 14:
            self.emit(f"shl.b{bits}", bits, [x << s if s < bits else 0 for x, s in zip(va, vn)], a, n)
        elif choice == 15:
            self.emit(f"shr.{name}", bits, [x >> min(s, bits) for x, s in zip(ta, vn)], a, n)
        elif choice == 16:
            opcode, function = rng.choice([("popc", lambda x: bin(x).count("1")), ("clz", lambda x: bits - x.bit_length())])
            self.emit(f"{opcode}.b{bits}", 32, [function(x) for x in va], a)
        elif choice == 17:
            opcode, function = rng.choice([("abs", abs), ("neg", lambda x: -x)])
            self.emit(f"{opcode}.s{bits}", bits, [function(signed(x, bits)) for x in va], a)
        elif choice == 18:
            self.emit(f"bfe.{name}", bits, [bfe(x, p, q, kind, bits) for x, p, q in zip(va, vn, vm)], a, n, m)
        elif choice == 19:
            self.emit(f"bfi.b{bits}", bits, [bfi(x, y, p, q, bits) for x, y, p, q in zip(va, vb, vn, vm)], a, b, n, m)
        elif choice == 20:
            self.emit(f"bfind.{name}", 32, [bfind(x, kind, bits) for x in va], a)
        elif choice in (21, 22, 23):
            (x, vx), (y, vy), (z, vz) = self.pick(32), self.pick(32), self.pick(32)
            if choice == 21:
                table = rng.randrange(256)
                self.emit("lop3.b32", 32, [lop3(p, q, r, table) for p, q, r in zip(vx, vy, vz)], x, y, z, str(table))
            elif choice == 22:
                self.emit("prmt.b32", 32, [prmt(p, q, r) for p, q, r in zip(vx, vy, vz)], x, y, z)
            else:
                way, how = rng.choice("lr"), rng.choice(["clamp", "wrap"])
                count = lambda r: r & 31 if how == "wrap" else min(r, 32)
                shift = lambda p, q, r: (q << 32 | p) << count(r) >> 32 if way == "l" else (q << 32 | p) >> count(r)
                self.emit(f"shf.{way}.{how}.b32", 32, [shift(p, q, r) for p, q, r in zip(vx, vy, vz)], x, y, z)
        elif choice == 24:
            test, function = rng.choice([("lt", lambda x, y: x < y), ("le", lambda x, y: x <= y), ("gt", lambda x, y: x > y),
                                         ("ge", lambda x, y: x >= y), ("eq", lambda x, y: x == y), ("ne", lambda x, y: x != y)])
            self.code.append(f"setp.{test}.{name} %p, {a}, {b};")
            self.emit(f"selp.b{bits}", bits, [z if function(x, y) else x2 for (x, y), z, x2 in zip(both, vc, va)], c, a, "%p")
        elif choice == 25:
            self.emit(f"slct.b{bits}.s32", bits, [x if signed(s, 32) >= 0 else y for x, y, s in zip(va, vb, vn)], a, b, n)
        elif choice == 26:
            to_kind, to_bits = rng.choice("us"), rng.choice([8, 16, 32, 64])
            saturates = rng.random() < 0.3
            least = -(1 << (to_bits - 1)) if to_kind == "s" else 0
            most = mask(to_bits - 1) if to_kind == "s" else mask(to_bits)
            convert = lambda x: value_of(min(max(x, least), most) if saturates else x, to_kind, to_bits)
            self.emit(f"cvt.{'sat.' if saturates else ''}{to_kind}{to_bits}.{name}", 64 if to_bits == 64 else 32, [convert(x) for x in ta], a)
        elif choice == 27:
            opcode = rng.choice(["add", "sub"])
            (x, vx), (y, vy), (z, vz), (w, vw) = (self.pick(32) for _ in range(4))
            if opcode == "add":
                low = [p + q for p, q in zip(vx, vy)]
                high = [p + q + (one >> 32) for p, q, one in zip(vz, vw, low)]
            else:
                low = [p - q for p, q in zip(vx, vy)]
                high = [p - q - (one < 0) for p, q, one in zip(vz, vw, low)]
            self.emit(f"{opcode}.cc.u32", 32, low, x, y)
            self.emit(f"{opcode}c.u32", 32, high, z, w)
        elif choice == 28:
            (x, vx), (y, vy), (z, vz) = self.pick(32), self.pick(32), self.pick(32)
            kinds = rng.choice("us") + rng.choice("us")
            self.emit(f"dp4a.{kinds[0]}32.{kinds[1]}32", 32, [dp4a(p, q, r, kinds) for p, q, r in zip(vx, vy, vz)], x, y, z)
        else:
            (x, vx), (y, vy) = self.pick(32), self.pick(32)
            clamp = lambda t: min(max(t, -(1 << 31)), mask(31))
            opcode = rng.choice(["add", "sub"])
            self.emit(f"{opcode}.sat.s32", 32, [clamp(signed(p, 32) + (1 if opcode == "add" else -1) * signed(q, 32)) for p, q in zip(vx, vy)], x, y)


def an_input(rng):
    """64 bits; now and then a number that is of a usual size as f64, and its lower half as f32."""
    near = lambda kind: reals.encode(rng.getrandbits(1), reals.Fraction(rng.randrange(1, 1 << 24), 1 << rng.randrange(36)), kind)
    return rng.choice([rng.getrandbits(64), rng.getrandbits(33), rng.getrandbits(6), mask(64) - rng.getrandbits(4),
                       near("f64") & ~mask(32) | near("f32"), near("f64") & ~mask(32) | near("f32"), near("f64") + rng.getrandbits(28)])


def random_kernels(first, count, out, header):
    text = [HEAD]
    rows = []
    for number in range(first, first + count):
        rng = random.Random(number)
        inputs = [[an_input(rng) for _ in range(4)] for _ in range(3)]
        kernel = Kernel(rng, inputs)
        for _ in range(12):
            rng.choice([Kernel.step, reals.step, narrow.step])(kernel)
        small, large = kernel.used[32], kernel.used[64]
        text.append(f".visible .entry random_{number}(.param .u64 in, .param .u64 out)\n{{")
        text.append(f"  .reg .b32 %a<{small}>;\n  .reg .b64 %b<{large}>, %in, %out;\n  .reg .pred %p;")
        text.append("  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];")
        for n in range(4):
            text.append(f"  ld.global.u64 %b{n}, [%in+{8 * n}];\n  cvt.u32.u64 %a{n}, %b{n};")
        text += ["  " + one for one in kernel.code]
        text.append("  mov.b64 %in, 0;")
        # All results, as one number: h = h * 31 + r.
        text += [f"  mad.lo.u64 %in, %in, 31, %b{n};" for n in range(4, large)]
        text += [f"  cvt.u64.u32 %b0, %a{n};\n  mad.lo.u64 %in, %in, 31, %b0;" for n in range(4, small)]
        text.append("  st.global.u64 [%out], %in;\n  ret;\n}")
        for row, values in zip(inputs, kernel.values):
            total = 0
            for name in [f"%b{n}" for n in range(4, large)] + [f"%a{n}" for n in range(4, small)]:
                total = (total * 31 + values[name]) & mask(64)
            rows.append(f"  {{{number}, {{{', '.join(hex(one) + 'u' for one in row)}}}, {hex(total)}u}},")
    open(out, "w", encoding="utf-8").write("\n".join(text) + "\n")
    open(header, "w", encoding="utf-8").write("\n".join(rows) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["litmus"] and len(sys.argv) == 4:
        litmus(*sys.argv[2:])
    elif sys.argv[1:2] == ["random"] and len(sys.argv) == 6:
        random_kernels(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    else:
        raise SystemExit(__doc__)
