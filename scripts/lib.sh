# What the bash scripts of this folder share. Read by them, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export root

# Ends the script with a sentence on stderr.
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# The comment at the head of the calling script, as its help.
print_help() {
  sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"
}

# Puts the CUDA Toolkit into PATH, or ends the script.
require_nvcc() {
  if ! command -v nvcc >/dev/null; then
    [[ -x /usr/local/cuda/bin/nvcc ]] ||
      die "no nvcc in PATH or /usr/local/cuda/bin; install the CUDA Toolkit or use the preset cpu"
    PATH=$PATH:/usr/local/cuda/bin
  fi
}

# configure PRESET [cmake arguments]: configures build/PRESET, quietly unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$(mktemp)
  if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "configuring the preset $preset failed"
  fi
  rm -f "$log"
}
