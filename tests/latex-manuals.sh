#!/bin/sh
# Fetches the manuals of latex-manuals.txt and unpacks them, without installing
# anything:  latex-manuals.sh FOLDER [NAME...]
# Each is then FOLDER/NAME, a copy of its folder in the package.
folder=$1
[ -n "$folder" ] || { echo "usage: latex-manuals.sh FOLDER [NAME...]" >&2; exit 2; }
shift
list=$(cd "$(dirname "$0")" && pwd)/latex-manuals.txt
mkdir -p "$folder/unpacked" && cd "$folder" || exit 1

unpack() {  # unpack PACKAGE
    [ -d "unpacked/$1" ] && return
    rm -rf "unpacked/$1.new" && mkdir "unpacked/$1.new" &&
        (cd "unpacked/$1.new" && apt-get -o APT::Sandbox::User=root download -qq "$1" >/dev/null && dpkg -x "$1"_*.deb . && rm "$1"_*.deb) &&
        mv "unpacked/$1.new" "unpacked/$1" || { echo "latex-manuals.sh: cannot fetch $1" >&2; return 1; }
}

# What upstream runs LaTeX on is not in the package: a driver, and the macros,
# which are installed where TeX finds them.
complete() {  # complete NAME
    case $1 in
    pgf)
        [ -d unpacked/texlive-pictures ] || unpack texlive-pictures || return
        find unpacked/texlive-pictures -name 'pgfmanual*' -name '*.tex' -exec cp {} pgf/ \;
        printf '%s\n' '\documentclass[a4paper]{ltxdoc}' '\input{pgfmanual-en-main.tex}' >pgf/pgfmanual.tex
        ;;
    esac
}

failed=0
while read -r name package inside _; do
    case $name in ''|'#'*) continue ;; esac
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    if unpack "$package" && [ -d "unpacked/$package/$inside" ]; then
        [ -d "$name" ] || { cp -rL "unpacked/$package/$inside" "$name" && complete "$name"; }
    else
        echo "latex-manuals.sh: no $name" >&2
        failed=1
    fi
done <"$list"
exit $failed
