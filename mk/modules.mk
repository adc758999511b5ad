# Which files make up what: a floor is all that is below its folder, or some rooms of it.

objects = $(patsubst %.c,$O/%.o,$(sort $(foreach folder,$1,$(shell find $(folder) -name '*.c'))))
here = $(patsubst %.c,$O/%.o,$(wildcard $(addsuffix /*.c,$1)))

BASE := $(call objects,base)
TREE := $(call objects,tree)
MEMORY := $(call objects,memory)
MODEL := $(filter-out $O/model/train/%,$(call objects,model))
# indexer/parse/ is the jailed program, the rest of indexer/ runs in the daemon.
PARSE := $(call objects,indexer/parse)
INDEXER := $(filter-out $(PARSE),$(call objects,indexer))
DAEMON := $(call objects,daemon)
# cli/download/ is lectern-get, the program with a network.
GET := $(call objects,cli/download)
# cli/web/ is lectern-web, the page.
WEB := $(call objects,cli/web)
# cli/fleet/ is lectern-fleet, the program with a database.
FLEET := $(call objects,cli/fleet)
CLI := $(filter-out $(GET) $(WEB) $(FLEET),$(call objects,cli))
# Both ends of the socket know the protocol.
PROTOCOL := $(patsubst %,$O/daemon/net/%.o,protocol rpc line_reader)

KERNELS := $(call here,kernels) $(call objects,kernels/ref) \
        $(filter-out %/cpu_$(if $(DNNL),no_dnnl,dnnl).o,$(call objects,kernels/cpu)) \
        $(if $(NVCC),$(patsubst kernels/%.cu,build/%.o,$(wildcard kernels/cuda/*.cu)),$O/kernels/cuda/cuda_none.o)

# The programs' own `main`, and malloc, which no test links; and what only the jail needs.
MAINS := $O/daemon/lecternd_malloc.o $(foreach name,lecternd lectern parse get web fleet,$(filter %/$(name)_main.o,$(DAEMON) $(CLI) $(PARSE) $(GET) $(WEB) $(FLEET)))
JAIL := $O/indexer/parse/jail.o
PARSE_PARTS := $(filter-out $(MAINS) $(JAIL),$(PARSE))

# The device's files once more, as plain C++ over a stand-in for CUDA: the logic
# of the kernels, in tests alone.  Fibres and the thread sanitizer do not mix.
EMULATED := $(if $(filter tsan gpu,$(BUILD)),$O/tests/cuda/none.o,$(patsubst %.cu,$O/tests/cuda/emulated/%.o, \
        $(filter-out cuda_blas.cu,$(notdir $(wildcard kernels/cuda/*.cu)))) $(patsubst %,$O/tests/cuda/%.o,blas emulate fragments graphs self_test streams $(if $(filter race,$(BUILD)),race race_order)))
