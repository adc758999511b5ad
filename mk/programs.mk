# The programs, and small ones for tests and scripts.

PROGRAMS := lecternd lectern lectern-parse lectern-get lectern-web lectern-fleet
TOOLS := op probe chats stands trees html5lib  # for tests and scripts, not installed
MODELS := $(patsubst model/%/config.json,build/%,$(wildcard model/quill/config.json model/nib/config.json))

all: $(addprefix build/,$(PROGRAMS) $(TOOLS)) $(MODELS)

ifeq ($(BUILD),release)
build/%: $O/%
	@cp -f $< $@.tmp && mv -f $@.tmp $@
else
.PHONY: $(addprefix build/,$(PROGRAMS) $(TOOLS))
$(addprefix build/,$(PROGRAMS) $(TOOLS)): build/%: $O/%
endif

# Our own small models: those that a daemon finds beside itself are its defaults.
$(MODELS): build/%:
	@ln -sfn ../model/$* $@

$O/lecternd: $(STAMP) $(DAEMON) $(INDEXER) $(MEMORY) $(TREE) $(MODEL) $(KERNELS) $(BASE) $(FAISS_C)
	$(call link,-luv -lz $(MEMORY_LIBS) $(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS))
$O/lectern: $(STAMP) $(CLI) $(PROTOCOL) $(BASE)
	$(call link,-lz $(BASE_LIBS))
# The program with a network.
$O/lectern-get: $(STAMP) $(GET) $(patsubst %,$O/cli/archive/%.o,zip member) $(BASE)
	$(call link,-lcurl -lz $(BASE_LIBS))
# The page, which asks the daemon as lectern does.
$O/lectern-web: $(STAMP) $(WEB) $(patsubst %,$O/cli/%.o,client connection launch program_options) $(PROTOCOL) $(BASE)
	$(call link,-lmicrohttpd $(BASE_LIBS))
# The program with a database.
$O/lectern-fleet: $(STAMP) $(FLEET) $O/cli/download/sha256.o $(patsubst %,$O/cli/%.o,client connection getting launch program_options) $(PROTOCOL) $(BASE)
	$(call link,-lpq $(BASE_LIBS))
$O/cli/fleet/schema.o: $(wildcard cli/fleet/sql/*.sql)
$O/cli/web/web_files.o: $(addprefix cli/web/page.,html css js)
# The jailed program is made of base and tree alone, besides its own.
$O/lectern-parse: $(STAMP) $(PARSE) $(TREE) $(filter-out %/config.o %/config_paths.o,$(BASE))
	$(call link,$(PARSE_LIBS) -lseccomp $(filter-out -linih,$(BASE_LIBS)))

CASES := $(patsubst %,$O/tests/programs/%.o,cases cases_hils cases_papers)
$O/op: $(STAMP) $O/tests/programs/op.o $(CASES) $(KERNELS) $(BASE)
	$(call link,$(KERNEL_LIBS) $(BASE_LIBS))
$O/probe: $(STAMP) $O/tests/programs/probe.o $(MODEL) $(KERNELS) $(BASE)
	$(call link,$(MODEL_LIBS) $(KERNEL_LIBS) $(BASE_LIBS))
$O/chats: $(STAMP) $O/tests/programs/chats.o $(filter-out %/chat.o,$(call objects,model/chat)) $(BASE)
	$(call link,$(BASE_LIBS))
$O/stands: $(STAMP) $O/tests/programs/stands.o $O/all.a $(FAISS_C)
	$(call link,$(ALL_LIBS))
$O/trees: $(STAMP) $O/tests/programs/trees.o $(patsubst %,$O/indexer/%.o,parser parser_process parser_reply source scan inputs) $(TREE) $(BASE)
	$(call link,-lz $(BASE_LIBS))
$O/html5lib: $(STAMP) $O/tests/programs/html5lib.o $(PARSE_PARTS) $(TREE) $(BASE)
	$(call link,$(PARSE_LIBS) $(BASE_LIBS))
