# Manual pages, completion, and what is installed where.

MAN_DIR := $(prefix)/share/man
MAN := $(addprefix build/man/,lectern.1 lecternd.8 lectern.ini.5 lectern-json.7)
build/man/lectern.1: docs/reference/cli.md
build/man/lectern.1: ABOUT := answers from HTML and LaTeX manuals, with exact citations
build/man/lecternd.8: docs/reference/daemon.md
build/man/lecternd.8: ABOUT := keeps manuals indexed and answers lectern
build/man/lectern.ini.5: docs/reference/configuration.md
build/man/lectern.ini.5: ABOUT := configuration of lectern and lecternd
build/man/lectern-json.7: docs/reference/protocol.md
build/man/lectern-json.7: ABOUT := JSON that the verbs of lectern answer with
# Programs that a page is of besides its own: links lead to it.
build/man/lectern.1: ALSO := lectern-get,lectern-web,lectern-fleet
build/man/lecternd.8: ALSO := lectern-parse
$(MAN): mk/man.py
	$(call say,man )
	@mkdir -p $(@D)
	$(Q)python3 mk/man.py $(filter %.md,$^) $(basename $(@F))$(addprefix $(comma),$(ALSO)) $(subst .,,$(suffix $(@F))) '$(ABOUT)' > $@.tmp && mv -f $@.tmp $@
man: $(MAN)  ## make the manual pages, of docs/reference

# Where a zsh of the same prefix looks; Debian's packages have another place.
ZSH_DIR ?= share/zsh/site-functions
COMPLETION := $(addprefix build/completion/,bash fish zsh)
$(COMPLETION): build/lectern
	@mkdir -p $(@D)
	$(Q)build/lectern completion $(@F) > $@.tmp && mv -f $@.tmp $@

# The unit names the program where it will be.
build/systemd/lectern.service: mk/systemd/lectern.service.in FORCE
	@mkdir -p $(@D)
	$(Q)sed 's|@bindir@|$(prefix)/bin|' $< > $@
FORCE:

install: all man $(COMPLETION) build/systemd/lectern.service  ## install into $(DESTDIR)$(prefix)
	install -Dm755 -t $(DESTDIR)$(prefix)/bin $(addprefix build/,$(PROGRAMS))
	$(foreach name,$(notdir $(MODELS)),install -Dm644 -t $(DESTDIR)$(prefix)/share/lectern/$(name) $(wildcard model/$(name)/*.json model/$(name)/*.safetensors)$(newline))
	install -Dm644 build/completion/bash $(DESTDIR)$(prefix)/share/bash-completion/completions/lectern
	install -Dm644 build/completion/fish $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/lectern.fish
	install -Dm644 build/completion/zsh $(DESTDIR)$(prefix)/$(ZSH_DIR)/_lectern
	install -Dm644 -t $(DESTDIR)$(prefix)/share/vim/vimfiles/plugin cli/editors/lectern.vim
	install -Dm644 -t $(DESTDIR)$(prefix)/share/nvim/site/plugin cli/editors/lectern.vim
	install -Dm644 -t $(DESTDIR)$(prefix)/share/emacs/site-lisp cli/editors/lectern.el
	install -Dm644 -t $(DESTDIR)$(prefix)/lib/systemd/user mk/systemd/lectern.socket build/systemd/lectern.service
	$(foreach page,$(MAN),install -Dm644 -t $(DESTDIR)$(MAN_DIR)/man$(subst .,,$(suffix $(page))) $(page)$(newline))
	ln -sf lectern.1 $(DESTDIR)$(MAN_DIR)/man1/lectern-get.1
	ln -sf lectern.1 $(DESTDIR)$(MAN_DIR)/man1/lectern-web.1
	ln -sf lectern.1 $(DESTDIR)$(MAN_DIR)/man1/lectern-fleet.1
	ln -sf lecternd.8 $(DESTDIR)$(MAN_DIR)/man8/lectern-parse.8

.PHONY: man install FORCE
define newline


endef
