# What the scripts share; sourced, never run. Keeps to bash and what Debian's base system has.

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $*"; exit 1; }

# Stops unless the Swift toolchain is there and new enough.
require_swift() {
  command -v swift >/dev/null || die "the Swift toolchain (6.2 or newer) is needed: https://www.swift.org/install/linux/"
}

# Whether a Debian package is installed.
has_package() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

# Installs what is missing of the given Debian packages. The first argument says what they are for.
require_packages() {
  local purpose=$1 missing=() package
  shift
  if ! command -v dpkg-query >/dev/null; then
    say "Not Debian or Ubuntu: make sure that $* (or what your system calls them) are installed, $purpose."
    return
  fi
  for package in "$@"; do has_package "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${missing[*]} with apt-get, $purpose."
  local run=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null && run=(sudo) ||
      die "may not install packages; run this first: sudo apt-get install ${missing[*]}"
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

# The packages with programs that the Swift toolchain itself asks for; they come with its installation.
toolchain_packages=(binutils git pkg-config)

# The packages that building needs besides Swift.
build_packages=(libpq-dev libsqlite3-dev pkg-config zlib1g-dev)

require_build_packages() {
  require_packages "to build against the client library of PostgreSQL, SQLite and zlib" "${build_packages[@]}"
}

# The packages with programs in Debian's usual folders that the tests start.
test_packages=(pgbouncer)

# Installs what the integration tests start and throw away: the newest PostgreSQL that Debian has with PostGIS, and a pooler.
require_test_packages() {
  local version packages=("${test_packages[@]}")
  if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || ! ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1; then
    version=$(. /etc/os-release 2>/dev/null; case "${VERSION_ID:-}" in 12) echo 15 ;; 13) echo 17 ;; 24.04) echo 16 ;; *) echo 15 ;; esac)
    packages+=("postgresql-$version" "postgresql-$version-postgis-3")
  fi
  require_packages "to test against a real database and a pooler" "${packages[@]}"
}

# Fills a folder with links to the programs that scripts and tests may use: those of the Swift toolchain, of Debian's base
# system, and of the packages that are declared above. Nothing else that happens to be installed is found by a PATH of this
# folder alone. PostgreSQL's programs stand in /usr/lib/postgresql and are found there.
link_declared_programs() {
  local folder=$1 toolchain program
  rm -rf "$folder"
  mkdir -p "$folder"
  toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
  for program in "$toolchain"/*; do
    # Where the toolchain was unpacked over the system, its programs are those that no package has: neither by this path nor,
    # since /bin is a link to /usr/bin, by that one, nor by way of the alternatives system.
    case $toolchain:$(readlink "$program") in
      *:/etc/alternatives/*) continue ;;
      /usr/bin:*) [ -z "$(dpkg-query -S "$program" "${program#/usr}" 2>/dev/null)" ] || continue ;;
    esac
    [ ! -x "$program" ] || ln -s "$program" "$folder/"
  done
  local packages=()
  # Required packages make up the base system; apt is in it as well.
  mapfile -t packages < <(dpkg-query -W -f='${Priority} ${db:Status-Abbrev} ${Package}\n' | sed -n 's/^required ii *//p')
  packages+=(apt "${toolchain_packages[@]}" "${build_packages[@]}" "${test_packages[@]}")
  # Names such as pkg-config belong to a package that the declared one only depends on.
  while read -r program; do
    [ ! -x "$program" ] || [ -d "$program" ] || ln -sf "$program" "$folder/"
  done < <(for program in "${packages[@]}" pkgconf pkgconf-bin; do dpkg-query -L "$program" 2>/dev/null || true; done |
    grep -E '^(/usr)?/s?bin/[^/]+$')
  # What the alternatives system links.
  [ -e "$folder/awk" ] || ln -s "$(command -v mawk)" "$folder/awk"
}

# Lets this shell, and what it starts, have as many files and connections open at a time as the tests need.
raise_descriptor_limit() {
  local needed=4096 wanted=20000 hard
  hard=$(ulimit -Hn)
  [ "$hard" = unlimited ] || [ "$hard" -ge $wanted ] || wanted=$hard
  [ $wanted -ge $needed ] || die "the tests open some thousand connections; this shell may open $hard files (ulimit -Hn)"
  ulimit -Sn $wanted
}

# Sets WAYMARK to the program that is to be tried with Python, built for release, and has what it takes to do so.
require_waymark() {
  command -v python3 >/dev/null || require_packages "to make the load" python3
  [ -z "${WAYMARK:-}" ] || return 0
  require_swift
  require_build_packages
  require_test_packages
  swift build -c release --product waymark
  WAYMARK=$(swift build -c release --show-bin-path)/waymark
}
