# Prints the block of a page that is opened by "```cpp NAME"; fails when there is none, or more than one.
/^```/ {
  if (inside) { inside = 0; next }
  if ($2 == name && $1 ~ /^```[a-z]+$/) { inside = 1; ++found; next }
}
inside { print }
END {
  if (found != 1) { print FILENAME ": " found + 0 " blocks of the name " name > "/dev/stderr"; exit 1 }
}
