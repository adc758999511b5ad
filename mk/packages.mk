# What is needed, and where it comes from.

DEBIAN := gcc g++ make pkg-config python3 libuv1-dev liblmdb-dev libxml2-dev libgumbo-dev \
        libcjson-dev libutf8proc-dev libstemmer-dev libxxhash-dev libzstd-dev \
        libinih-dev libseccomp-dev zlib1g-dev libcmocka-dev libdnnl-dev libpcre2-dev libfaiss-dev \
        libcurl4-openssl-dev libmicrohttpd-dev libsqlite3-dev libsodium-dev libpq-dev
# What only the tests need.
TOOLS := clang-format clang-tidy
MISSING = $(shell for p in $(WANTED); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)
ROOT = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

deps: WANTED = $(DEBIAN)
test-deps: WANTED = $(DEBIAN) $(TOOLS)
deps test-deps:  ## install the Debian packages that are missing (asks for root only then), build FAISS's C API
	@missing="$(MISSING)"; if [ -n "$$missing" ]; then echo "installing: $$missing"; mkdir -p build; \
	  $(ROOT) apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $(ROOT) apt-get install -y -qq --no-install-recommends $$missing >build/apt.log 2>&1 || \
	  { cat build/apt.log; exit 1; }; fi
	@$(MAKE) --no-print-directory -s $(FAISS_C)

$(FAISS_C):
	$(call say,c++ )
	$(Q)sh memory/vectors/faiss.sh $(@D)

# PostgreSQL's manual, unpacked from its Debian package without installing it.
build/manuals/postgresql:
	@mkdir -p build/manuals/deb && cd build/manuals/deb && \
	  { apt-get download -qq postgresql-doc-15 2>/dev/null || \
	    { $(ROOT) apt-get update -qq && apt-get download -qq postgresql-doc-15 2>/dev/null; }; } && \
	  dpkg -x postgresql-doc-15_*.deb . && \
	  cp -r usr/share/doc/postgresql-doc-15/html ../postgresql.new && \
	  cd .. && rm -rf deb && mv postgresql.new postgresql

.PHONY: deps test-deps
