#!/bin/sh
# Fetches the manuals of manuals.txt (or of $MANUALS) and unpacks them, without installing
# anything:  manuals.sh FOLDER [NAME...]
# Each is then FOLDER/NAME, a link into FOLDER/unpacked.
folder=$1
[ -n "$folder" ] || { echo "usage: manuals.sh FOLDER [NAME...]" >&2; exit 2; }
shift
list=${MANUALS:-$(cd "$(dirname "$0")" && pwd)/manuals.txt}
mkdir -p "$folder/unpacked" && cd "$folder" || exit 1

unpack() {  # unpack PACKAGE
    [ -d "unpacked/$1" ] && return
    rm -rf "unpacked/$1.new" && mkdir "unpacked/$1.new" &&
        (cd "unpacked/$1.new" && apt-get download -qq "$1" >/dev/null && dpkg -x "$1"_*.deb . && rm "$1"_*.deb) &&
        mv "unpacked/$1.new" "unpacked/$1" || { echo "manuals.sh: cannot fetch $1" >&2; return 1; }
}

failed=0
while read -r name package inside _; do
    case $name in ''|'#'*) continue ;; esac
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    if unpack "$package" && [ -d "unpacked/$package/$inside" ]; then
        ln -sfn "unpacked/$package/$inside" "$name"
    else
        echo "manuals.sh: no $name" >&2
        failed=1
    fi
done <"$list"
exit $failed
