# Flags of the compilers, and the libraries.

PACKAGES := libuv lmdb zlib libxml-2.0 libcjson libutf8proc libxxhash libzstd libseccomp libpcre2-8 libpq
PKG_CFLAGS := $(if $(filter gpu,$(BUILD)),-isystem tests/cuda/shim/packages,$(shell pkg-config --cflags $(PACKAGES) gumbo 2>/dev/null | sed 's/-I/-isystem /g'))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wdouble-promotion -Wformat=2
CFLAGS_release := -O2 -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero \
        -fstack-protector-strong -fstack-clash-protection
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -fsanitize=thread -Wno-maybe-uninitialized
CFLAGS_cov := -O0 --coverage
CFLAGS_gpu := $(CFLAGS_release)
CFLAGS_race := -O1 -DEMULATED_RACES
CFLAGS_fuzz := -O1 -w -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS_release := -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
# tests/faults/flush.c writes the counters of a process that is about to be killed.
LDFLAGS_cov := --coverage $(foreach f,__gcov_dump __gcov_reset,-Wl,-u,$f,--export-dynamic-symbol=$f)
LDFLAGS_fuzz := -fsanitize=address,undefined
CFLAGS_ALL := -std=c17 -D_GNU_SOURCE -g -fPIE $(WARN) $(if $(WERROR),-Werror) \
        -include base/banned.h -I. $(PKG_CFLAGS) $(CFLAGS_$(BUILD)) $(CFLAGS)
LDFLAGS_ALL := -pie $(LDFLAGS_$(BUILD)) $(LDFLAGS)

BASE_LIBS := -lcjson -lutf8proc -lxxhash -linih -lpthread -lm
MODEL_LIBS := -lpcre2-8
# Of the jailed program.
PARSE_LIBS := -lgumbo -lxml2 -lsqlite3
# FAISS: Debian's library, and its C API, which Debian leaves out (packages.mk).
FAISS_C := build/faiss/libfaiss_c.a
MEMORY_LIBS := -Wl,--push-state,--as-needed -lfaiss -lblas -llapack -lgomp -lstdc++ \
        -Wl,--pop-state -llmdb -lzstd -lstemmer -lsodium

# DNNL= leaves oneDNN out (as under TSan, which does not understand OpenMP), NVCC=
# the device; CUDA_ARCHS are the devices' generations.
DNNL ?= $(if $(filter tsan,$(BUILD)),,1)
NVCC ?= $(if $(filter tsan,$(BUILD)),,$(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null)))
CUDA_ARCHS ?= 80 90a 100 120
# CUDA's runtime: beside nvcc (or what that is a link to), in other CUDAs, in
# Debian's folder, in PyTorch's wheels; the static one first.
CUDA_HOMES := $(patsubst %/bin/nvcc,%,$(NVCC) $(realpath $(NVCC))) $(wildcard /usr/local/cuda*)
CUDA_WHEELS = $(shell python3 -c 'import glob, site; print(*(f for p in site.getsitepackages() + [site.getusersitepackages()] for f in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null)
CUDA_FOLDERS := $(foreach h,$(CUDA_HOMES),$h/lib64 $h/lib $h/targets/*/lib) /usr/lib/x86_64-linux-gnu
cuda_runtime_in = $(firstword $(foreach l,libcudart_static.a libcudart.so.13,$(wildcard $(addsuffix /$l,$1))))
CUDA_RUNTIME := $(if $(NVCC),$(or $(call cuda_runtime_in,$(CUDA_FOLDERS)),$(call cuda_runtime_in,$(CUDA_WHEELS))))
CUDA_LIBS := $(if $(NVCC),$(CUDA_RUNTIME) $(if $(filter %.13,$(CUDA_RUNTIME)),-Wl$(comma)-rpath$(comma)$(dir $(CUDA_RUNTIME))) -lrt -ldl)
NVCCFLAGS := -std=c++17 -O3 -g -I. $(if $(WERROR),-Werror all-warnings) \
        $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$a$(comma)code=sm_$a) \
        -Xcompiler -fPIE,-Wall,-Wextra,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
KERNEL_LIBS := -Wl,--push-state,--as-needed $(if $(DNNL),-ldnnl -lgomp) $(CUDA_LIBS) -Wl,--pop-state

# Of the emulated device (gpu.mk).
CXXFLAGS_ALL = -std=c++17 -D_GNU_SOURCE -g -fPIE -Wall -Wextra -Wshadow -Wno-unknown-pragmas $(if $(WERROR),-Werror) -fno-exceptions -fno-rtti \
        -fno-threadsafe-statics -Dkernels_cuda=kernels_emulated -Itests/cuda/shim/cuda -Itests/cuda -I. \
        $(filter-out -ftrivial-auto-var-init=zero,$(CFLAGS_$(BUILD))) $(CFLAGS)

# Which files are compiled otherwise.
$O/kernels/ref/%.o: CFLAGS_ALL += -ffp-contract=off
$O/kernels/cpu/%.o $O/tests/bench/%.o $O/memory/vectors/dots.o: CFLAGS_ALL += -ffp-contract=fast $(if $(filter release,$(BUILD)),-O3)
# A call for each load and store of a kernel, which the race detector answers.
$O/tests/cuda/emulated/%.o $O/tests/cuda/self_test.o: CXXFLAGS_ALL += $(if $(filter race,$(BUILD)),-fsanitize=kernel-address \
        --param asan-instrumentation-with-call-threshold=0 --param asan-stack=0 --param asan-globals=0)
# The device itself, and its race detector, is no code under test, and half of the tests' time.
$(patsubst %,$O/tests/cuda/%.o,fragments emulate race race_order): CXXFLAGS_ALL := $(filter-out -O% -fsanitize=% -fno-sanitize%,$(CXXFLAGS_ALL)) -O3 \
        $(if $(filter asan fuzz,$(BUILD)),-DEMULATED_WITH_ASAN)

# One line for each file made, unless V=1.
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '  $1 $(patsubst $O/%,%,$@)')
