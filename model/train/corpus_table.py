"""The manuals of Quill's corpus: Debian 12 packages, all of main, none need be installed.

A row is: name: (package, folder below usr/share, use, ignored globs).  A folder of "" is doc/PACKAGE/html.

    train   trained on
    probe   questions about it choose checkpoints; nothing else of it is used
    held    looked at when a trained model is measured, and never before
    never   not read for training in any way: other parts of the project measure by it.  Only its shingles are taken, so that
            copies of its sections in other manuals are dropped

Licences are read from the packages' copyright files (corpus_pack.py, `licences`): permissive ones and MPL.  Where such a file
is not in the machine-readable form, LICENCE says what it says, and a phrase of it by which that is checked.
"""
MANUALS = {
    # Never: PostgreSQL, Python, tests/held-out.txt, and manuals by whose FAQs retrieval is measured or may be.
    "postgresql": ("postgresql-doc-15", "doc/postgresql-doc-15/html", "never", []),
    "policy": ("debian-policy", "doc/debian-policy", "never", ["*.ps.gz"]),
    "valgrind": ("valgrind", "doc/valgrind/html", "never", []),
    "postfix": ("postfix-doc", "doc/postfix/html", "never", []),
    "ntpsec": ("ntpsec-doc", "", "never", []),
    "glib": ("libglib2.0-doc", "gtk-doc/html", "never", []),
    "nim": ("nim-doc", "doc/nim/html", "never", []),
    "django": ("python-django-doc", "", "never", ["_modules/*"]),
    "sqlalchemy": ("python-sqlalchemy-doc", "", "never", ["_modules/*"]),
    "celery": ("python-celery-doc", "", "never", ["_modules/*"]),
    "scrapy": ("python-scrapy-doc", "", "never", ["_modules/*"]),
    "pandas": ("python-pandas-doc", "", "never", ["reference/*", "generated/*", "_modules/*"]),
    "sympy": ("python-sympy-doc", "", "never", ["_modules/*"]),
    "scipy": ("python-scipy-doc", "", "never", ["_modules/*", "reference/generated/*"]),
    "python": ("python3.11-doc", "doc/python3.11/html", "never", ["_sources/*"]),
    # Held out, of four generators.
    "cmake": ("cmake-doc", "doc/cmake-data/html", "held", []),
    "swi-prolog": ("swi-prolog-doc", "swi-prolog/doc/Manual", "held", []),
    "hdf5": ("libhdf5-doc", "doc/libhdf5-doc/html", "held", []),
    "varnish": ("varnish-doc", "doc/varnish/html", "held", []),
    "sphinx": ("sphinx-doc", "", "probe", ["_modules/*"]),
    "zsh": ("zsh-doc", "doc/zsh-common/html", "probe", []),
    # Trained on.
    "sqlite": ("sqlite3-doc", "doc/sqlite3", "train", ["releaselog/*"]),
    "llvm": ("llvm-14-doc", "doc/llvm-14-doc/html", "train", ["AMDGPU/*"]),
    "ada": ("ada-reference-manual-2012", "doc/ada-reference-manual-2012/arm2012.html", "train", []),
    "apache": ("apache2-doc", "doc/apache2-doc/manual/en", "train", []),
    "nodejs": ("nodejs-doc", "doc/nodejs/api", "train", ["all.html"]),
    "jinja": ("python-jinja2-doc", "", "train", []),
    "flask": ("python-flask-doc", "", "train", []),
    "cryptography": ("python-cryptography-doc", "", "train", []),
    "h5py": ("python-h5py-doc", "", "train", []),
    "docbook-xsl": ("docbook-xsl-doc-html", "doc/docbook-xsl-doc-html/doc", "train", []),
    "rust-book": ("rust-doc", "doc/rust-doc/html/book", "train", ["print.html"]),
    "rust-reference": ("rust-doc", "doc/rust-doc/html/reference", "train", ["print.html"]),
    "rust-nomicon": ("rust-doc", "doc/rust-doc/html/nomicon", "train", ["print.html"]),
    "rust-by-example": ("rust-doc", "doc/rust-doc/html/rust-by-example", "train", ["print.html"]),
    "rust-embedded": ("rust-doc", "doc/rust-doc/html/embedded-book", "train", ["print.html"]),
    "rust-editions": ("rust-doc", "doc/rust-doc/html/edition-guide", "train", ["print.html"]),
    "rustc": ("rust-doc", "doc/rust-doc/html/rustc", "train", ["print.html"]),
    "tornado": ("python-tornado-doc", "", "train", ["_modules/*"]),
    "pytest": ("python-pytest-doc", "", "train", ["_modules/*"]),
    "docutils": ("docutils-doc", "doc/docutils-doc/docs", "train", []),
    "werkzeug": ("python-werkzeug-doc", "", "train", ["_modules/*"]),
    "aiohttp": ("python-aiohttp-doc", "", "train", ["_modules/*"]),
    "cherrypy": ("python-cherrypy3-doc", "", "train", ["_modules/*"]),
    "kombu": ("python-kombu-doc", "", "train", ["_modules/*"]),
    "traitlets": ("python-traitlets-doc", "", "train", ["_modules/*"]),
    "gevent": ("python-gevent-doc", "", "train", ["_modules/*"]),
    "lxml": ("python-lxml-doc", "", "train", ["apidoc/*"]),
    "mpmath": ("python-mpmath-doc", "", "train", ["_modules/*"]),
    "requests": ("python-requests-doc", "", "train", ["_modules/*"]),
    "click": ("python-click-doc", "", "train", ["_modules/*"]),
    "attrs": ("python-attr-doc", "", "train", ["_modules/*"]),
    "babel": ("python-babel-doc", "", "train", ["_modules/*"]),
    "mako": ("python-mako-doc", "", "train", []),
    "bottle": ("python-bottle-doc", "", "train", []),
    "openvswitch": ("openvswitch-doc", "", "train", []),
    "bind": ("bind9-doc", "doc/bind9-doc/arm", "train", []),
    "clang": ("clang-14-doc", "doc/clang-14/html", "train", []),
    "ipython": ("python-ipython-doc", "", "train", ["_modules/*"]),
    "xarray": ("python-xarray-doc", "", "train", ["_modules/*", "generated/*"]),
    "dask": ("python-dask-doc", "", "train", ["_modules/*", "generated/*"]),
    "keystone": ("keystone-doc", "", "train", ["api/*"]),
    "nova": ("nova-doc", "", "train", ["api/*"]),
    "cinder": ("cinder-doc", "", "train", ["api/*"]),
    "glance": ("glance-doc", "", "train", ["api/*"]),
    "swift": ("swift-doc", "doc/swift-doc/base", "train", ["api/*"]),
    "heat": ("heat-doc", "", "train", ["api/*"]),
    "ironic": ("ironic-doc", "", "train", ["api/*"]),
    "neutron": ("neutron-doc", "", "train", ["api/*"]),
    "boost": ("libboost1.81-doc", "doc/libboost1.81-doc/doc/html", "train", []),
    "erlang": ("erlang-doc", "doc/erlang-doc", "train", ["lib/wx*", "lib/jinterface*", "lib/megaco*"]),
    "rust-std": ("rust-doc", "doc/rust-doc/html/std", "train", ["arch/*", "simd/*", "os/*"]),
    "ghc": ("ghc-doc", "doc/ghc-doc/html/users_guide", "train", []),
    "astropy": ("python-astropy-doc", "", "train", ["_modules/*", "api/*"]),
}

# Package: (what its copyright file says of the text, a phrase of that), where no paragraph "Files: *" says it.
LICENCE = {
    "ada-reference-manual-2012": ("ARM (copied in any form, alterations marked)", "This document may be copied, in whole or in part, in any form"),
    "rust-doc": ("MIT or Apache-2.0", "License: MIT or Apache-2.0"),
    "python-jinja2-doc": ("BSD-3-clause", "The names of the contributors may not be used to endorse"),
    "python-lxml-doc": ("BSD-3-clause", "Redistributions of source code must retain"),
}
