# Tests, trials and measurements.

# Everything but the mains, for whatever tests a part of it.
$O/all.a: $(STAMP) $(filter-out $(MAINS),$(BASE) $(TREE) $(MEMORY) $(INDEXER) $(MODEL) $(KERNELS) $(EMULATED) $(CASES) $(DAEMON) $(CLI) $(GET))
	@rm -f $@ && ar rcs $@ $(filter %.o,$^)
ALL_LIBS := -luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS)

# One program for each file of tests/unit; the parser's have its own parts, which
# the daemon has not, and what the device is measured with stands before all.a.
UNIT := $(patsubst %.c,$O/%,$(wildcard tests/unit/*/test_*.c))
PARSER_UNIT := $(patsubst %,$O/tests/unit/indexer/test_%,docset dom latex latex2html latex_broken latex_bytefield latex_files latex_macros latex_packages latex_settings scripts)
$(PARSER_UNIT): $O/tests/unit/%: $(STAMP) $O/tests/unit/%.o $(PARSE_PARTS) $(TREE) $(BASE)
	$(call link,-lcmocka $(PARSE_LIBS) $(BASE_LIBS))
# Random weights stand in the place of model/weights/weights_files.o.
MEASURES := $(patsubst %,$O/tests/cuda/%.o,bench bench_operations bench_decode bench_papers bench_shapes bench_weights)
$(patsubst %,$O/tests/unit/kernels/test_%,gpu_bench launches): %: %.o $(MEASURES) $O/all.a $(FAISS_C)
	$(call link,-lcmocka $(ALL_LIBS))
# Calls of the store that fail (tests/unit/support/failing_calls.h).
FAILING := $(addprefix mdb_,get put del stat cursor_open cursor_get cursor_put cursor_del txn_begin txn_commit dbi_open dbi_flags \
        drop env_create env_open env_get_fd env_sync reader_check) fstat stat lstat statvfs ftruncate pread __pread_chk pwrite \
        posix_fallocate rename mkdir opendir fopen fsync open $(addprefix ZSTD_,createCCtx compress2 decompress findFrameCompressedSize)
$O/tests/unit/indexer/test_source: LDFLAGS_ALL += -Wl$(comma)--wrap=open
$O/tests/unit/memory/test_store_failing: LDFLAGS_ALL += $(addprefix -Wl$(comma)--wrap=,$(FAILING))
# Parts of lectern-fleet that need no database.
$(patsubst %,$O/tests/unit/cli/test_%,daemon_call noted): $O/tests/unit/cli/test_%: $O/tests/unit/cli/test_%.o $O/cli/fleet/%.o $O/all.a $(FAISS_C)
	$(call link,-lcmocka $(ALL_LIBS))
$O/tests/unit/%: $O/tests/unit/%.o $O/all.a $(FAISS_C)
	$(call link,-lcmocka $(ALL_LIBS))

test: test-deps  ## everything: layers, unit and end-to-end tests, again with sanitizers
	@sh tests/all.sh
unit: $(UNIT) $(addprefix $O/,$(PROGRAMS))  ## unit tests of this BUILD
	@sh tests/run.sh $O $(UNIT)
e2e: $(addprefix $O/,$(PROGRAMS)) build/manuals/postgresql  ## end-to-end tests of this BUILD, on a real manual
	@python3 tests/e2e.py $O build/manuals/postgresql
layers:  ## check that each folder includes only what it may
	@sh tests/layers.sh && echo "layers: fine"
# The CUDA sources are nvcc's dialect, which clang-format does not keep.
FORMATTED = find . -path ./build -prune -o -name '*.[ch]' -print | xargs -P $(shell nproc) -n 40 clang-format
format:  ## rewrite the C sources as .clang-format has them
	@$(FORMATTED) -i
format-check:  ## check that they are so
	@$(FORMATTED) --dry-run -Werror && echo "format: fine"
tidy: compdb  ## look for the mistakes that .clang-tidy names
	@sh tests/tidy.sh
# What is quick of `make test`; CHECKED are modules of tests/e2e.
CHECKED ?= reading latex life
check: layers format-check tidy  ## what to run before each commit: layers, format, tidy, release units, a part of end to end
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all unit build/manuals/postgresql
	@python3 tests/e2e.py $O build/manuals/postgresql $(CHECKED)
demo: deps  ## index a real manual and ask it three questions
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all build/manuals/postgresql
	@sh tests/demo.sh build build/manuals/postgresql

$O/tests/bench/bench_leases: $O/tests/bench/bench_leases.o $(patsubst %,$O/cli/fleet/%.o,leases registry schema) $(BASE)
	$(call link,-lpq $(BASE_LIBS))
$O/tests/bench/bench_parse: BENCH_LIBS := -lgumbo
$O/tests/bench/%: $O/tests/bench/%.o $O/all.a $(FAISS_C)
	$(call link,$(BENCH_LIBS) $(ALL_LIBS))
bench: $(patsubst %.c,$O/%,$(wildcard tests/bench/*.c)) all build/manuals/postgresql  ## measure parsing and products beside their limits; prints JSON
	@$O/tests/bench/bench_parse build/manuals/postgresql build/lectern-parse
	@$O/tests/bench/bench_products
	@$O/tests/bench/bench_ingest build

# What the faults preload into the daemon; never with a sanitizer.
PRELOADS := $(patsubst %,$O/tests/faults/%.so,record clock nth flush)
$(PRELOADS): $O/tests/faults/%.so: tests/faults/%.c tests/faults/record.h tests/faults/nth.h $(STAMP)
	$(call say,link)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fPIE,$(CFLAGS_ALL)) -fPIC -shared -o $@ $< -ldl
$O/tests/faults/damages: $O/tests/faults/damages.o $O/all.a $(FAISS_C)
	$(call link,$(ALL_LIBS))
faults: $(addprefix $O/,$(PROGRAMS)) $(PRELOADS) $O/tests/faults/damages  ## short runs of kills, power cuts, full disks and damage (docs/log has the long ones)
	@sh tests/faults/short.sh $O

# The daemon in one process, with these of its calls to the outside put in the place of
# the C library's.
OUTSIDE := pthread_create pthread_join pthread_timedjoin_np pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait \
        pthread_cond_timedwait pthread_cond_signal pthread_cond_broadcast store_write store_commit store_end clock_gettime \
        clock_getcpuclockid time nanosleep setpriority inotify_init1 inotify_add_watch inotify_rm_watch read __read_chk stat open \
        fstatfs close uv_timer_init uv_timer_start uv_update_time uv_poll_init uv_poll_start uv_is_closing uv_close socketpair \
        posix_spawn_file_actions_adddup2 posix_spawn send recv __recv_chk poll waitpid kill _exit model_embed
SIMULATION := $(call objects,tests/simulation)
# The parser as one object, whose names are its own.
$O/parser.o: $(STAMP) $(PARSE_PARTS)
	$(Q)ld -r -o $@.tmp $(filter %.o,$^) && objcopy --keep-global-symbol=serve_load --keep-global-symbol=serve_all $@.tmp $@ && rm $@.tmp
$O/simulate: LDFLAGS_ALL += $(addprefix -Wl$(comma)--wrap=,$(OUTSIDE))
$O/simulate: $(STAMP) $(SIMULATION) $O/parser.o $O/all.a $(FAISS_C)
	$(call link,$(PARSE_LIBS) $(ALL_LIBS))
SEEDS ?= $(if $(filter asan,$(BUILD)),200,1500)
simulate: $O/simulate  ## the daemon following files in scripted worlds, SEEDS of them from SEED on; each is replayed by its number
	@$O/simulate --from $(or $(SEED),1) --count $(SEEDS)

# Without a fuzzer a target is linked with replay.c.
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst %,$O/tests/fuzz/fuzz_%,html latex tree)
$O/tests/fuzz/encode_pages: $(STAMP) $O/tests/fuzz/encode_pages.o $(PARSE_PARTS) $(TREE) $(BASE)
$(FUZZERS): $O/tests/fuzz/%: $(STAMP) $O/tests/fuzz/%.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(PARSE_PARTS) $(TREE) $(BASE)
$(FUZZERS): LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$(FUZZERS) $O/tests/fuzz/encode_pages:
	$(call link,$(PARSE_LIBS) $(BASE_LIBS))
# What reads a model's files, without what runs it, and the plain kernels, which take weights.
MODEL_FUZZERS := $(patsubst %,$O/tests/fuzz/fuzz_%,model tokenizer weights gguf template)
MODEL_READERS := $(filter-out $O/model/inference/% $O/model/encode/embed.o $O/model/encode/hmt.o $O/model/encode/model_score.o,$(MODEL)) $O/model/inference/sparse_config.o
$(MODEL_FUZZERS): LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$(MODEL_FUZZERS): $O/tests/fuzz/%: $(STAMP) $O/tests/fuzz/%.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(MODEL_READERS) $(call objects,kernels/ref) $O/kernels/blocks.o $(BASE)
	$(call link,$(MODEL_LIBS) $(BASE_LIBS))
$O/tests/fuzz/fuzz_pack: LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$O/tests/fuzz/fuzz_pack: $(STAMP) $O/tests/fuzz/fuzz_pack.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(MEMORY) $(TREE) $(patsubst %,$O/kernels/%.o,q8) $(BASE) $(FAISS_C)
	$(call link,$(MEMORY_LIBS) $(BASE_LIBS))
# Both ends of the socket.
$O/tests/fuzz/fuzz_protocol: LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$O/tests/fuzz/fuzz_protocol: $(STAMP) $O/tests/fuzz/fuzz_protocol.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(PROTOCOL) $(BASE)
	$(call link,$(BASE_LIBS))
# An agent's end of the bridge, without the daemon's; and what is computed twice.
OTHER_FUZZERS := $(patsubst %,$O/tests/fuzz/fuzz_%,mcp encoding nearest ranking)
$O/tests/fuzz/fuzz_mcp: $(filter-out $(MAINS) $O/cli/connection.o,$(CLI)) $(PROTOCOL)
$O/tests/fuzz/fuzz_encoding: $(TREE)
$O/tests/fuzz/fuzz_nearest $O/tests/fuzz/fuzz_ranking: $(MEMORY) $(TREE) $(patsubst %,$O/kernels/%.o,q8)
$(OTHER_FUZZERS): LDFLAGS_ALL += $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer)
$(OTHER_FUZZERS): $O/tests/fuzz/%: $(STAMP) $O/tests/fuzz/%.o $(if $(filter fuzz,$(BUILD)),,$O/tests/fuzz/replay.o) $(BASE) | $(FAISS_C)
	$(call link,$(FAISS_C) -lz $(MEMORY_LIBS) $(BASE_LIBS))
fuzzers: $(FUZZERS) $(MODEL_FUZZERS) $(OTHER_FUZZERS) $O/tests/fuzz/fuzz_protocol $O/tests/fuzz/fuzz_pack $O/tests/fuzz/encode_pages
fuzz:  ## fuzz the readers of pages, trees, tokenizers, models and chat templates, FUZZ_SECONDS each (needs clang)
	@$(MAKE) --no-print-directory -s BUILD=fuzz CC=clang fuzzers
	@sh tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)
# A corpus that grows in build/fuzz/corpus, kept minimal.
NIGHTLY_SECONDS ?= 1800
fuzz-nightly:  ## the same for NIGHTLY_SECONDS each, and then each corpus is minimised
	@$(MAKE) --no-print-directory -s fuzz FUZZ_SECONDS=$(NIGHTLY_SECONDS); status=$$?; sh tests/fuzz/minimise.sh build/fuzz && exit $$status
replay: fuzzers  ## run the fuzz targets of this BUILD over their corpora
	@sh tests/fuzz/replay.sh $O

.PHONY: test unit e2e layers format format-check tidy check demo bench faults simulate fuzzers fuzz fuzz-nightly replay
