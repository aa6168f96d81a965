# PTX -> one line a kernel: its name, a colon, and the instructions that order memory or join lanes, "-" when there is none.
# Plain loads and stores are left out, except volatile ones: those must not be there.
/^\.visible \.entry/ { kernel = $3; sub(/\(.*/, "", kernel); found = "" }
kernel == "" { next }
/^}/ { print kernel ":" (found == "" ? " -" : found); kernel = ""; next }
{
  instruction = ($1 ~ /^@/) ? $2 : $1
  sub(/;$/, "", instruction)
  if (instruction ~ /^(ld|st)\.(relaxed|acquire|release|volatile|weak|mmio)/ ||
      instruction ~ /^(atom|red|fence|membar|bar|barrier|vote|shfl|activemask|nanosleep|trap)/)
    found = found " " instruction
  else if (/%laneid/)
    found = found " %laneid"
}
