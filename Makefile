# Lectern.  `make help` lists what there is.
#
#   BUILD=release|asan|tsan|cov|fuzz   kind of build (gpu: `make gpu-check`); objects live in build/$(BUILD)
#   WERROR=1                      warnings are errors (as in continuous tests)
#   V=1                           show the commands

BUILD ?= release
CC ?= cc
prefix ?= /usr/local
O := build/$(BUILD)
comma := ,

PACKAGES := libuv lmdb zlib libxml-2.0 libcjson libutf8proc libxxhash libzstd libseccomp libpcre2-8
PKG_CFLAGS := $(if $(filter gpu,$(BUILD)),-isystem tests/cuda/bare,$(shell pkg-config --cflags $(PACKAGES) gumbo 2>/dev/null | sed 's/-I/-isystem /g'))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wdouble-promotion -Wformat=2
CFLAGS_release := -O2 -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero \
        -fstack-protector-strong -fstack-clash-protection
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -fsanitize=thread -Wno-maybe-uninitialized
CFLAGS_cov := -O0 --coverage
CFLAGS_gpu := $(CFLAGS_release)
CFLAGS_fuzz := -O1 -w -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS_release := -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_cov := --coverage
LDFLAGS_fuzz := -fsanitize=address,undefined
CFLAGS_ALL := -std=c17 -D_GNU_SOURCE -g -fPIE $(WARN) $(if $(WERROR),-Werror) \
        -include base/banned.h -I. $(PKG_CFLAGS) $(CFLAGS_$(BUILD)) $(CFLAGS)
LDFLAGS_ALL := -pie $(LDFLAGS_$(BUILD)) $(LDFLAGS)

# One line for each file made, unless V=1.
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '  $1 $(patsubst $O/%,%,$@)')

sources = $(patsubst %.c,$O/%.o,$(wildcard $(addsuffix /*.c,$1)))
BASE := $(call sources,base)
TREE := $(call sources,tree)
MEMORY := $(call sources,memory)
# indexer/parse/ is the jailed program, the rest of indexer/ runs in the daemon.
INDEXER := $(call sources,indexer)
PARSE := $(call sources,indexer/parse indexer/parse/latex)
DAEMON := $(call sources,daemon)
CLI := $(call sources,cli) $O/daemon/protocol.o

MODEL := $(call sources,model)
MODEL_LIBS := -lpcre2-8

# FAISS: Debian's library, and its C API, which Debian leaves out.
FAISS_C := build/faiss/libfaiss_c.a
MEMORY_LIBS := -Wl,--push-state,--as-needed -lfaiss -lblas -llapack -lgomp -lstdc++ \
        -Wl,--pop-state -llmdb -lzstd -lstemmer

# Kernels.  DNNL= leaves oneDNN out (as under TSan, which does not understand
# OpenMP), NVCC= the device; CUDA_ARCHS are the devices' generations.
DNNL ?= $(if $(filter tsan,$(BUILD)),,1)
NVCC ?= $(if $(filter tsan,$(BUILD)),,$(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null)))
CUDA_ARCHS ?= 80 90a 100 120
CUDA_LIBS := $(if $(NVCC),$(firstword $(wildcard $(addsuffix /libcudart_static.a,$(patsubst %/bin/nvcc,%,$(NVCC))/lib64 \
        /usr/lib/x86_64-linux-gnu))) -lrt -ldl)
NVCCFLAGS := -std=c++17 -O3 -g -I. $(if $(WERROR),-Werror all-warnings) \
        $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$a$(comma)code=sm_$a) \
        -Xcompiler -fPIE,-Wall,-Wextra,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
KERNELS := $(call sources,kernels/ref) \
        $(filter-out %/$(if $(DNNL),no_dnnl,dnnl).o,$(call sources,kernels/cpu)) \
        $(if $(NVCC),$(patsubst kernels/%.cu,build/%.o,$(wildcard kernels/cuda/*.cu)),$O/kernels/cuda/none.o)
KERNEL_LIBS := -Wl,--push-state,--as-needed $(if $(DNNL),-ldnnl -lgomp) $(CUDA_LIBS) -Wl,--pop-state
$O/kernels/ref/%.o: CFLAGS_ALL += -ffp-contract=off
$O/kernels/cpu/%.o $O/tests/bench/%.o $O/memory/nearest_dot.o: CFLAGS_ALL += -ffp-contract=fast $(if $(filter release,$(BUILD)),-O3)

# The device's files once more, as plain C++ over a stand-in for CUDA: the logic
# of the kernels, in tests alone.  Fibres and the thread sanitizer do not mix.
CXX ?= c++
EMULATED := $(if $(filter tsan gpu,$(BUILD)),$O/tests/cuda/none.o,$(patsubst %.cu,$O/tests/cuda/emulated/%.o, \
        $(filter-out blas.cu,$(notdir $(wildcard kernels/cuda/*.cu)))) $(patsubst %,$O/tests/cuda/%.o,blas emulate fragments graphs self_test))
CXXFLAGS_ALL = -std=c++17 -D_GNU_SOURCE -g -fPIE -Wall -Wextra -Wshadow -Wno-unknown-pragmas $(if $(WERROR),-Werror) -fno-exceptions -fno-rtti \
        -fno-threadsafe-statics -Dkernels_cuda=kernels_emulated -Itests/cuda/stand_in -Itests/cuda -I. \
        $(filter-out -ftrivial-auto-var-init=zero,$(CFLAGS_$(BUILD))) $(CFLAGS)

# The tensor cores are no code under test, and a third of the tests' time.
$O/tests/cuda/fragments.o: CXXFLAGS_ALL := $(filter-out -O% -fsanitize=% -fno-sanitize%,$(CXXFLAGS_ALL)) -O3

# The flags are part of what an object and a program depend on.  The device's
# objects take longest and are the same for each BUILD, so all share them.
STAMP := $O/.flags
FLAGS_NOW := $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) DNNL=$(DNNL) NVCC=$(NVCC) $(CUDA_ARCHS)
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(FLAGS_NOW))
$(shell mkdir -p $O && printf '%s' '$(FLAGS_NOW)' > $(STAMP))
endif
CUDA_STAMP := build/cuda/.flags
CUDA_FLAGS_NOW := $(NVCC) $(NVCCFLAGS)
ifneq ($(NVCC),)
ifneq ($(shell cat $(CUDA_STAMP) 2>/dev/null),$(CUDA_FLAGS_NOW))
$(shell mkdir -p build/cuda && printf '%s' '$(CUDA_FLAGS_NOW)' > $(CUDA_STAMP))
endif
endif

CASES := $(patsubst %,$O/tests/programs/%.o,cases cases_hils cases_papers)
BASE_LIBS := -lcjson -lutf8proc -lxxhash -linih -lpthread -lm
PROGRAMS := lecternd lectern lectern-parse
TOOLS := op probe trees html5lib  # for tests and scripts, not installed
QUILL := $(if $(wildcard model/quill/config.json),build/quill)

all: $(addprefix build/,$(PROGRAMS) $(TOOLS)) $(QUILL)  ## build the programs (build/lectern and its two companions)

ifeq ($(BUILD),release)
build/%: $O/%
	@cp -f $< $@.tmp && mv -f $@.tmp $@
else
.PHONY: $(addprefix build/,$(PROGRAMS) $(TOOLS))
$(addprefix build/,$(PROGRAMS) $(TOOLS)): build/%: $O/%
endif

# Our own small model: what a daemon finds beside itself is its default.
build/quill:
	@ln -sfn ../model/quill $@

$O/lecternd: $(STAMP) $(DAEMON) $(INDEXER) $(MEMORY) $(TREE) $(MODEL) $(KERNELS) $(BASE) $(FAISS_C)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)
$O/lectern: $(STAMP) $(CLI) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lz $(BASE_LIBS)
$O/lectern-parse: $(STAMP) $(PARSE) $(TREE) $(filter-out %/config.o %/config_paths.o,$(BASE))
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lgumbo -lxml2 -lseccomp $(filter-out -linih,$(BASE_LIBS))

$O/op: $(STAMP) $O/tests/programs/op.o $(CASES) $(KERNELS) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(KERNEL_LIBS) $(BASE_LIBS)

$O/probe: $(STAMP) $O/tests/programs/probe.o $(MODEL) $(KERNELS) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)

$O/trees: $(STAMP) $O/tests/programs/trees.o $(addprefix $O/indexer/,parser.o source.o scan.o inputs.o) $(TREE) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lz $(BASE_LIBS)

$O/html5lib: $(STAMP) $O/tests/programs/html5lib.o $(filter-out %/main.o %/jail.o,$(PARSE)) $(TREE) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lgumbo -lxml2 $(BASE_LIBS)

# ---- Tests ----

# One program for each file of tests/unit, linked with everything but the mains.
$O/all.a: $(STAMP) $(BASE) $(TREE) $(MEMORY) $(INDEXER) $(MODEL) $(KERNELS) $(EMULATED) $(CASES) $(filter-out %/main.o,$(DAEMON)) $(filter-out %/main.o $(BASE),$(call sources,cli))
	@rm -f $@ && ar rcs $@ $(filter %.o,$^)
$O/tests/unit/%: $O/tests/unit/%.o $O/all.a $(FAISS_C)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lcmocka -luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)
# The parser's own parts, which the daemon has not.
$O/tests/unit/test_dom $O/tests/unit/test_latex: $O/tests/unit/%: $(STAMP) $O/tests/unit/%.o $(filter-out %/main.o %/jail.o,$(PARSE)) $(TREE) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lcmocka -lgumbo -lxml2 $(BASE_LIBS)
# What `make gpu-bench` measures: models too, whose random weights stand in the
# place of model/weights_files.o, and so come before all.a.
MEASURES := $(patsubst %,$O/tests/cuda/%.o,bench bench_operations bench_decode bench_papers bench_shapes bench_weights)
$O/tests/unit/test_gpu_bench: $O/tests/unit/test_gpu_bench.o $(MEASURES) $O/all.a $(FAISS_C)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lcmocka -luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)
UNIT := $(patsubst %.c,$O/%,$(wildcard tests/unit/*.c))

test: deps  ## everything: floors, unit and end-to-end tests, again with sanitizers
	@sh tests/all.sh
unit: $(UNIT) $(addprefix $O/,$(PROGRAMS))  ## unit tests of this BUILD
	@sh tests/run.sh $O $(UNIT)
e2e: $(addprefix $O/,$(PROGRAMS)) build/manuals/postgresql  ## end-to-end tests of this BUILD, on a real manual
	@python3 tests/e2e.py $O build/manuals/postgresql
$O/tests/bench/parse: BENCH_LIBS := -lgumbo
$O/tests/bench/%: $O/tests/bench/%.o $O/all.a $(FAISS_C)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(BENCH_LIBS) -luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)
bench: $(patsubst %.c,$O/%,$(wildcard tests/bench/*.c)) all build/manuals/postgresql  ## measure parsing and products beside their limits; prints JSON
	@$O/tests/bench/parse build/manuals/postgresql build/lectern-parse
	@$O/tests/bench/products
	@$O/tests/bench/ingest build
# What the trials preload into the daemon; never with a sanitizer.
PRELOADS := $(patsubst %,$O/tests/trials/%.so,record clock)
$(PRELOADS): $O/tests/trials/%.so: tests/trials/%.c tests/trials/record.h $(STAMP)
	$(call say,link)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fPIE,$(CFLAGS_ALL)) -fPIC -shared -o $@ $< -ldl
trials: $(addprefix $O/,$(PROGRAMS)) $(PRELOADS)  ## short trials of kills, power cuts and full disks (docs/torture.md has the long ones)
	@sh tests/trials/short.sh $O
# Without a fuzzer a target is linked with replay.c.
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst %,$O/tests/fuzz/%,html latex tree)
FUZZED := $(filter-out %/main.o %/jail.o,$(PARSE)) $(TREE) $(BASE)
$O/tests/fuzz/encode: $(STAMP) $O/tests/fuzz/encode.o $(FUZZED)
$(FUZZERS): $O/tests/fuzz/%: $(STAMP) $O/tests/fuzz/%.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(FUZZED)
$(FUZZERS): LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$(FUZZERS) $O/tests/fuzz/encode:
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) -lgumbo -lxml2 $(BASE_LIBS)
# What reads a model's files, without what runs it, and the plain kernels, which take weights.
MODEL_FUZZERS := $(patsubst %,$O/tests/fuzz/%,model tokenizer weights)
MODEL_READERS := $(filter-out $(patsubst %,$O/model/%.o,cache embed forward forward_hici forward_hils hmt keys model sample session),$(MODEL))
$(MODEL_FUZZERS): LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$(MODEL_FUZZERS): $O/tests/fuzz/%: $(STAMP) $O/tests/fuzz/%.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(MODEL_READERS) $(call sources,kernels/ref) $(BASE)
	$(call say,link)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(MODEL_LIBS) $(BASE_LIBS)
fuzzers: $(FUZZERS) $(MODEL_FUZZERS) $O/tests/fuzz/encode
fuzz:  ## fuzz the readers of pages, trees, tokenizers and models, FUZZ_SECONDS each (needs clang); see docs/fuzz.md
	@$(MAKE) --no-print-directory -s BUILD=fuzz CC=clang fuzzers
	@sh tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)
replay: fuzzers  ## run the fuzz targets of this BUILD over their corpora
	@sh tests/fuzz/replay.sh $O
# What needs a device, built without Debian's packages: stand-ins of our own for
# cmocka and cJSON, no tokenizers (tests/cuda/bare).
GPU_BASE := $(filter-out $(patsubst %,$O/base/%.o,config config_paths hash log nearest q8 text url),$(BASE))
GPU_MODEL := $(filter-out $(patsubst %,$O/model/%.o,added bpe charsmap decoder new_unicode normalise old_unicode pattern \
        tokenizer tokenizer_read tokenizer_read_model tokenizer_read_steps unigram utf8 vocabulary wordpiece),$(MODEL))
GPU_TESTS := $(patsubst %,$O/check/test_%,kernels products attention attention_star_hici cuda pages)
$(GPU_TESTS): $O/check/%: $O/tests/unit/%.o $(GPU_BASE) $(GPU_MODEL) $(KERNELS) $(EMULATED) $(CASES) $(patsubst %,$O/tests/cuda/bare/%.o,cJSON rest)
	$(call say,link)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(KERNEL_LIBS) -lpthread -lm
$O/check/bench: $O/tests/cuda/bench_main.o $(MEASURES) $(GPU_BASE) $(filter-out $O/model/weights_files.o,$(GPU_MODEL)) $(KERNELS) \
        $(patsubst %,$O/tests/cuda/bare/%.o,cJSON rest)
	$(call say,link)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(KERNEL_LIBS) -lpthread -lm
gpu-programs: $(GPU_TESTS) $O/check/bench
gpu-check:  ## the device's operations and whole models against the reference; needs nvcc and a device, else says SKIP
	@sh tests/cuda/check.sh check
gpu-bench:  ## measure the device; JSON under tests/bench/results/
	@sh tests/cuda/check.sh bench
gpu-resources:  ## registers and spills of every kernel of the device (needs nvcc)
	@$(if $(NVCC),for a in $(CUDA_ARCHS); do sh tests/cuda/resources.sh $(NVCC) $$a || exit 1; done,echo "SKIP gpu-resources: there is no nvcc")
layers:  ## check that each folder includes only what it may
	@sh tests/layers.sh && echo "layers: fine"
demo: deps  ## index a real manual and ask it three questions
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all build/manuals/postgresql
	@sh tests/demo.sh build build/manuals/postgresql

# ---- What is needed ----

DEBIAN := gcc g++ make pkg-config python3 libuv1-dev liblmdb-dev libxml2-dev libgumbo-dev \
        libcjson-dev libutf8proc-dev libstemmer-dev libxxhash-dev libzstd-dev \
        libinih-dev libseccomp-dev zlib1g-dev libcmocka-dev libdnnl-dev libpcre2-dev libfaiss-dev
MISSING = $(shell for p in $(DEBIAN); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)
ROOT = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

deps:  ## install the Debian packages that are missing (asks for root only then), build FAISS's C API
	@missing="$(MISSING)"; if [ -n "$$missing" ]; then echo "installing: $$missing"; mkdir -p build; \
	  $(ROOT) apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $(ROOT) apt-get install -y -qq --no-install-recommends $$missing >build/apt.log 2>&1 || \
	  { cat build/apt.log; exit 1; }; fi
	@$(MAKE) --no-print-directory -s $(FAISS_C)

$(FAISS_C):
	$(call say,c++ )
	$(Q)sh memory/faiss.sh $(@D)

# PostgreSQL's manual, unpacked from its Debian package without installing it.
build/manuals/postgresql:
	@mkdir -p build/manuals/deb && cd build/manuals/deb && \
	  { apt-get download -qq postgresql-doc-15 2>/dev/null || \
	    { $(ROOT) apt-get update -qq && apt-get download -qq postgresql-doc-15 2>/dev/null; }; } && \
	  dpkg -x postgresql-doc-15_*.deb . && \
	  cp -r usr/share/doc/postgresql-doc-15/html ../postgresql.new && \
	  cd .. && rm -rf deb && mv postgresql.new postgresql

install: all  ## install into $(DESTDIR)$(prefix)
	install -Dm755 build/lectern $(DESTDIR)$(prefix)/bin/lectern
	install -Dm755 build/lecternd $(DESTDIR)$(prefix)/bin/lecternd
	install -Dm755 build/lectern-parse $(DESTDIR)$(prefix)/bin/lectern-parse
	$(if $(QUILL),install -Dm644 -t $(DESTDIR)$(prefix)/share/lectern/quill $(wildcard model/quill/*.json model/quill/*.safetensors))

$O/%.o: %.c $(STAMP)
	$(call say,cc  )
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$O/tests/cuda/emulated/%.o: kernels/cuda/%.cu $(STAMP)
	$(call say,c++ )
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS_ALL) -MMD -MP -x c++ -c -o $@ $<
$O/tests/cuda/%.o: tests/cuda/%.cc $(STAMP)
	$(call say,c++ )
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS_ALL) -MMD -MP -c -o $@ $<

build/cuda/%.o: kernels/cuda/%.cu $(CUDA_STAMP)
	$(call say,nvcc)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

-include $(shell find $O build/cuda -name '*.d' 2>/dev/null)

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

clean:  ## remove everything that was built
	rm -rf build

.PHONY: all help clean test unit e2e bench trials fuzz fuzzers replay layers demo deps install gpu-programs gpu-check gpu-bench gpu-resources
.SECONDARY:
