"""What the PTX ISA says of instructions on 16 bits, on pairs of halves, on bytes, on 8-bit floats and with predicates, computed anew."""
from fractions import Fraction

import reals
from reals import Undecided, compare, converted, decode, encode, is_nan


def mask(bits):
    return (1 << bits) - 1


def signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def value_of(raw, kind, bits):
    return signed(raw, bits) if kind == "s" else raw & mask(bits)


def pick32(kernel, count):
    return zip(*(kernel.pick(32) for _ in range(count)))


def apply(values, function):
    return [function(*row) for row in zip(*values)]


def parts(value, bits):
    return [value >> n & mask(bits) for n in range(0, 32, bits)]


def joined(values, bits):
    return sum((value & mask(bits)) << (bits * n) for n, value in enumerate(values))


# -- integers --------------------------------------------------------------------------------------------------------------------------


def of_16_bits(kernel):
    """In registers of 16 bits; the result is extended to 32."""
    rng = kernel.rng
    kind = rng.choice("us")
    names, values = pick32(kernel, 3)
    number = lambda x: value_of(x, kind, 16)
    opcode, count, wide, function = rng.choice([
        ("add", 2, 0, lambda a, b: number(a) + number(b)),
        ("sub", 2, 0, lambda a, b: number(a) - number(b)),
        ("mul.lo", 2, 0, lambda a, b: number(a) * number(b)),
        ("mul.hi", 2, 0, lambda a, b: number(a) * number(b) >> 16),
        ("mul.wide", 2, 1, lambda a, b: number(a) * number(b)),
        ("mad.lo", 3, 0, lambda a, b, c: number(a) * number(b) + number(c)),
        ("mad.hi", 3, 0, lambda a, b, c: (number(a) * number(b) >> 16) + number(c)),
        ("mad.wide", 3, 2, lambda a, b, c: number(a) * number(b) + c),
        ("min", 2, 0, lambda a, b: min(number(a), number(b))),
        ("max", 2, 0, lambda a, b: max(number(a), number(b))),
        ("sad", 3, 0, lambda a, b, c: number(c) + abs(number(a) - number(b))),
        ("shr", 2, 3, lambda a, b: number(a) >> min(b, 16)),
        ("slct", 3, 4, lambda a, b, c: number(a if signed(c, 32) >= 0 else b)),
    ])
    code = ["{ .reg .b16 %h<4>;"] + [f"cvt.u16.u32 %h{n}, {names[n]};" for n in range(count)]
    sources = [f"%h{n}" for n in range(count)]
    if wide == 2:
        sources[2] = names[2]
    if wide == 3:
        sources[1] = names[1]
    if wide == 4:
        sources[2] = names[2]
    results = apply(values[:count], function)
    if wide in (1, 2):
        code.append(f"{opcode}.{kind}16 {kernel.give(32, results)}, {', '.join(sources)}; }}")
    else:
        type_of = f"{kind}16.s32" if wide == 4 else f"{kind}16"
        extended = [value_of(one, kind, 16) for one in results]
        code.append(f"{opcode}.{type_of} %h3, {', '.join(sources)}; cvt.{kind}32.{kind}16 {kernel.give(32, extended)}, %h3; }}")
    kernel.code.append(" ".join(code))


def extreme_of_pairs(kernel):
    rng = kernel.rng
    opcode, kind = rng.choice(["min", "max"]), rng.choice("us")
    relu = kind == "s" and rng.random() < 0.4
    if rng.random() < 0.3:
        bits, name, kind = 32, "s32", "s"
        relu = True
    else:
        bits, name = 16, f"{kind}16x2"
    (a, b), values = pick32(kernel, 2)
    pick = min if opcode == "min" else max

    def one(x, y):
        found = pick(value_of(x, kind, bits), value_of(y, kind, bits))
        return max(found, 0) if relu else found

    results = apply(values, lambda x, y: joined([one(p, q) for p, q in zip(parts(x, bits), parts(y, bits))], bits))
    kernel.emit(f"{opcode}{'.relu' * relu}.{name}", 32, results, a, b)


def differences(kernel):
    rng = kernel.rng
    bits = rng.choice([8, 16])
    to, first, second = rng.choice("us"), rng.choice("us"), rng.choice("us")
    adds = rng.random() < 0.5
    saturates = not adds and rng.random() < 0.5
    (a, b, c), values = pick32(kernel, 3)

    def function(x, y, z):
        apart = [abs(value_of(p, first, bits) - value_of(q, second, bits)) for p, q in zip(parts(x, bits), parts(y, bits))]
        if saturates:
            apart = [min(one, mask(bits - 1) if to == "s" else mask(bits)) for one in apart]
        return z + sum(apart) if adds else joined(apart, bits)

    kernel.emit(f"vabsdiff{32 // bits}.{to}32.{first}32.{second}32{'.sat' * saturates}{'.add' * adds}", 32, apply(values, function), a, b, c)


def packed(kernel):
    rng = kernel.rng
    kind, bits = rng.choice("us"), rng.choice([2, 4, 8, 16])
    names, values = pick32(kernel, 2 if bits == 16 else 3)
    least, most = (-(1 << (bits - 1)), mask(bits - 1)) if kind == "s" else (0, mask(bits))
    small = lambda x: min(max(signed(x, 32), least), most) & mask(bits)
    results = apply(values, lambda x, y, c=0: c << (2 * bits) | small(x) << bits | small(y))
    kernel.emit(f"cvt.pack.sat.{kind}{bits}.s32{'' if bits == 16 else '.b32'}", 32, results, *names)


def fns(value, base, offset):
    if offset == 0:
        return base if base < 32 and value >> base & 1 else mask(32)
    where = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [n for n in where if value >> n & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else mask(32)


def prmt(mode, a, b, c):
    low = c & 3
    # (PTX ISA, "prmt": its table of selections.)
    rows = {"f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"], "rc8": ["0000", "1111", "2222", "3333"],
            "ecl": ["3210", "3211", "3222", "3333"], "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"]}
    both = b << 32 | a
    return joined([both >> (8 * int(which)) & 255 for which in reversed(rows[mode][low])], 8)


def bits_of_words(kernel):
    rng = kernel.rng
    (a, b, c), (va, vb, vc) = pick32(kernel, 3)
    which = rng.randrange(7)
    if which == 0:
        n, offset = rng.randrange(32), rng.randrange(-33, 34)
        kernel.emit("fns.b32", 32, [fns(x, n, offset) for x in va], a, str(n), str(offset))
    elif which == 1:
        wraps = rng.random() < 0.5

        def bmsk(x, y):
            if wraps:
                x, y = x % 32, y % 32
            return 0 if x >= 32 else mask(min(y, 32)) << x

        kernel.emit(f"bmsk.{'wrap' if wraps else 'clamp'}.b32", 32, apply((va, vb), bmsk), a, b)
    elif which == 2:
        wraps, kind = rng.random() < 0.5, rng.choice("us")

        def szext(x, y):
            y = y % 32 if wraps else min(y, 32)
            return 0 if y == 0 else value_of(x, kind, y)

        kernel.emit(f"szext.{'wrap' if wraps else 'clamp'}.{kind}32", 32, apply((va, vb), szext), a, b)
    elif which == 3:
        half, kinds = rng.choice(["lo", "hi"]), [rng.choice("us") for _ in range(2)]

        def dp2a(x, y, z):
            byte = parts(y, 8)[2 * (half == "hi"):]
            return z + sum(value_of(p, kinds[0], 16) * value_of(q, kinds[1], 8) for p, q in zip(parts(x, 16), byte))

        kernel.emit(f"dp2a.{half}.{kinds[0]}32.{kinds[1]}32", 32, apply((va, vb, vc), dp2a), a, b, c)
    elif which == 4:
        half, kind, adds = rng.choice(["lo", "hi"]), rng.choice("us"), rng.random() < 0.5
        product = lambda x, y: value_of(x, kind, 24) * value_of(y, kind, 24) >> (16 if half == "hi" else 0)
        if adds:
            kernel.emit(f"mad24.{half}.{kind}32", 32, apply((va, vb, vc), lambda x, y, z: product(x, y) + z), a, b, c)
        else:
            kernel.emit(f"mul24.{half}.{kind}32", 32, apply((va, vb), product), a, b)
    elif which == 5:
        mode = rng.choice(["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
        kernel.emit(f"prmt.b32.{mode}", 32, apply((va, vb, vc), lambda x, y, z: prmt(mode, x, y, z)), a, b, c)
    else:
        kind = rng.choice("us")

        def shiftamt(x):
            x = ~x & mask(32) if kind == "s" and x >> 31 else x
            return mask(32) if x == 0 else 32 - x.bit_length()

        kernel.emit(f"bfind.shiftamt.{kind}32", 32, [shiftamt(x) for x in va], a)


def chains(kernel):
    """Sums and products of 96 bits, by the carry."""
    rng = kernel.rng
    names, values = pick32(kernel, 6)
    number = lambda row, first: sum(one << (32 * n) for n, one in enumerate(row[first:first + 3]))
    if rng.random() < 0.6:
        opcode = rng.choice(["add", "sub"])
        results = [number(row, 0) + number(row, 3) * (1 if opcode == "add" else -1) for row in zip(*values)]
        for n, form in enumerate([f"{opcode}.cc", f"{opcode}c.cc", f"{opcode}c"]):
            kernel.emit(f"{form}.u32", 32, [one >> (32 * n) for one in results], names[n], names[n + 3])
    else:
        # A product of 64 bits and a sum of 96: mad.lo.cc, madc.hi.cc, addc.
        results = [row[0] * row[1] + (row[3] | row[4] << 32 | row[5] << 64) for row in zip(*values)]
        kernel.emit("mad.lo.cc.u32", 32, results, names[0], names[1], names[3])
        kernel.emit("madc.hi.cc.u32", 32, [one >> 32 for one in results], names[0], names[1], names[4])
        kernel.emit("addc.u32", 32, [one >> 64 for one in results], names[5], "0")


def predicates(kernel):
    rng = kernel.rng
    (a, b, c, d, e), values = pick32(kernel, 5)
    va, vb, vc, vd, ve = values
    how = rng.choice(["and", "or", "xor"])
    join = {"and": lambda p, q: p and q, "or": lambda p, q: p or q, "xor": lambda p, q: p != q}[how]
    kernel.code.append(f"setp.ge.s32 %p, {e}, 0;")
    last = [signed(one, 32) >= 0 for one in ve]
    which = rng.randrange(3)
    if which == 0:
        how = "or" if how == "xor" else how
        join = (lambda p, q: p or q) if how == "or" else (lambda p, q: p and q)
        table = rng.choice([0, 0x80, 0x01, 0xE8, rng.randrange(256)])
        found = [sum((table >> ((x >> n & 1) * 4 + (y >> n & 1) * 2 + (z >> n & 1)) & 1) << n for n in range(32)) for x, y, z in zip(va, vb, vc)]
        kernel.emit(f"lop3.{how}.b32", 32, found, a, b, c, str(table), "%p")
        kernel.code[-1] = kernel.code[-1].replace(",", "|%p,", 1)
        kernel.emit("selp.b32", 32, [x if join(f != 0, q) else y for x, y, f, q in zip(va, vd, found, last)], a, d, "%p")
    elif which == 1:
        holds = [signed(x, 32) < signed(y, 32) for x, y in zip(va, vb)]
        kernel.code.append(f"{{ .reg .pred %q<2>; setp.lt.{how}.s32 %q0|%q1, {a}, {b}, %p;")
        kernel.emit("selp.b32", 32, [x if join(p, q) else y for x, y, p, q in zip(vc, vd, holds, last)], c, d, "%q0")
        kernel.emit("selp.b32", 32, [x if join(not p, q) else y for x, y, p, q in zip(vc, vd, holds, last)], c, d, "%q1")
        kernel.code.append("}")
    else:
        to = rng.choice(["u32", "s32", "f32"])
        one = 0x3F800000 if to == "f32" else mask(32)
        kernel.emit(f"set.hi.{how}.{to}.u32", 32, [one if join(x > y, q) else 0 for x, y, q in zip(va, vb, last)], a, b, "%p")


# -- floats ----------------------------------------------------------------------------------------------------------------------------

# Numbers of 8 bits: bits of the exponent and of the mantissa, and the highest.
EIGHT = {"e4m3": (4, 3, 0x7E), "e5m2": (5, 2, 0x7B)}


def decode_eight(bits, kind):
    exponent_bits, mantissa_bits, highest = EIGHT[kind]
    negative, size = bits >> 7, bits & 0x7F
    if size > highest:
        return negative, "inf" if kind == "e5m2" and size == 0x7C else "nan"
    exponent, mantissa = size >> mantissa_bits, size & mask(mantissa_bits)
    bias = mask(exponent_bits - 1)
    if exponent:
        return negative, Fraction(mantissa | 1 << mantissa_bits) * Fraction(2) ** (exponent - bias - mantissa_bits)
    return negative, Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)


def encode_eight(negative, value, kind):
    """The nearest, to even; of what is out of range, the highest."""
    highest = EIGHT[kind][2]
    if value == "nan":
        return 0x7F
    if value == "inf":
        return negative << 7 | highest
    below = max(n for n in range(highest + 1) if decode_eight(n, kind)[1] <= value)
    if below < highest:
        low, high = (decode_eight(n, kind)[1] for n in (below, below + 1))
        if value - low > high - value or (value - low == high - value and below & 1):
            below += 1
    return negative << 7 | below


def rectified(bits, top, nan):
    """.relu: a NaN stays one, and what is below 0 is 0."""
    return bits if nan or not bits >> top else 0


def of_halves(kernel):
    """What selects or compares halves of a pair."""
    rng = kernel.rng
    kind = rng.choice(["f16", "bf16"])
    (a, b), values = pick32(kernel, 2)
    which = rng.randrange(4)
    halves = [list(zip(parts(x, 16), parts(y, 16))) for x, y in zip(*values)]
    if which == 0:
        opcode = rng.choice(["min", "max"])
        keeps_nan, mixes = rng.random() < 0.5, rng.random() < 0.3

        def one(x, y):
            sign = (x ^ y) & 0x8000
            if mixes:
                x, y = x & 0x7FFF, y & 0x7FFF
            if is_nan(x, kind) and is_nan(y, kind) or keeps_nan and (is_nan(x, kind) or is_nan(y, kind)):
                return 0x7FFF
            found = reals.extreme(opcode, kind, x, y)
            return found | sign if mixes else found

        results = [joined([one(x, y) for x, y in row], 16) for row in halves]
        kernel.emit(f"{opcode}{'.NaN' * keeps_nan}{'.xorsign.abs' * mixes}.{kind}x2", 32, results, a, b)
        return
    test = rng.choice(["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"])
    held = [[compare(test, kind, x, y) for x, y in row] for row in halves]
    if which == 1:
        kernel.code.append(f"{{ .reg .pred %q<2>; setp.{test}.{kind}x2 %q0|%q1, {a}, {b};")
        for n in range(2):
            kernel.emit("selp.b32", 32, [n + 1 if row[n] else 7 for row in held], str(n + 1), "7", f"%q{n}")
        kernel.code.append("}")
    elif which == 2:
        one = 0x3C00 if kind == "f16" else 0x3F80
        kernel.emit(f"set.{test}.{kind}x2.{kind}x2", 32, [joined([one if h else 0 for h in row], 16) for row in held], a, b)
    else:
        kernel.emit(f"set.{test}.u32.{kind}x2", 32, [joined([0xFFFF if h else 0 for h in row], 16) for row in held], a, b)


def to_halves(kernel):
    """Two floats, made a pair."""
    rng = kernel.rng
    kind, mode = rng.choice(["f16", "bf16"]), rng.choice(["rn", "rz"])
    relu, finite = rng.random() < 0.3, rng.random() < 0.3
    (a, va), (b, vb) = reals.pick(kernel, "f32"), reals.pick(kernel, "f32")

    def one(x):
        negative, value = decode(x, "f32")
        made = encode(negative, value, kind, mode)
        infinite = 0x7C00 if kind == "f16" else 0x7F80
        if finite and value != "nan" and made & 0x7FFF == infinite:
            made -= 1
        return rectified(made, 15, value == "nan") if relu else made

    kernel.emit(f"cvt.{mode}{'.relu' * relu}{'.satfinite' * finite}.{kind}x2.f32", 32, [one(x) << 16 | one(y) for x, y in zip(va, vb)], a, b)


def of_eight_bits(kernel):
    rng = kernel.rng
    kind, relu = rng.choice(["e4m3", "e5m2"]), rng.random() < 0.3

    def one(negative, value):
        made = encode_eight(negative, value, kind)
        return rectified(made, 7, value == "nan") if relu else made

    which = rng.randrange(3)
    code = "{ .reg .b16 %h;"
    if which == 0:
        (a, va), (b, vb) = reals.pick(kernel, "f32"), reals.pick(kernel, "f32")
        results = [one(*decode(x, "f32")) << 8 | one(*decode(y, "f32")) for x, y in zip(va, vb)]
        code += f" cvt.rn.satfinite{'.relu' * relu}.{kind}x2.f32 %h, {a}, {b}; cvt.u32.u16 {kernel.give(32, results)}, %h; }}"
    elif which == 1:
        a, va = kernel.pick(32)
        results = [joined([one(*decode(half, "f16")) for half in parts(x, 16)], 8) for x in va]
        code += f" cvt.rn.satfinite{'.relu' * relu}.{kind}x2.f16x2 %h, {a}; cvt.u32.u16 {kernel.give(32, results)}, %h; }}"
    else:
        a, va = kernel.pick(32)

        def half(bits):
            negative, value = decode_eight(bits, kind)
            made = encode(negative, value, "f16")
            return rectified(made, 15, value == "nan") if relu else made

        results = [joined([half(x & 255), half(x >> 8 & 255)], 16) for x in va]
        code += f" cvt.u16.u32 %h, {a}; cvt.rn{'.relu' * relu}.f16x2.{kind}x2 {kernel.give(32, results)}, %h; }}"
    kernel.code.append(code)


def half_conversions(kernel):
    """Between halves and what is not one."""
    rng = kernel.rng
    kind, mode = rng.choice(["f16", "bf16"]), rng.choice(reals.MODES)
    which = rng.randrange(4)
    if which == 0:
        a, va = kernel.pick(32)
        is_signed, bits = rng.random() < 0.5, rng.choice([8, 16, 32, 64])
        results = [reals.to_integer(x & mask(16), kind, mode, is_signed, bits) for x in va]
        to = 64 if bits == 64 else 32
        code = f"{{ .reg .b16 %h; cvt.u16.u32 %h, {a}; cvt.{mode}i.{'us'[is_signed]}{bits}.{kind} {kernel.give(to, results)}, %h; }}"
    elif which == 1:
        is_signed, bits = rng.random() < 0.5, rng.choice([32, 64])
        a, va = kernel.register(bits)
        results = [reals.from_integer(signed(x, bits) if is_signed else x, kind, mode) for x in va]
        code = f"{{ .reg .b16 %h; cvt.{mode}.{kind}.{'us'[is_signed]}{bits} %h, {a}; cvt.u32.u16 {kernel.give(32, results)}, %h; }}"
    elif which == 2:
        flushes = kind == "f16" and rng.random() < 0.5
        a, va = reals.pick(kernel, "f32")
        # .ftz is of what is an f32 alone.
        results = [encode(*decode(reals.flushed(x, "f32") if flushes else x, "f32"), kind, mode) for x in va]
        code = f"{{ .reg .b16 %h; cvt.{mode}{'.ftz' * flushes}.{kind}.f32 %h, {a}; cvt.u32.u16 {kernel.give(32, results)}, %h; }}"
    else:
        flushes = kind == "f16" and rng.random() < 0.5
        a, va = kernel.pick(32)
        results = [converted(x & mask(16), kind, "f32") for x in va]
        code = f"{{ .reg .b16 %h; cvt.u16.u32 %h, {a}; cvt{'.ftz' * flushes}.f32.{kind} {kernel.give(32, results)}, %h; }}"
    kernel.code.append(code)


def rectified_sums(kernel):
    """fma.relu of a pair."""
    rng = kernel.rng
    kind = rng.choice(["f16", "bf16"])
    names, values = pick32(kernel, 3)

    def one(*sources):
        made = reals.compute("fma", kind, sources)
        return rectified(made, 15, is_nan(made, kind))

    results = [joined([one(*row) for row in zip(*(parts(x, 16) for x in each))], 16) for each in zip(*values)]
    kernel.emit(f"fma.rn.relu.{kind}x2", 32, results, *names)


KINDS = [of_16_bits, of_16_bits, extreme_of_pairs, differences, packed, bits_of_words, bits_of_words, chains, predicates, of_halves, to_halves,
         of_eight_bits, half_conversions, rectified_sums]


def step(kernel):
    """One such instruction, whose result PTX decides."""
    while True:
        length, used = len(kernel.code), dict(kernel.used)
        try:
            return kernel.rng.choice(KINDS)(kernel)
        except Undecided:
            del kernel.code[length:]
            kernel.used = used
