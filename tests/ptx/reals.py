"""IEEE 754 in exact arithmetic: what the floating-point instructions of PTX give where nothing is left to the device.

A number is its bits; its value is a Fraction with a sign of its own, or "inf", or "nan".
"""
from fractions import Fraction
from math import isqrt

FORMATS = {"f32": (8, 23), "f64": (11, 52), "f16": (5, 10), "bf16": (8, 7)}
NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}
MODES = ["rn", "rz", "rm", "rp"]


class Undecided(Exception):
    """PTX leaves this result open: the payload of a NaN of f64."""


def width(kind):
    return sum(FORMATS[kind]) + 1


def decode(bits, kind):
    """(is negative, value)"""
    exponent_bits, mantissa_bits = FORMATS[kind]
    negative = bits >> (exponent_bits + mantissa_bits) & 1
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return negative, "nan" if mantissa else "inf"
    least = 2 - (1 << (exponent_bits - 1)) - mantissa_bits
    if exponent:
        mantissa |= 1 << mantissa_bits
    return negative, mantissa * Fraction(2) ** (least + max(exponent, 1) - 1)


def whole_of(value, mode, negative):
    """The integer that a value is rounded to, which is not negative itself."""
    whole = value.numerator // value.denominator
    rest = value - whole
    up = {"rz": False, "rm": rest > 0 and negative, "rp": rest > 0 and not negative,
          "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)}[mode]
    return whole + 1 if up else whole


def encode(negative, value, kind, mode="rn"):
    exponent_bits, mantissa_bits = FORMATS[kind]
    sign = (1 if negative else 0) << (exponent_bits + mantissa_bits)
    infinite = ((1 << exponent_bits) - 1) << mantissa_bits
    if value == "nan":
        if kind not in NAN:
            raise Undecided
        return NAN[kind]
    if value == "inf":
        return sign | infinite
    if value == 0:
        return sign
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(exponent, 1 - bias)
    whole = whole_of(value * Fraction(2) ** (mantissa_bits - exponent), mode, negative)
    bits = whole
    if whole >> mantissa_bits:
        bits = whole - (1 << mantissa_bits) + ((exponent + bias) << mantissa_bits)
    if bits >= infinite:
        stays = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        bits = infinite - 1 if stays else infinite
    return sign | bits


def is_nan(bits, kind):
    return decode(bits, kind)[1] == "nan"


def flushed(bits, kind):
    exponent_bits, mantissa_bits = FORMATS[kind]
    return bits & 1 << (width(kind) - 1) if bits >> mantissa_bits & ((1 << exponent_bits) - 1) == 0 else bits


def clamped(bits, kind):
    """.sat: to [0, 1]; a NaN is 0."""
    negative, value = decode(bits, kind)
    if value == "nan" or negative or value == 0:
        return 0
    return encode(0, Fraction(1), kind) if value == "inf" or value > 1 else bits


def added(a, b, mode):
    (s, x), (t, y) = a, b
    if "nan" in (x, y) or (x == y == "inf" and s != t):
        return 0, "nan"
    if x == "inf":
        return a
    if y == "inf":
        return b
    total = (-x if s else x) + (-y if t else y)
    if total == 0:
        return (s if x == y == 0 and s == t else int(mode == "rm")), Fraction(0)
    return int(total < 0), abs(total)


def multiplied(a, b):
    (s, x), (t, y) = a, b
    if "nan" in (x, y) or ("inf" in (x, y) and 0 in (x, y)):
        return 0, "nan"
    return s ^ t, "inf" if "inf" in (x, y) else x * y


def divided(a, b):
    (s, x), (t, y) = a, b
    if "nan" in (x, y) or (x == y and x in ("inf", 0)):
        return 0, "nan"
    if x == "inf" or y == 0:
        return s ^ t, "inf"
    return s ^ t, Fraction(0) if y == "inf" else x / y


def rooted(a):
    """So near to the root that each rounding of it is that of the root."""
    negative, value = a
    if value == "nan" or value == 0:
        return a
    if negative:
        return 0, "nan"
    if value == "inf":
        return a
    shift = 1200
    scaled = value * Fraction(4) ** shift
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = root * root == scaled
    return 0, Fraction(2 * root + (0 if exact else 1), 1 << (shift + 1))


def compute(opcode, kind, sources, mode="rn", ftz=False, sat=False):
    """The bits that an instruction gives: add, sub, mul, fma, div, rcp, sqrt."""
    if ftz:
        sources = [flushed(one, kind) for one in sources]
    values = [decode(one, kind) for one in sources]
    if opcode in ("add", "sub"):
        other = values[1] if opcode == "add" else (1 - values[1][0], values[1][1])
        found = added(values[0], other, mode)
    elif opcode == "fma":
        found = added(multiplied(values[0], values[1]), values[2], mode)
    elif opcode == "mul":
        found = multiplied(*values)
    elif opcode == "sqrt":
        found = rooted(values[0])
    else:
        found = divided(*(values if opcode == "div" else [(0, Fraction(1)), values[0]]))
    bits = encode(*found, kind, mode)
    if sat:
        bits = clamped(bits, kind)
    return flushed(bits, kind) if ftz else bits


def key(bits, kind):
    """A number by which values are ordered, -0 before +0."""
    negative, value = decode(bits, kind)
    size = Fraction(2) ** 2000 if value == "inf" else value
    return (-size, 0) if negative else (size, 1)


def extreme(opcode, kind, a, b):
    """min, max: a number before a NaN."""
    if is_nan(a, kind) or is_nan(b, kind):
        if is_nan(a, kind) and is_nan(b, kind):
            return encode(0, "nan", kind)
        return b if is_nan(a, kind) else a
    return (min if opcode == "min" else max)([a, b], key=lambda one: key(one, kind))


def compare(test, kind, a, b):
    unordered = is_nan(a, kind) or is_nan(b, kind)
    if test in ("num", "nan"):
        return unordered == (test == "nan")
    if unordered:
        return test.endswith("u")
    x, y = key(a, kind)[0], key(b, kind)[0]
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[test[:2]]


def to_integer(bits, kind, mode, is_signed, to_bits):
    negative, value = decode(bits, kind)
    least = -(1 << (to_bits - 1)) if is_signed else 0
    most = (1 << (to_bits - 1 if is_signed else to_bits)) - 1
    if value == "nan":
        return (least or 1 << (to_bits - 1)) if kind == "f64" or to_bits == 64 else 0
    if value == "inf":
        return least if negative else most
    whole = whole_of(value, mode, negative)
    return min(max(-whole if negative else whole, least), most)


def converted(bits, kind, to, mode="rn"):
    return encode(*decode(bits, kind), to, mode)


def from_integer(value, to, mode="rn"):
    return encode(int(value < 0), Fraction(abs(value)), to, mode)


# -- one more instruction of a random kernel -------------------------------------------------------------------------------------------


def literal(bits, kind):
    return f"0f{bits:08X}" if kind == "f32" else f"0d{bits:016X}"


def pick(kernel, kind):
    """A register, or a constant that is worth a look."""
    rng = kernel.rng
    if rng.random() < 0.15:
        specials = [(0, Fraction(0)), (1, Fraction(0)), (0, Fraction(1)), (1, Fraction(3)), (0, "inf"), (1, "inf")]
        bits = rng.choice([encode(*rng.choice(specials), kind), 1, (1 << FORMATS[kind][1]) - 1, encode(0, Fraction(rng.randrange(1, 999), 7), kind)])
        return literal(bits, kind), [bits] * len(kernel.values)
    return kernel.register(32 if kind == "f32" else 64)


def arithmetic(kernel, kind):
    rng = kernel.rng
    opcode, count = rng.choice([("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)])
    mode = rng.choice(MODES)
    ftz = kind == "f32" and rng.random() < 0.3
    sat = kind == "f32" and opcode in ("add", "sub", "mul", "fma") and rng.random() < 0.15
    names, values = zip(*(pick(kernel, kind) for _ in range(count)))
    results = [compute(opcode, kind, row, mode, ftz, sat) for row in zip(*values)]
    kernel.emit(f"{opcode}.{mode}{'.ftz' * ftz}{'.sat' * sat}.{kind}", width(kind), results, *names)


def choice(kernel, kind):
    """What compares, or has a sign."""
    rng = kernel.rng
    (a, va), (b, vb) = pick(kernel, kind), pick(kernel, kind)
    which, bits = rng.randrange(5), width(kind)
    top = 1 << (bits - 1)
    if which == 0:
        opcode = rng.choice(["min", "max"])
        kernel.emit(f"{opcode}.{kind}", bits, [extreme(opcode, kind, x, y) for x, y in zip(va, vb)], a, b)
    elif which == 1:
        opcode, function = rng.choice([("abs", lambda x: x & (top - 1)), ("neg", lambda x: x ^ top)])
        if any(is_nan(one, kind) for one in va):
            raise Undecided
        kernel.emit(f"{opcode}.{kind}", bits, [function(x) for x in va], a)
    elif which == 2:
        kernel.emit(f"copysign.{kind}", bits, [x & top | y & (top - 1) for x, y in zip(va, vb)], a, b)
    else:
        test = rng.choice(["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"])
        (c, vc), (d, vd) = kernel.pick(32), kernel.pick(32)
        results = [z if compare(test, kind, x, y) else w for x, y, z, w in zip(va, vb, vc, vd)]
        kernel.code.append(f"setp.{test}.{kind} %p, {a}, {b};")
        kernel.emit("selp.b32", 32, results, c, d, "%p")


def conversion(kernel, kind):
    rng = kernel.rng
    which, mode = rng.randrange(4), rng.choice(MODES)
    a, va = pick(kernel, kind)
    if which == 0:
        is_signed, bits = rng.random() < 0.5, rng.choice([8, 16, 32, 64])
        results = [to_integer(x, kind, mode, is_signed, bits) for x in va]
        kernel.emit(f"cvt.{mode}i.{'us'[is_signed]}{bits}.{kind}", 64 if bits == 64 else 32, results, a)
    elif which == 1:
        is_signed, bits = rng.random() < 0.5, rng.choice([32, 64])
        n, vn = kernel.register(bits)
        number = lambda x: x - (1 << bits) if is_signed and x >> (bits - 1) else x
        kernel.emit(f"cvt.{mode}.{kind}.{'us'[is_signed]}{bits}", width(kind), [from_integer(number(x), kind, mode) for x in vn], n)
    elif which == 2:
        to = "f64" if kind == "f32" else "f32"
        rounded = f".{mode}" if to == "f32" else ""
        kernel.emit(f"cvt{rounded}.{to}.{kind}", width(to), [converted(x, kind, to, mode) for x in va], a)
    else:
        results = []
        for x in va:
            negative, value = decode(x, kind)
            results.append(encode(negative, value if isinstance(value, str) else Fraction(whole_of(value, mode, negative)), kind))
        kernel.emit(f"cvt.{mode}i.{kind}.{kind}", width(kind), results, a)


def halves(kernel, kind):
    """Of two or three floats, made halves of this kind, and a float again."""
    rng = kernel.rng
    mode = rng.choice(["rn", "rz"])
    opcode, count = rng.choice([("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("fma", 3)])
    sources = [pick(kernel, "f32") for _ in range(count)]
    if opcode == "fma" and rng.random() < 0.2:
        # Between two halves but for what is far below.
        bits = [encode(0, Fraction(17, 16), "f32")] * 2 + [encode(rng.getrandbits(1), Fraction(1, 1 << rng.randrange(20, 120)), "f32")]
        sources = [(literal(one, "f32"), [one] * len(kernel.values)) for one in bits]
    names, values = zip(*sources)
    results = [converted(compute(opcode, kind, [converted(x, "f32", kind, mode) for x in row]), kind, "f32") for row in zip(*values)]
    code = ["{ .reg .b16 %half<4>;"] + [f"cvt.{mode}.{kind}.f32 %half{n}, {name};" for n, name in enumerate(names)]
    code.append(f"{opcode}.rn.{kind} %half3, " + ", ".join(f"%half{n}" for n in range(count)) + ";")
    code.append(f"cvt.f32.{kind} {kernel.give(32, results)}, %half3; }}")
    kernel.code.append(" ".join(code))


def step(kernel):
    """One instruction that computes with floats, whose result PTX decides."""
    rng = kernel.rng
    while True:
        try:
            what = rng.choice([arithmetic, arithmetic, choice, conversion, halves])
            return what(kernel, rng.choice(["f16", "bf16"] if what is halves else ["f32", "f64"]))
        except Undecided:
            continue
