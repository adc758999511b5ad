# What needs a device, built without Debian's packages: stand-ins of our own for
# cmocka and cJSON, no tokenizers (tests/cuda/shim/packages).

GPU_BASE := $(filter-out $(patsubst %,$O/base/%.o,config config_paths hash log suggest text url),$(BASE))
GPU_MODEL := $(filter-out $O/model/tokenizer/% $O/model/chat/% $O/model/encode/model_score.o,$(MODEL))
GPU_SHIM := $(patsubst %,$O/tests/cuda/shim/packages/%.o,cJSON rest)
GPU_TESTS := $(patsubst %,$O/check/%,kernels/test_kernels kernels/test_products kernels/test_attention kernels/test_summaries \
        kernels/test_attention_star_hici kernels/test_blocks_device kernels/test_cuda kernels/test_streams model/test_pages)
$(GPU_TESTS): $O/check/%: $O/tests/unit/%.o $(GPU_BASE) $(GPU_MODEL) $(KERNELS) $(EMULATED) $(CASES) $(GPU_SHIM)
	$(call link,$(KERNEL_LIBS) -lpthread -lm)
$O/check/bench: $O/tests/cuda/bench_main.o $(MEASURES) $(GPU_BASE) $(filter-out %/weights_files.o,$(GPU_MODEL)) $(KERNELS) $(GPU_SHIM)
	$(call link,$(KERNEL_LIBS) -lpthread -lm)
gpu-programs: $(GPU_TESTS) $O/check/bench
gpu-check:  ## the device's operations and whole models against the reference; needs nvcc and a device, else says SKIP
	@sh tests/cuda/check.sh check
gpu-bench:  ## measure the device; JSON under build/gpu/results/
	@sh tests/cuda/check.sh bench
gpu-resources: $(if $(NVCC),$(patsubst kernels/%.cu,build/%.o,$(wildcard kernels/cuda/*.cu)))  ## registers and spills of every kernel of the device (needs nvcc)
	@$(if $(NVCC),sh tests/cuda/resources.sh $(CHECK) build/cuda,echo "SKIP gpu-resources: there is no nvcc")

# The kernels' every load and store, by emulation, beside the barriers passed.
$O/check/race: $O/tests/cuda/race_test.o $O/base/mem.o $(KERNELS) $(EMULATED)
	$(call link,-lcmocka $(KERNEL_LIBS) -lpthread -lm)
race:  ## look for races in the device's kernels, by emulation
	@$(MAKE) --no-print-directory -s BUILD=race DNNL= NVCC= build/race/check/race && build/race/check/race $(RACE)

.PHONY: race gpu-programs gpu-check gpu-bench gpu-resources
