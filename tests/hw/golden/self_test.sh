#!/bin/sh
# The golden checks must be able to fail: a made-up piece of assembly is accepted with the right expectations, and each wrong
# expectation is rejected. Needs no compiler.
set -u
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# As nvcc writes it.
cat >"$folder/good.ptx" <<'PTX'
.visible .entry hand_over(
	.param .u64 hand_over_param_0
)
{
	ld.param.u64 	%rd1, [hand_over_param_0];
	// begin inline asm
	ld.acquire.sys.b32 %r1,[%rd1];
	// end inline asm
	@%p1 bra 	$L__BB0_1;
	st.global.u64 	[%rd2], %rd3;
	fence.acq_rel.gpu;
	@%p2 atom.add.release.sys.u32 %r2,[%rd1],%r1;
	ret;

}
PTX
sed 's/st\.global/st.volatile.global/' "$folder/good.ptx" >"$folder/volatile.ptx"
printf '%s\n' '.visible .func helper(' '{' '}' >"$folder/empty.ptx"

# As hipcc writes it.
cat >"$folder/good.s" <<'GCN'
hand_over:                              ; @hand_over
	s_load_dwordx8 s[0:7], s[4:5], 0x0
	s_waitcnt lgkmcnt(0)
	global_store_dwordx2 v2, v[0:1], s[2:3]
	buffer_wbl2
	s_waitcnt vmcnt(0) lgkmcnt(0)
	global_atomic_or v4, v3, v1, s[0:1] glc
	s_waitcnt vmcnt(0)
	buffer_invl2
	global_load_dwordx2 v[0:1], v2, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v2, v[0:1], s[6:7]
	s_endpgm
.Lfunc_end0:
GCN

# A look that acquires within its loop, and one that acquires behind it.
polling() {
  printf '%s\n' '.visible .entry waits(' '{' 'atom.or.acquire.gpu.b32 %r1,[%rd1],1;' 'st.global.u16 [%rd2],%rs1;' '$L__BB0_1:' "$1" \
    'setp.ne.s32 %p1, %r2, 0;' '@%p1 bra $L__BB0_2;' 'nanosleep.u32 %r3;' 'bra.uni $L__BB0_1;' '$L__BB0_2:' "$2" \
    'st.release.sys.b32 [%rd1],%r3;' 'ret;' '}'
}
polling 'ld.acquire.sys.b32 %r2,[%rd1];' '' >"$folder/acquires.ptx"
polling 'ld.relaxed.sys.b32 %r2,[%rd1];' 'fence.acquire.sys;' >"$folder/relaxed.ptx"

# try accept|reject <assembly> <filter> <expectations> [<section>]
try() {
  if [ "$3" = paths ]; then
    python3 "$here/paths.py" "$folder/$2" >"$folder/found"
  else
    awk -v machine="$3" -f "$here/filter.awk" "$folder/$2" >"$folder/found"
  fi
  printf '%s\n' "$4" >"$folder/expectations"
  if awk -v section="${5-}" -f "$here/compare.awk" "$folder/expectations" "$folder/found" >"$folder/said"; then outcome=accept; else outcome=reject; fi
  if [ "$outcome" != "$1" ]; then
    echo "self test: $2 with '$4' must be $1ed, but was ${outcome}ed:"
    cat "$folder/said"
    failures=$((failures + 1))
  fi
}

right='hand_over: ld.acquire.sys.b32 fence.acq_rel.gpu atom.add.release.sys.u32'
try accept good.ptx ptx "$right"
try accept good.ptx ptx 'hand_{over=add}: ld.acquire.sys.b32 fence.acq_rel.gpu atom.@.release.sys.u32'
try accept good.ptx ptx 'hand_over ~ ld\.acquire\.sys.*release\.sys'
try accept good.ptx ptx 'hand_over !~ ld\.relaxed'
try reject good.ptx ptx 'hand_over: ld.acquire.gpu.b32 fence.acq_rel.gpu atom.add.release.sys.u32' # scope
try reject good.ptx ptx 'hand_over: ld.relaxed.sys.b32 fence.acq_rel.gpu atom.add.release.sys.u32' # order
try reject good.ptx ptx 'hand_over: fence.acq_rel.gpu ld.acquire.sys.b32 atom.add.release.sys.u32' # sequence
try reject good.ptx ptx 'hand_over: ld.acquire.sys.b32 atom.add.release.sys.u32'                   # one too many
try reject good.ptx ptx 'hand_over: -'
try reject good.ptx ptx 'hand_{over,back}: ld.acquire.sys.b32 fence.acq_rel.gpu atom.add.release.sys.u32' # missing kernel
try reject good.ptx ptx 'hand_back ~ ld'
try reject good.ptx ptx '# nothing is expected'
try reject good.ptx ptx 'hand_over ~ ld\.relaxed'
try reject good.ptx ptx 'hand_over !~ ld\.acquire'
try reject volatile.ptx ptx 'hand_over: ld.acquire.sys.b32 st.volatile.global.u64 fence.acq_rel.gpu atom.add.release.sys.u32'
try reject volatile.ptx ptx 'hand_over ~ ld\.acquire\.sys'
try reject empty.ptx ptx '# nothing'

try accept good.s gcn 'hand_over: buffer_wbl2 waitcnt global_atomic_or+glc waitcnt buffer_invl2'
try reject good.s gcn 'hand_over: waitcnt global_atomic_or+glc waitcnt buffer_invl2'
try reject good.s gcn 'hand_over: buffer_wbl2 global_atomic_or+glc waitcnt buffer_invl2'
try reject good.s gcn 'hand_over: buffer_wbl2 waitcnt global_atomic_or waitcnt buffer_invl2'

try accept relaxed.ptx paths 'waits: loops_that_order=0 reads=0 releases=1'
try accept acquires.ptx paths 'waits: loops_that_order=1 reads=0 releases=1'
try accept good.s paths 'hand_over: loops_that_order=none reads=- releases=1'

# Each section stands alone.
sections="[first]
$right
[second]
hand_over ~ ld\\.relaxed"
try accept good.ptx ptx "$sections" first
try reject good.ptx ptx "$sections" second
try reject good.ptx ptx "[second]
$right" first
try reject good.ptx ptx "$right" first

"$here/check.sh" ptx operations.expected ptx "" >"$folder/said"
if [ $? -ne 77 ] || ! grep -q '^SKIP' "$folder/said"; then
  echo "self test: a missing compiler must be skipped, with a line that says so"
  failures=$((failures + 1))
fi

[ $failures -eq 0 ] && echo "the checks accept what is right and reject what is wrong"
exit $failures
