#!/bin/sh
# Installs Ibid @VERSION@ for one user: downloads the archive of this platform, checks its SHA-256, and unpacks it.
#
#   sh install.sh [--from DIR-OR-URL] [--prefix DIR] [--public-key KEY] [--uninstall]
#
#   --from        where the archive and SHA256SUMS are [default: @URL@]
#   --prefix      where bin/ and share/ go [default: ~/.local]
#   --public-key  also check the signature SHA256SUMS.minisig with `minisign` and this key
#   --uninstall   remove what an earlier call installed below --prefix; runs and settings stay
#
# It changes nothing outside the prefix and sends nothing but the requests for these files.
set -eu

version="@VERSION@"
from="@URL@"
prefix="${HOME:-}/.local"
public_key=""
uninstall=""

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case "$1" in
        --from | --prefix | --public-key)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case "$1" in
                --from) from="${2%/}" ;;
                --prefix) prefix="${2%/}" ;;
                --public-key) public_key="$2" ;;
            esac
            shift 2
            ;;
        --uninstall) uninstall=yes; shift ;;
        -h | --help) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $1" "see sh install.sh --help" ;;
    esac
done
[ "$prefix" != "/.local" ] || fail "HOME is not set" "name a directory with --prefix"
list="$prefix/share/ibid/installed-files"

# Removes the files of an earlier installation, and directories that this leaves empty.
remove_installed() {
    [ -f "$list" ] || return 0
    while IFS= read -r file; do
        case "$file" in
            */../* | ../* | .. | */.. | /* | "") ;;
            *) rm -f "$prefix/$file" ;;
        esac
    done < "$list"
    rm -f "$list"
    find "$prefix/share/ibid/models" "$prefix/share/ibid/examples" "$prefix/share/doc/ibid" -depth -type d -empty -exec rmdir {} \; 2> /dev/null || :
}

if [ -n "$uninstall" ]; then
    [ -f "$list" ] || fail "nothing of Ibid is installed below $prefix" "name the directory that it was installed in with --prefix"
    remove_installed
    echo "removed Ibid from $prefix" >&2
    exit 0
fi

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-amd64) target="x86_64-unknown-linux-gnu" ;;
    Linux-aarch64 | Linux-arm64) target="aarch64-unknown-linux-gnu" ;;
    *) fail "there is no archive for $(uname -s) on $(uname -m)" "build it from source, as README.md says" ;;
esac

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Brings the file $1.
bring() {
    case "$from" in
        https://* | http://127.0.0.1[:/]* | http://localhost[:/]*)
            if command -v curl > /dev/null; then
                curl -fsSL --proto-redir '=https' --retry 2 -o "$work/$1" "$from/$1"
            elif command -v wget > /dev/null; then
                # Unlike curl, it cannot be told to follow redirects to https alone.
                case "$from" in https://*) redirects=5 ;; *) redirects=0 ;; esac
                wget -q --max-redirect="$redirects" -O "$work/$1" "$from/$1"
            else
                fail "there is neither curl nor wget" "install one of them, or download the files and use --from DIR"
            fi ;;
        http://*) fail "$from is not encrypted" "use https://" ;;
        *) cp "$from/$1" "$work/$1" ;;
    esac || fail "cannot get $1 from $from"
}

sum_of() {
    if command -v sha256sum > /dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

archive="ibid-$version-$target.tar.gz"
bring SHA256SUMS
if [ -n "$public_key" ]; then
    command -v minisign > /dev/null || fail "minisign is not installed" "install it, or leave out --public-key"
    bring SHA256SUMS.minisig
    minisign -V -q -P "$public_key" -m "$work/SHA256SUMS" >&2 || fail "the signature of SHA256SUMS is not of that key" "nothing was installed"
fi
bring "$archive"
wanted="$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")"
[ -n "$wanted" ] || fail "SHA256SUMS does not name $archive"
found="$(sum_of "$work/$archive")"
[ "$wanted" = "$found" ] || fail "the SHA-256 of $archive is $found, not $wanted" "download it again; nothing was installed"

tar -xzf "$work/$archive" -C "$work"
unpacked="$work/ibid-$version-$target"
(cd "$unpacked" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) > "$work/files"
# All is copied beside the old files before any of them goes. A directory may be a link, such as ~/.local/bin.
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    cp -p "$unpacked/$file" "$prefix/$file.new" || fail "cannot write $prefix/$file" "the earlier installation is as it was"
done < "$work/files"
remove_installed
# A program that is running can be replaced, but not written to.
while IFS= read -r file; do
    mv -f "$prefix/$file.new" "$prefix/$file"
done < "$work/files"
mkdir -p "$prefix/share/ibid"
cp "$work/files" "$list"

echo "installed Ibid $version in $prefix" >&2
case ":${PATH:-}:" in
    *":$prefix/bin:"*) ;;
    *) echo "hint: put it on your PATH: export PATH=\"$prefix/bin:\$PATH\"" >&2 ;;
esac
