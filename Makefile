# Lectern.  `make help` lists what there is.
#
#   BUILD=release|asan|tsan|cov|fuzz   kind of build (gpu: `make gpu-check`, race: `make race`); objects live in build/$(BUILD)
#   WERROR=1                      warnings are errors (as in continuous tests)
#   V=1                           show the commands
#
# The parts: flags, modules (which files make up what), programs, what is
# installed, tests, gpu, packages needed and made, and how a file is compiled.

BUILD ?= release
CC ?= cc
CXX ?= c++
prefix ?= /usr/local
O := build/$(BUILD)
comma := ,

all:  ## build the programs (build/lectern and its companions)

include mk/flags.mk mk/modules.mk mk/rules.mk mk/programs.mk mk/install.mk mk/tests.mk mk/gpu.mk mk/packages.mk mk/deb.mk

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

clean:  ## remove everything that was built
	rm -rf build

.PHONY: all help clean
.SECONDARY:
