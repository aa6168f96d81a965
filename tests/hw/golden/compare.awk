# Compares what a compiler made (second file) with what it must make (first file); prints each difference, exit status 1.
#
# With -v section=NAME, only the expectations behind a line "[NAME]" count, up to the next line of that form.
#
# An expectation is "name: instruction ...". In a name, {a,b=x} stands for two lines, the second with x for each @ among the
# instructions; * stands for the four scopes, with the PTX name of the scope for S. "name ~ pattern" and "name !~ pattern" ask
# that the instructions match, or do not match, a regular expression. Every kernel must be named, and every line be met.
function enqueue(name, wanted) { names[++queued] = name; wanteds[queued] = wanted }
function expect(name, wanted,    start, end, count, n, options, at, mark) {
  start = index(name, "{")
  if (start > 0) {
    end = index(name, "}")
    count = split(substr(name, start + 1, end - start - 1), options, ",")
    for (n = 1; n <= count; ++n) {
      mark = "@"
      at = index(options[n], "=")
      if (at > 0) { mark = substr(options[n], at + 1); options[n] = substr(options[n], 1, at - 1) }
      enqueue(substr(name, 1, start - 1) options[n] substr(name, end + 1), replaced(wanted, "@", mark))
    }
  } else if (index(name, "*") > 0) {
    for (n = 1; n <= 4; ++n)
      enqueue(replaced(name, "\\*", scope_names[n]), replaced(wanted, "\\.S", "." ptx_scopes[n]))
  } else if (name in expected) {
    print "expected twice: " name
    failed = 1
  } else {
    expected[name] = wanted
  }
}
function replaced(text, pattern, by) { gsub(pattern, by, text); return text }
BEGIN {
  split("wave block device system", scope_names, " ")
  split("cta cta gpu sys", ptx_scopes, " ")
}
/^#/ || /^[ \t]*$/ { next }
FNR == NR && section != "" && /^\[.*\]$/ {
  within = $0 == "[" section "]"
  if (within) has_section = 1
  next
}
FNR == NR && section != "" && !within { next }
{
  name = $0; sub(/:.*/, "", name)
  rest = $0; sub(/^[^:]*:[ \t]*/, "", rest); gsub(/[ \t]+/, " ", rest); sub(/ $/, "", rest)
}
FNR == NR && $2 ~ /^!?~$/ {
  pattern = $0; sub(/^[^~]*~[ \t]*/, "", pattern)
  kernel_of[++patterns] = $1
  sense_of[patterns] = $2
  pattern_of[patterns] = pattern
  next
}
FNR == NR {
  enqueue(name, rest)
  while (taken < queued) { ++taken; expect(names[taken], wanteds[taken]) }
  next
}
{
  ++kernels
  seen[name] = 1
  if (rest ~ /(^| )(ld|st)\.volatile/) { print "volatile access in " name ": " rest; failed = 1 }
  for (n = 1; n <= patterns; ++n) {
    if (kernel_of[n] != name) continue
    matched = 1
    tried[n] = 1
    if ((rest ~ pattern_of[n]) == (sense_of[n] == "~")) continue
    print name "\n  must be " sense_of[n] " " pattern_of[n] "\n  but is  " rest
    failed = 1
  }
  if (matched) { matched = 0; next }
  if (!(name in expected)) { print "not expected: " name ": " rest; failed = 1; next }
  if (rest != expected[name]) {
    print name "\n  must be " expected[name] "\n  but is  " rest
    failed = 1
  }
}
END {
  if (section != "" && !has_section) { print "there is no section [" section "]"; failed = 1 }
  for (name in expected)
    if (!(name in seen)) { print "missing: " name; failed = 1 }
  for (n = 1; n <= patterns; ++n)
    if (!(n in tried)) { print "missing: " kernel_of[n]; failed = 1 }
  if (kernels == 0) { print "no kernel was found in the compiler's output"; failed = 1 }
  if (!failed) print kernels " kernels are as expected"
  exit failed
}
