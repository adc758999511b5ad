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

# Of a source package the tarball that upstream made is enough.
sources() {  # sources NAME
    [ -d "unpacked/source:$1" ] && return
    mkdir -p apt/lists/partial apt/cache/archives/partial "unpacked/source:$1.new"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} bookworm main" >apt/sources.list
    set -- "$1" -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/nonexistent \
        -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache"
    source=$1 && shift
    [ -s apt/updated ] || { apt-get "$@" -qq update && echo yes >apt/updated; } || return
    (cd "unpacked/source:$source.new" && apt-get "$@" -qq source --download-only "$source" >/dev/null 2>&1
        tar xf "$source"_*.orig.tar.[gx]z --strip-components=1 && rm -f "$source"_*) &&
        mv "unpacked/source:$source.new" "unpacked/source:$source" || { echo "latex-manuals.sh: cannot fetch the source of $source" >&2; return 1; }
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
    case $package in
    source:*) sources "${package#source:}" ;;
    *) unpack "$package" ;;
    esac
    if [ $? -eq 0 ] && [ -d "unpacked/$package/$inside" ]; then
        [ -d "$name" ] || { cp -rL "unpacked/$package/$inside" "$name" && complete "$name"; }
    else
        echo "latex-manuals.sh: no $name" >&2
        failed=1
    fi
done <"$list"
exit $failed
