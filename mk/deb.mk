# Debian packages, of a copy of the tree: build/deb/*.deb; lectern-cuda only where there is nvcc.

VERSION := $(shell sed -n 's/.*LECTERN_VERSION "\(.*\)"/\1/p' base/version.h)
DEB_TREE := build/deb/lectern-$(VERSION)

deb: $(FAISS_C)  ## make Debian packages below build/deb (needs debhelper)
	@rm -rf build/deb && mkdir -p $(DEB_TREE)
	@tar -cf - --exclude-vcs --exclude=./build --exclude=__pycache__ . | tar -xf - -C $(DEB_TREE)
	@cp -r mk/debian $(DEB_TREE)/debian
	@$(if $(NVCC),cat mk/debian/lectern-cuda.control >> $(DEB_TREE)/debian/control,rm $(DEB_TREE)/debian/lectern-cuda.*)
	@cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS FAISS_C=$(abspath $(FAISS_C)) CUDA_NVCC=$(NVCC) CUDA_ARCHS="$(CUDA_ARCHS)" \
	  dpkg-buildpackage -b -us -uc >../build.log 2>&1 || { tail -n 30 ../build.log; exit 1; }
	@ls build/deb/*.deb
deb-check:  ## install, use, upgrade, remove and purge those packages in a clean Debian 12 (needs root, mmdebstrap)
	@sh tests/debian.sh build/deb
deb-again:  ## make those packages once more: are they the same, byte for byte?
	@(cd build/deb && sha256sum *.deb) > build/deb.sha256
	@$(MAKE) --no-print-directory -s deb
	@cd build/deb && sha256sum --quiet -c ../deb.sha256 && echo "deb: the same again"

.PHONY: deb deb-check deb-again
