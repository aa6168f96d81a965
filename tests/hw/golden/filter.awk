# Assembly -> one line a kernel: its name, a colon, and the instructions that order memory or join lanes, "-" when there is none. With
# -v machine=ptx of PTX, with -v machine=gcn of AMD's, with -v machine=ir of LLVM's code before that.
#
# PTX: plain loads and stores are left out, except volatile ones: those must not be there.
#
# AMD: the accesses to memory with their cache bits ("+glc"), the waits
# for memory, the cache operations, and the instructions that join lanes.
#
# In operations.cpp words of 32 bits are the atomic accesses and words of 64 bits the plain ones around them; one of 64 bits with a cache
# bit is no plain one either. The frame that every kernel has, "plain_store ... plain_load waitcnt plain_store", is taken off; a plain access anywhere else stays.
# LLVM IR of AMD's kernels, with -v machine=ir: every access of a word and every fence, as PTX would spell it.
machine == "ir" && /^define .*@body_[0-9]+\(/ { kernel = $0; sub(/.*@/, "", kernel); sub(/\(.*/, "", kernel); found = ""; next }
machine == "ir" && /^}/ && kernel != "" { print kernel ":" (found == "" ? " -" : found); kernel = ""; next }
machine == "ir" && kernel == "" { next }
machine == "ir" {
  scope = "sys"
  if (/syncscope\("workgroup/) scope = "cta"
  if (/syncscope\("agent/) scope = "gpu"
  # Of a compare-and-exchange the first order is that of success.
  order = "weak"
  if (match($0, / (monotonic|acquire|release|acq_rel|seq_cst)/)) order = substr($0, RSTART + 1, RLENGTH - 1)
  sub(/monotonic/, "relaxed", order)
  sub(/seq_cst/, "sc", order)
  how = order == "weak" ? order : order "." scope
  if (/ load (atomic )?i32/) found = found " ld." how ".u32"
  else if (/^ *store (atomic )?i32/) found = found " st." how ".u32"
  else if (/ atomicrmw xchg /) found = found " atom." how ".exch.b32"
  else if (/ atomicrmw add /) found = found " atom." how ".add.u32"
  else if (/ cmpxchg /) found = found " atom." how ".cas.b32"
  else if (/^ *fence /) found = found " fence." how
  next
}
machine == "ptx" && /^\.visible \.entry/ { kernel = $3; sub(/\(.*/, "", kernel); found = "" }
machine == "ptx" && kernel == "" { next }
machine == "ptx" && /^}/ { print kernel ":" (found == "" ? " -" : found); kernel = ""; next }
machine == "ptx" {
  instruction = ($1 ~ /^@/) ? $2 : $1
  sub(/;$/, "", instruction)
  if (instruction ~ /^(ld|st)\.(relaxed|acquire|release|volatile|weak|mmio)/ ||
      instruction ~ /^(atom|red|fence|membar|bar|barrier|vote|shfl|activemask|nanosleep|trap)/)
    found = found " " instruction
  else if (/%laneid/)
    found = found " %laneid"
  next
}
/; @/ { kernel = ($1 ~ /^__/) ? "" : $1; sub(/:$/, "", kernel); found = "" }
kernel == "" { next }
/^\.Lfunc_end/ {
  if (found ~ /^ plain_store .*plain_load waitcnt plain_store$/) {
    sub(/^ plain_store/, "", found)
    sub(/ plain_load waitcnt plain_store$/, "", found)
  }
  print kernel ":" (found == "" ? " -" : found)
  kernel = ""
  next
}
$1 == "s_trap" { if (found !~ /s_trap/) found = found " s_trap"; next }
# What printf does is not ours.
kernel ~ /^trap/ { next }
/; wave barrier/ { found = found " wave_barrier" }
$1 == "s_waitcnt" { if (/vmcnt\(0\)/) found = found " waitcnt"; next }
$1 == "s_waitcnt_vscnt" { found = found " waitcnt_vscnt"; next }
$1 ~ /^(global|flat)_load_(dwordx2|b64)$/ && !/ (glc|dlc|slc|sc0|sc1|nt)( |$)/ { found = found " plain_load"; next }
$1 ~ /^(global|flat)_store_(dwordx2|b64)$/ && !/ (glc|dlc|slc|sc0|sc1|nt)( |$)/ { found = found " plain_store"; next }
$1 ~ /^((global|flat)_(load|store|atomic)|buffer_(wb|inv|gl))/ {
  access = $1
  for (field = 2; field <= NF; ++field)
    if ($field ~ /^(glc|dlc|slc|sc0|sc1|nt)$/) access = access "+" $field
  found = found " " access
  next
}
# The lanes that are switched on, as a value.
kernel == "lane_mask" && /exec/ && found !~ /exec/ { found = found " exec" }
$1 ~ /^(v_readfirstlane_b32|v_mbcnt|s_sleep|s_barrier|s_sendmsg$)/ { found = found " " $1; next }
