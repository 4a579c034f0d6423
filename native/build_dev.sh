#!/bin/sh
# Builds the native core in place, so that `import numjet._native` works from a checkout.
# PYTHON chooses the interpreter (the checkout's .venv by default).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-"$root/.venv/bin/python"}
[ -x "$python" ] || python=python3
build="$root/build/dev"
generator="Unix Makefiles"
if command -v ninja >/dev/null 2>&1; then generator=Ninja; fi
mkdir -p "$build"
exec 9>"$build/.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
cmake -S "$root" -B "$build" -G "$generator" -DPython_EXECUTABLE="$python" -DNUMJET_STRICT=ON >"$build/configure.log" || {
  cat "$build/configure.log"
  exit 1
}
cmake --build "$build" -- ${NUMJET_BUILD_ARGS:-}
# Renamed into place: a process that has the old file mapped keeps it.
for library in "$build"/_native.*.so "$build"/libnumjet_kernels.a; do
  cp "$library" "$root/numjet/$(basename "$library").tmp"
  mv -f "$root/numjet/$(basename "$library").tmp" "$root/numjet/$(basename "$library")"
done
