# How a file is compiled.  The flags are part of what an object and a program depend
# on.  The device's objects take longest and are the same for each BUILD, so all
# share them.

STAMP := $O/.flags
FLAGS_NOW := $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) DNNL=$(DNNL) NVCC=$(NVCC) $(CUDA_ARCHS)
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(FLAGS_NOW))
$(shell mkdir -p $O && printf '%s' '$(FLAGS_NOW)' > $(STAMP))
endif
# What nvcc makes up, names of files and of symbols, is the same each time.
NVCC_SAME = --objdir-as-tempdir --frandom-seed=$(notdir $<)
CUDA_STAMP := build/cuda/.flags
CUDA_FLAGS_NOW := $(NVCC) $(NVCCFLAGS)
ifneq ($(NVCC),)
ifneq ($(shell cat $(CUDA_STAMP) 2>/dev/null),$(CUDA_FLAGS_NOW))
$(shell mkdir -p build/cuda && printf '%s' '$(CUDA_FLAGS_NOW)' > $(CUDA_STAMP))
endif
endif

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
	$(Q)$(NVCC) $(NVCCFLAGS) $(NVCC_SAME) -Xptxas -v -MMD -MP -MF $(@:.o=.d) -c -o $@ $< 2>$(@:.o=.ptxas) || \
        { cat $(@:.o=.ptxas) >&2; exit 1; }
	$(Q)grep -v '^ptxas info\|^ *[0-9]* bytes stack frame' $(@:.o=.ptxas) >&2 || true

-include $(shell find $O build/cuda -name '*.d' 2>/dev/null)

# link, of the objects and archives that a target depends on, with libraries.
define link
$(call say,link)
@mkdir -p $(@D)
$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $1
endef

compdb:  ## write compile_commands.json, for editors and clang-tidy
	@$(MAKE) --no-print-directory -Bnk V=1 CC=cc CXX=c++ WERROR= all $(UNIT) 2>/dev/null | python3 mk/compdb.py > compile_commands.json
.PHONY: compdb
