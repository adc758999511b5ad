#!/bin/sh
# The Debian packages in a clean Debian 12: installed, used as a new user would, upgraded with the store kept,
# removed and purged; and lintian finds no error in them.
#   debian.sh FOLDER-OF-PACKAGES [BASE.tar]
# BASE.tar: a root made before by `mmdebstrap --variant=minbase bookworm BASE.tar`; else one is made.
# Says SKIP where there is no root, no mmdebstrap or no mirror.
set -e
packages=$(cd "$1" && pwd)
base=$2
fail() {
    echo "debian: $*" >&2
    exit 1
}
skip() {
    echo "SKIP debian: $*"
    exit 0
}
ls "$packages"/lectern_*.deb >/dev/null || fail "no package in $packages: make deb"
[ "$(id -u)" = 0 ] || skip "it needs root"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap"

work=$(mktemp -d)
root=$work/root
cleanup() {
    [ ! -x "$root/usr/bin/lectern" ] || as_user lectern daemon --stop >/dev/null 2>&1 || true
    for at in dev/pts proc; do
        mountpoint -q "$root/$at" && umount -l "$root/$at"
    done
    rm -rf "$work"
}
trap cleanup EXIT
if [ -z "$base" ]; then
    base=$work/base.tar
    mmdebstrap --quiet --variant=minbase bookworm "$base" || skip "no root can be made here"
fi
mkdir "$root"
tar -xf "$base" -C "$root"
mount -t proc proc "$root/proc" || skip "nothing can be mounted here"
cp /etc/resolv.conf "$root/etc/resolv.conf"

in_root() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
apt() {
    in_root apt-get -y -qq -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "apt-get $*"
    }
}
apt_install_from() {
    # shellcheck disable=SC2046 -- names of packages have no spaces
    apt install $(cd "$root" && ls ./"$1"/lectern_*.deb ./"$1"/lectern-quill_*.deb)
}
as_user() {
    in_root setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/reader "$@"
}
version_of() {
    in_root dpkg-query -W -f '${Version}' lectern
}

# The same packages under a later version, as an upgrade brings them.
later() {
    dpkg-deb -R "$1" "$work/tree"
    sed -i -e 's/^\(Version: .*\)/\1+later/' -e 's/lectern (= \([^)]*\))/lectern (= \1+later)/' "$work/tree/DEBIAN/control"
    dpkg-deb -b "$work/tree" "$root/later/" >/dev/null
    rm -rf "$work/tree"
}

apt update
apt install passwd man-db
in_root useradd -m -u 1000 reader
mkdir "$root/new" "$root/later"
cp "$packages"/*.deb "$root/new"
files() {  # that man keeps of pages it has shown are its own
    find "$root/etc" "$root/var" "$root/usr" -path "$root/var/cache/man" -prune -o -name '*lectern*' -print | sort
}
files >"$work/before"

# First use, as a new user would: three commands, to an answer from an installed manual.
apt install bc
start=$(date +%s)
apt_install_from new
as_user lectern add --installed --yes --wait
answer=$(as_user lectern ask -c bc "how do I set the number of digits after the decimal point")
echo "from nothing, by three commands, to the first cited answer: $(($(date +%s) - start)) s"
echo "$answer"
echo "$answer" | grep -q '\[1\]' || fail "nothing is known of the installed manual of bc"
mkdir -p "$root/home/reader/pumps"
cat >"$root/home/reader/pumps/index.html" <<'HTML'
<title>Pumps</title><h1>Pumps</h1><h2>Priming</h2><p>The impeller is primed with clean water.</p>
HTML
chown -R 1000:1000 "$root/home/reader"
as_user lectern add /home/reader/pumps -c pumps --wait
answer=$(as_user lectern ask "what is the impeller primed with")
echo "$answer"
echo "$answer" | grep -q 'clean water. \[1\]' || fail "the question is not answered"
as_user lectern status --json >"$work/log"
for model in quill nib; do
    grep -q "share/lectern/$model\"" "$work/log" || fail "$model is not used: $(cat "$work/log")"
done
# Packed, and taken back under another name by who trusts the key.
as_user sh -e -c 'cd; mkdir -p .config/lectern
    lectern pack pumps pumps.pack --key key --json | sed "s/.*signer\":\"\([0-9a-f]*\).*/\1/" > .config/lectern/trusted-keys
    lectern unpack pumps.pack -c copied
    lectern ask -c copied "what is the impeller primed with" | grep -q "clean water. \[1\]"
    lectern rm copied' || fail "a pack is not taken"
apt purge bc
as_user lectern add --installed 2>&1 | grep -q 'bc is removed' || fail "bc's manual outlives its package"

for page in lectern lecternd lectern.ini lectern-json; do
    in_root man "$page" 2>"$work/log" | grep -qi "$page" || fail "there is no manual page $page"
    [ ! -s "$work/log" ] || fail "man $page: $(cat "$work/log")"
done
for unit in lectern.socket lectern.service; do
    [ -s "$root/usr/lib/systemd/user/$unit" ] || fail "there is no user unit $unit"
done
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"impeller"}}}' |
    as_user lectern mcp | grep -q Priming || fail "agents are not served"
as_user bash -c 'exec 3< <(exec lectern web --port 0); web=$!; read -r address <&3
    host=${address#http://}; host=${host%%/*}
    exec 4<>"/dev/tcp/${host%:*}/${host#*:}"
    printf "GET /%s HTTP/1.0\r\nHost: %s\r\n\r\n" "${address#*//*/}" "$host" >&4
    grep -q "<title>Lectern" <&4; found=$?; kill $web; exit $found' || fail "there is no page to read"
for file in vim/vimfiles/plugin/lectern.vim nvim/site/plugin/lectern.vim emacs/site-lisp/lectern.el; do
    [ -s "$root/usr/share/$file" ] || fail "editors are without $file"
done
as_user bash -c '. /usr/share/bash-completion/completions/lectern
    COMP_WORDS=(lectern rm pu) COMP_CWORD=2; _lectern lectern; [ "${COMPREPLY[*]}" = pumps ]' || fail "no completion"

for package in "$root"/new/lectern*.deb; do
    case "$package" in *dbgsym*) ;; *) later "$package" ;; esac
done
apt_install_from later
case "$(version_of)" in *+later) ;; *) fail "not upgraded: $(version_of)" ;; esac
as_user lectern daemon --stop
as_user lectern search impeller | grep -q Priming || fail "the upgrade lost the store"
as_user lectern daemon --stop

# The daemon with CUDA, where it was made: it takes the place of the other, and gives it back.
if ls "$root"/later/lectern-cuda_*.deb >/dev/null 2>&1; then
    before=$(sha256sum <"$root/usr/bin/lecternd")
    # shellcheck disable=SC2046 -- names of packages have no spaces
    apt install $(cd "$root" && ls ./later/lectern-cuda_*.deb)
    [ "$before" != "$(sha256sum <"$root/usr/bin/lecternd")" ] || fail "the daemon with CUDA is not in place"
    as_user lectern search impeller | grep -q Priming || fail "the daemon with CUDA does not answer"
    as_user lectern daemon --stop
    apt purge lectern-cuda
    [ "$before" = "$(sha256sum <"$root/usr/bin/lecternd")" ] || fail "the daemon without CUDA is not back"
    echo "lectern-cuda: takes its place, and gives it back"
fi

apt remove lectern lectern-quill
in_root sh -c '! command -v lectern' || fail "still there after it was removed"
apt purge lectern lectern-quill
files | diff "$work/before" - || fail "files are left behind"
[ -s "$root/home/reader/.local/share/lectern/data.mdb" ] || fail "the user's store is gone"

if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error --tag-display-limit 0 "$packages"/lectern*.changes || fail "lintian finds errors"
else
    echo "no lintian here: not asked"
fi
echo "debian: fine"
