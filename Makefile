# SPDX-License-Identifier: Apache-2.0
# Targets: see `make help`. Variables: BUILD, CC, AR, NM, OBJCOPY, STRIP, PKG_CONFIG, OPT, UNIT_OPT,
# SANITIZE, CFLAGS, LDFLAGS; DESTDIR, PREFIX and those below it for `make install`; DISTDIR for `make dist` and
# `make deb`; TESTS, SECONDS_EACH, TORTURE and COVERAGE for what tests.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/git-brevis
BASHCOMPDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR ?= $(DATADIR)/zsh/site-functions
FISHCONFDIR ?= $(DATADIR)/fish/vendor_conf.d

BUILD    ?= build
DISTDIR  ?= $(BUILD)
CC       ?= cc
NM       ?= nm
OBJCOPY  ?= objcopy
STRIP    ?= strip
PKG_CONFIG ?= pkg-config
OPT      ?= -O3 -g
# After OPT for the unit tests' own code, which takes half of the time to build at -O3.
UNIT_OPT ?=
CORE_PACKAGES := libcrypto libzstd liblzma libxxhash yajl
PACKAGES := libgit2 libcurl expat $(CORE_PACKAGES)

WARN     := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wvla -Wformat=2
# What stops an error of ours from becoming somebody's way in. What only newer compilers or one kind of
# processor know is taken where the compiler takes it: guards of where a jump may land and a function
# return to are -fcf-protection on x86 and -mbranch-protection on ARM.
accepted = $(shell $(CC) $(1) -O1 -Werror -include stdlib.h -x c -S -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
HARDEN   := -fstack-protector-strong \
            $(or $(call accepted,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),-D_FORTIFY_SOURCE=2) \
            $(call accepted,-fstack-clash-protection) \
            $(or $(call accepted,-fcf-protection),$(call accepted,-mbranch-protection=standard))
# Relocations are made at the start and then not writable; no stack is ever executable.
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack
POSITION := -fPIE
CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
# Flags of packages that are installed by the time a compiler runs.
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
PKG_LIBS   = $(shell $(PKG_CONFIG) --libs $(PACKAGES))
ALL_CFLAGS = -std=gnu11 $(OPT) $(WARN) $(HARDEN) $(POSITION) -fvisibility=hidden -pthread -MMD -MP $(SANITIZE) $(CFLAGS)
ALL_LDFLAGS = -pie $(HARDEN_LINK) -pthread $(SANITIZE) $(LDFLAGS)

CORE_SRC   := $(wildcard core/*.c core/*/*.c)
FILTER_SRC := $(wildcard filter/*.c filter/*/*.c)
UNIT_SRC   := $(wildcard tests/unit/test_*.c)

CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/%.o)
# Everything of the program but main, so that tests can link it.
ROOMS_OBJ  := $(filter-out $(BUILD)/filter/main.o,$(FILTER_SRC:%.c=$(BUILD)/%.o))
UNIT_BIN   := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/%)
# Tests of the core alone: they name no header of filter, nor one of the tests' that does.
FILTER_HEADERS := "(filter/|tests/unit/(sandbox|repository_cases)\.h)
CORE_UNIT_BIN := $(shell grep -LE '$(FILTER_HEADERS)' $(UNIT_SRC) | \
                   sed 's|^tests/unit/\(.*\)\.c$$|$(BUILD)/tests/\1|')

VERSION := $(shell sed -n 's/^\#define BREVIS_VERSION "\(.*\)"/\1/p' core/brevis.h)
SONAME  := libbrevis.so.$(firstword $(subst ., ,$(VERSION)))
SHARED  := $(BUILD)/lib/libbrevis.so.$(VERSION)

.PHONY: all
all: $(BUILD)/git-brevis $(BUILD)/lib/libbrevis.a $(SHARED)

$(BUILD)/libbrevis.a: $(CORE_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/librooms.a: $(ROOMS_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/git-brevis: $(BUILD)/filter/main.o $(BUILD)/librooms.a $(BUILD)/libbrevis.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/librooms.a $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) $(UNIT_OPT) -o $@ $< $(BUILD)/librooms.a \
		$(BUILD)/libbrevis.a $(ALL_LDFLAGS) $(PKG_LIBS) -lcmocka

# What knows nothing of git builds where there is no libgit2.
$(BUILD)/core/% $(BUILD)/lib/% $(CORE_UNIT_BIN) $(BUILD)/core-digests: PACKAGES := $(CORE_PACKAGES)

# The program and the shared library are made of the same objects: position-independent code is as
# fast here, as all that the core calls in itself is hidden.
$(BUILD)/core/%: POSITION := -fPIC

# What brevis.h declares has default visibility, and is all that is exported.
$(SHARED): $(CORE_OBJ)
	@mkdir -p $(@D)
	@echo 'BREVIS_$(lastword $(subst ., ,$(SONAME))) { global: brevis_*; local: *; };' >$(@D)/libbrevis.map
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(@D)/libbrevis.map \
		$(HARDEN_LINK) -Wl,--as-needed $(if $(SANITIZE),,-Wl,-z,defs) -pthread $(SANITIZE) \
		$(LDFLAGS) -o $@ $^ $(PKG_LIBS)

# The library for others to link: inner names get the library's prefix, so as not to meet theirs.
$(BUILD)/lib/libbrevis.a: $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	@$(NM) -g --defined-only $< | \
		awk 'NF == 3 && $$3 !~ /^(brevis)?_/ { print $$3, "brevis_private_" $$3 }' | \
		sort -u >$@.names
	$(OBJCOPY) --redefine-syms=$@.names $< $@

$(CORE_UNIT_BIN): $(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) $(UNIT_OPT) -o $@ $< $(BUILD)/libbrevis.a \
		$(ALL_LDFLAGS) $(PKG_LIBS) -lcmocka

# Their allocations can be made to fail.
$(BUILD)/tests/test_no_memory $(BUILD)/tests/test_json_tree: override LDFLAGS += \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free

# Prints what the core makes of files; tests compare that of one architecture with another's.
$(BUILD)/core-digests: tests/support/core_digests.c $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LDFLAGS) $(PKG_LIBS)

.PHONY: unit-binaries unit-warnings core-binaries core-unit-names
unit-binaries: $(UNIT_BIN)
# What another compiler has to say about the unit tests, without building them.
unit-warnings:
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fsyntax-only $(UNIT_SRC)
core-binaries: $(CORE_UNIT_BIN) $(BUILD)/core-digests
core-unit-names:
	@printf '%s\n' $(notdir $(CORE_UNIT_BIN))

# Fuzz targets: with libFuzzer (CC=clang and SANITIZE with -fsanitize=fuzzer-no-link; tests/support/fuzz.sh
# knows the flags), and to replay inputs with no fuzzer at all. Checksums agree with anything there.
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
# The rooms that targets link, so that the fuzzers' build, which nobody else shares, has no others.
FUZZ_ROOMS := agent cli convert diff git merge model objects work
FUZZ_OBJ   := $(filter $(addsuffix /%,$(addprefix $(BUILD)/filter/,$(FUZZ_ROOMS))) \
              $(BUILD)/filter/remote/json_tree.o $(BUILD)/filter/stream.o \
              $(BUILD)/filter/string_table.o,$(ROOMS_OBJ))

$(BUILD)/libfuzzed.a: $(FUZZ_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/fuzz/%: tests/fuzz/%.c tests/fuzz/trusting.c $(BUILD)/libfuzzed.a $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LDFLAGS) \
		-fsanitize=fuzzer $(PKG_LIBS)

$(BUILD)/replay/%: tests/fuzz/%.c tests/fuzz/replay.c tests/fuzz/trusting.c $(BUILD)/librooms.a $(BUILD)/libbrevis.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LDFLAGS) $(PKG_LIBS)

.PHONY: fuzz-targets replay-targets
fuzz-targets: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
replay-targets: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/replay/%)

# What lets calls fail; without _FILE_OFFSET_BITS, as it stands before both kinds of calls.
$(BUILD)/inject.so: tests/torture/inject.c
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -fPIC -shared -o $@ $< -ldl

# Every call fails once, a signal comes at every system call, and of each scenario's allocations so many
# fail: some 80,000 injections in all. Takes hours; what is done is noted, so that it can be interrupted
# and goes on where it was.
TORTURE := --allocations 500
.PHONY: torture
torture: all $(BUILD)/inject.so
	/usr/bin/python3 tests/torture/torture.py --bin "$(BUILD)" --resume "$(BUILD)/torture.json" $(TORTURE)

# The hooks' texts travel inside the program.
filter/git/hook_texts.c: scripts/make-hook-texts $(wildcard hooks/*)
	scripts/make-hook-texts >$@.new
	mv $@.new $@

# Compares with other compressors; scripts/bench builds and runs it.
$(BUILD)/bench: $(wildcard scripts/bench*.c scripts/bench*.h) scripts/synthetic.c scripts/synthetic.h \
		scripts/load-file.h $(BUILD)/libbrevis.a
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LDFLAGS) \
		$(PKG_LIBS) $(shell pkg-config --libs liblz4 zlib) -lm

# Makes the checkpoints that scripts/bench-git measures with.
$(BUILD)/make-checkpoint: scripts/make-checkpoint.c scripts/synthetic.c scripts/synthetic.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(ALL_LDFLAGS) -lm

# Measures what guides the search; scripts/ablation builds and runs it.
$(BUILD)/ablation: scripts/ablation.c scripts/load-file.h $(BUILD)/libbrevis.a
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LDFLAGS) $(PKG_LIBS)

# Each target for SECONDS_EACH, on all processors: of processor time, where nothing else runs.
SECONDS_EACH ?= 600
.PHONY: fuzz
fuzz:
	BREVIS_TEST_JOBS=$$(nproc) BREVIS_FUZZ_SECONDS=$(SECONDS_EACH) tests/run fuzz

.PHONY: check check-newer-git
check:
	tests/run $(TESTS)

# Some of it once more, with a newer git and git-lfs: as root, in a system that it makes.
check-newer-git:
	tests/run newer-git

# What reads the sources for errors.
.PHONY: analyze
analyze:
	tests/run analyze

# Which lines the unit tests reach; COVERAGE=--html for pages that show each.
.PHONY: coverage
coverage:
	scripts/dependencies --install build coverage
	scripts/coverage $(COVERAGE) "$(BUILD)/check-coverage"

PLACES = DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BINDIR="$(BINDIR)" LIBDIR="$(LIBDIR)" \
	INCLUDEDIR="$(INCLUDEDIR)" MANDIR="$(MANDIR)" DOCDIR="$(DOCDIR)" \
	BASHCOMPDIR="$(BASHCOMPDIR)" ZSHCOMPDIR="$(ZSHCOMPDIR)" FISHCONFDIR="$(FISHCONFDIR)" \
	BUILD="$(BUILD)" VERSION="$(VERSION)" SONAME="$(SONAME)" STRIP="$(STRIP)"

.PHONY: install install-strip uninstall
install: all
	@$(PLACES) scripts/install-files install

install-strip: all
	@$(PLACES) scripts/install-files install --strip

uninstall:
	@$(PLACES) scripts/install-files uninstall

.PHONY: dist deb
dist:
	scripts/make-dist "$(DISTDIR)"

deb: all
	BUILD="$(BUILD)" VERSION="$(VERSION)" SONAME="$(SONAME)" STRIP="$(STRIP)" \
		scripts/deb/build "$(DISTDIR)"

.PHONY: format
format:
	clang-format -i core/*.[ch] core/*/*.[ch] filter/*.[ch] filter/*/*.[ch] tests/unit/*.[ch] scripts/*.[ch]

.PHONY: clean
clean:
	rm -rf $(BUILD)

.PHONY: help
help:
	@echo "make                build $(BUILD)/git-brevis, and libbrevis in $(BUILD)/lib"
	@echo "make check          build and run every test, or those in TESTS (tests/run --list names them)"
	@echo "make check-newer-git  run some of them with a newer git and git-lfs, which it gets"
	@echo "make fuzz           fuzz what reads strangers' bytes, each target for SECONDS_EACH ($(SECONDS_EACH))"
	@echo "make torture        let one call after the other fail, and see that nothing is lost"
	@echo "make analyze        read the sources with gcc's analyzer and clang-tidy"
	@echo "make coverage       count the lines that unit tests reach; COVERAGE=--html shows each"
	@echo "make install        install it below PREFIX ($(PREFIX)), within DESTDIR if that is set;"
	@echo "                    BINDIR, LIBDIR, INCLUDEDIR, DATADIR, MANDIR, DOCDIR, BASHCOMPDIR,"
	@echo "                    ZSHCOMPDIR and FISHCONFDIR may be set, too"
	@echo "make install-strip  the same, without what only debuggers need"
	@echo "make uninstall      remove it from there"
	@echo "make dist           pack the sources of the last commit into $(DISTDIR)"
	@echo "make deb            make Debian packages in $(DISTDIR)"
	@echo "make format         lay out the sources as .clang-format says"
	@echo "make clean          remove $(BUILD)"

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
