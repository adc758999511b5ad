#!/bin/sh
# Makes FOLDER/libfaiss_c.a, the parts of FAISS's C API that memory/ uses:
# libfaiss-dev has its headers, but not its objects.
#   faiss.sh FOLDER
# Debian's source package comes from the mirrors that apt is configured for,
# through lists in FOLDER: apt's configuration stays as it is.
set -e
# The last two only for what measures FAISS's other indexes (tests/bench).
parts="Index_c IndexFlat_c error_impl index_factory_c AutoTune_c"
mkdir -p "$1"
cd "$1"
rm -rf apt c_api
mkdir -p apt/sources apt/lists/partial apt/cache/archives/partial
apt=$PWD/apt

for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    case "$file" in
    *.list) sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" ;;
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$file" ;;
    esac >"apt/sources/${file##*/}"
done

quietly() {
    apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList=- \
        -o Dir::Etc::SourceParts="$apt/sources" -o Dir::State::Lists="$apt/lists" \
        -o Dir::Cache="$apt/cache" "$@" >>"$apt/log" 2>&1
}
version=$(dpkg-query -W -f '${source:Version}' libfaiss-dev)
quietly update || true
(cd apt && quietly source --download-only "faiss=$version") || {
    cat "$apt/log"
    echo "the source package faiss $version cannot be fetched: is one of apt's mirrors reachable?"
    exit 1
} >&2
tar -xf apt/faiss_*.orig.tar.* --wildcards --strip-components=1 '*/c_api/*'

for part in $parts; do
    ${CXX:-g++} -std=c++11 -O2 -fPIC -Ic_api -I/usr/include/faiss -c -o "c_api/${part##*/}.o" "c_api/$part.cpp"
done
ar rcs c_api/libfaiss_c.a c_api/*.o
mv c_api/libfaiss_c.a .
rm -rf apt c_api
