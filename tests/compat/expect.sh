# For tests of commands: whether what a command says, on both streams, has a line as the expression wants it. It stays in the file `told`.
expect() { # TEXT COMMAND...
  local text=$1
  shift
  "$@" >told 2>&1 || true
  if ! grep -E -e "$text" told >/dev/null; then
    echo "\"$text\" is not in what this says: $*"
    cat told
    exit 1
  fi
}
