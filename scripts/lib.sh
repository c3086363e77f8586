# Functions of the scripts, to be sourced. They require only bash and Debian's base system.

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $*"; exit 1; }

# Prints the comment at the top of the script and exits, if the first argument is -h or --help. To be called after the only
# change of the folder.
handle_help() {
  local file=$0
  case $file in /*) ;; *) file=$OLDPWD/$file ;; esac
  case "${1:-}" in -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$file"; exit ;; esac
}

# Prints names of checks, each with the first line of its description. The first argument is their folder.
list_checks() {
  local folder=$1 name
  shift
  for name in "$@"; do
    printf '%-14s %s\n' "$name" "$(sed -n '1s/^"""//p; 2s/^# //p' "$folder/$name" "$folder/$name.py" 2>/dev/null)"
  done
}

# Replaces the shell by a Python program, which can import the modules of Tests/Harness. PYTHON names the interpreter.
run_python() {
  export PYTHONPATH=$PWD/Tests/Harness${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
  exec "${PYTHON:-python3}" "$@"
}

# Sets PYTHON to the interpreter of a virtual environment, which is kept in the user's cache, and installs packages of
# PyPI in it. The first argument is the name of the environment.
require_python() {
  local environment=${XDG_CACHE_HOME:-$HOME/.cache}/waymark/$1
  shift
  require_packages "to install programs in Python" python3 python3-venv
  [ -x "$environment/bin/python" ] || python3 -m venv "$environment"
  "$environment/bin/pip" install -q "$@"
  PYTHON=$environment/bin/python
}

# Exits with an error if the Swift toolchain is missing.
require_swift() {
  command -v swift >/dev/null || die "the Swift toolchain (6.2 or newer) is required: https://www.swift.org/install/linux/"
}

# Succeeds if a Debian package is installed.
has_package() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

# Installs the given Debian packages that are missing. The first argument is the purpose.
require_packages() {
  local purpose=$1 missing=() package
  shift
  if ! command -v dpkg-query >/dev/null; then
    say "Not Debian or Ubuntu: make sure that $* (or their equivalents) are installed, $purpose."
    return
  fi
  for package in "$@"; do has_package "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${missing[*]} with apt-get, $purpose."
  local run=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null && run=(sudo) ||
      die "root privileges are required to install packages; run this first: sudo apt-get install ${missing[*]}"
  fi
  local log
  log=$(mktemp)
  if ! { "${run[@]}" apt-get update -qq &&
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "apt-get could not install ${missing[*]}"
  fi
  rm -f "$log"
}

# The packages with programs that the Swift toolchain depends on; they are installed with it.
toolchain_packages=(binutils git pkg-config)

# The packages that the build requires besides Swift.
build_packages=(libexpat1-dev libpq-dev libsqlite3-dev pkg-config zlib1g-dev)

require_build_packages() {
  require_packages "to build against Expat, the client library of PostgreSQL, SQLite and zlib" "${build_packages[@]}"
}

# The packages with programs in Debian's usual folders that the tests start.
test_packages=(curl pgbouncer)

# Installs the servers that the integration tests start: the newest PostgreSQL with PostGIS in Debian, and a pooler.
require_test_packages() {
  local version packages=("${test_packages[@]}")
  if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || ! ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1; then
    version=$(. /etc/os-release 2>/dev/null; case "${VERSION_ID:-}" in 12) echo 15 ;; 13) echo 17 ;; 24.04) echo 16 ;; *) echo 15 ;; esac)
    packages+=("postgresql-$version" "postgresql-$version-postgis-3")
  fi
  require_packages "to test with a database and a pooler" "${packages[@]}"
}

# Creates a folder of links to the programs that scripts and tests may use: those of the Swift toolchain, of Debian's
# base system, and of the packages declared above. With this folder as PATH, no other installed program is found.
# PostgreSQL's programs are in /usr/lib/postgresql, where tests look for them.
link_declared_programs() {
  local folder=$1 toolchain program
  rm -rf "$folder"
  mkdir -p "$folder"
  toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
  for program in "$toolchain"/*; do
    # If the toolchain was unpacked into /usr/bin, its programs are those that belong to no package, under this path or
    # under /bin, and are not managed by the alternatives system.
    case $toolchain:$(readlink "$program") in
      *:/etc/alternatives/*) continue ;;
      /usr/bin:*) [ -z "$(dpkg-query -S "$program" "${program#/usr}" 2>/dev/null)" ] || continue ;;
    esac
    [ ! -x "$program" ] || ln -s "$program" "$folder/"
  done
  local packages=()
  # The base system consists of the required packages and apt.
  mapfile -t packages < <(dpkg-query -W -f='${Priority} ${db:Status-Abbrev} ${Package}\n' | sed -n 's/^required ii *//p')
  packages+=(apt "${toolchain_packages[@]}" "${build_packages[@]}" "${test_packages[@]}")
  # Programs such as pkg-config belong to a dependency of the declared package.
  while read -r program; do
    [ ! -x "$program" ] || [ -d "$program" ] || ln -sf "$program" "$folder/"
  done < <(for program in "${packages[@]}" pkgconf pkgconf-bin; do dpkg-query -L "$program" 2>/dev/null || true; done |
    grep -E '^(/usr)?/s?bin/[^/]+$')
  # awk is a link of the alternatives system.
  [ -e "$folder/awk" ] || ln -s "$(command -v mawk)" "$folder/awk"
}

# Raises the limit of open files, which the tests need for thousands of connections.
raise_descriptor_limit() {
  local minimum=4096 preferred=20000 hard
  hard=$(ulimit -Hn)
  [ "$hard" = unlimited ] || [ "$hard" -ge $preferred ] || preferred=$hard
  [ $preferred -ge $minimum ] || die "the tests need $minimum open files; the limit of this shell is $hard (ulimit -Hn)"
  ulimit -Sn $preferred
}

# The options of debug builds. Nobody debugs on a machine of CI: without debug information the build takes less of the disk.
# The index stays, since SwiftPM looks for tests in it.
DEBUG_BUILD=()
[ "${CI:-}" != true ] || DEBUG_BUILD=(-debug-info-format none)

# The options of release builds. They are linked statically with the Swift runtime, as in the container image and the
# packages: calls into it are faster then. The checks of exclusive access to memory are those of the tests, which run
# debug builds: here they take one instruction in twenty of a request.
RELEASE_BUILD=(-c release -Xswiftc -enforce-exclusivity=unchecked)
[ "$(uname)" = Darwin ] || RELEASE_BUILD+=(--static-swift-stdlib)

# Builds products for release, and sets RELEASE to the folder that they are in.
build_release() {
  local product
  for product in "$@"; do swift build "${RELEASE_BUILD[@]}" --product "$product"; done
  RELEASE=$(swift build "${RELEASE_BUILD[@]}" --show-bin-path)
}

# Sets a variable to the release build of a product, unless it is set.
require_product() {
  local variable=$1 product=$2
  [ -z "${!variable:-}" ] || return 0
  require_swift
  require_build_packages
  build_release "$product"
  printf -v "$variable" %s "$RELEASE/$product"
}

# Sets WAYMARK to the release build unless it is set, and installs Python.
require_waymark() {
  command -v python3 >/dev/null || require_packages "to generate load" python3
  require_product WAYMARK waymark
}

# Sets OSM_PLACES to the release build of osm-places unless it is set, installs osmium-tool and pyosmium, and sets PYTHON
# to the interpreter that has it.
require_osmium() {
  require_packages "to write and read OpenStreetMap files" osmium-tool
  require_python osmium osmium
  require_product OSM_PLACES osm-places
}

# Installs Chromium and Playwright, and sets PYTHON to the interpreter that has it.
require_browser() {
  require_packages "to drive the pages" chromium
  require_python browser 'playwright>=1.50,<2' 'pillow>=11,<13' 'pmtiles>=3.4,<4' 'osmium>=4,<5' \
    'axe-playwright-python>=0.1.8,<0.2'
}
