# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Everything in TESTS speaks TAP (libcheck does when it is asked).
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
AM_TESTS_ENVIRONMENT = \
	CK_TAP_LOG_FILE_NAME=-; export CK_TAP_LOG_FILE_NAME; \
	CK_DEFAULT_TIMEOUT=300; export CK_DEFAULT_TIMEOUT; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; \
	NM='$(NM)'; export NM; \
	PYTHON='$(PYTHON)'; export PYTHON; \
	MANUALS='$(dist_man_MANS)'; export MANUALS; \
	FUZZ_TARGETS='$(fuzz_targets) $(ovs_fuzz_targets)'; \
	export FUZZ_TARGETS; \
	VSE_FLAGS='$(vse_flags)'; export VSE_FLAGS; \
	PATH='$(test_path):$(test_ovs_path)':"$$PATH"; export PATH;

# Our commands and the patched Open vSwitch in front.
test_ovs = $(abs_top_builddir)/ovs
test_path = $(abs_top_builddir)/utilities:$(abs_top_srcdir)/utilities
test_ovs_path = $(test_ovs)/utilities:$(test_ovs)/vswitchd:$(test_ovs)/ovsdb

## ---------- ##
## Unit tests ##
## ---------- ##

# tests/unit/NAME-test.c, one line here.  They link lib/libxlat.a and
# libcheck, nothing else, unless tests_unit_NAME_test_LDADD says so.
unit_tests = \
	tests/unit/6052-test \
	tests/unit/addr-test \
	tests/unit/conf-test \
	tests/unit/eamt-test \
	tests/unit/ila-test \
	tests/unit/nat64-attack-test \
	tests/unit/nat64-change-test \
	tests/unit/nat64-event-test \
	tests/unit/nat64-frag-test \
	tests/unit/nat64-icmp-test \
	tests/unit/nat64-index-test \
	tests/unit/nat64-ipfix-test \
	tests/unit/nat64-lock-test \
	tests/unit/nat64-many-test \
	tests/unit/nat64-ports-test \
	tests/unit/nat64-probe-test \
	tests/unit/nat64-stress-test \
	tests/unit/nat64-subscriber-test \
	tests/unit/nat64-syn-test \
	tests/unit/nat64-tcp-test \
	tests/unit/nat64-threads-test \
	tests/unit/pk-test \
	tests/unit/prefix-test \
	tests/unit/xlat-icmp-test \
	tests/unit/xlat-rewrite-test \
	tests/unit/xlat-siit-test \
	tests/unit/zone-test

packet_files = tests/unit/packet.c tests/unit/packet.h
zone_files = tests/unit/zone-util.c tests/unit/zone-util.h
net_files = tests/unit/nat64-net.c tests/unit/nat64-net.h \
	$(packet_files) $(zone_files)
own_files = tests/unit/nat64-own.c tests/unit/nat64-own.h \
	$(packet_files) $(zone_files)

tests_unit_6052_test_SOURCES = tests/unit/6052-test.c $(zone_files)
tests_unit_addr_test_SOURCES = tests/unit/addr-test.c $(zone_files)
tests_unit_conf_test_SOURCES = tests/unit/conf-test.c $(zone_files)
tests_unit_eamt_test_SOURCES = tests/unit/eamt-test.c $(zone_files)
tests_unit_ila_test_SOURCES = \
	tests/unit/ila-test.c $(packet_files) $(zone_files)
tests_unit_nat64_attack_test_SOURCES = \
	tests/unit/nat64-attack-test.c $(net_files)
tests_unit_nat64_change_test_SOURCES = \
	tests/unit/nat64-change-test.c $(net_files)
tests_unit_nat64_event_test_SOURCES = \
	tests/unit/nat64-event-test.c $(net_files)
tests_unit_nat64_frag_test_SOURCES = tests/unit/nat64-frag-test.c $(net_files)
tests_unit_nat64_icmp_test_SOURCES = tests/unit/nat64-icmp-test.c $(net_files)
tests_unit_nat64_index_test_SOURCES = \
	tests/unit/nat64-index-test.c $(zone_files)
tests_unit_nat64_ipfix_test_SOURCES = \
	tests/unit/nat64-ipfix-test.c $(zone_files)
tests_unit_nat64_lock_test_SOURCES = tests/unit/nat64-lock-test.c $(net_files)
tests_unit_nat64_many_test_SOURCES = \
	tests/unit/nat64-many-test.c tests/unit/nat64-walk.c \
	tests/unit/nat64-walk.h $(zone_files)
tests_unit_nat64_many_test_CPPFLAGS = $(oracle_cppflags)
tests_unit_nat64_many_test_LDADD = \
	tests/liboracle.a lib/libxlat.a $(CHECK_LIBS)
tests_unit_nat64_probe_test_SOURCES = \
	tests/unit/nat64-probe-test.c $(own_files)
tests_unit_nat64_stress_test_SOURCES = \
	tests/unit/nat64-stress-test.c $(zone_files)
tests_unit_nat64_subscriber_test_SOURCES = \
	tests/unit/nat64-subscriber-test.c $(net_files)
tests_unit_nat64_syn_test_SOURCES = tests/unit/nat64-syn-test.c $(own_files)
tests_unit_nat64_threads_test_SOURCES = \
	tests/unit/nat64-threads-test.c tests/unit/nat64-threads-conn.c \
	tests/unit/nat64-threads.h tests/unit/nat64-walk.c \
	tests/unit/nat64-walk.h $(zone_files)
tests_unit_nat64_threads_test_CPPFLAGS = $(oracle_cppflags)
tests_unit_nat64_threads_test_LDADD = \
	tests/liboracle.a lib/libxlat.a $(CHECK_LIBS)
tests_unit_pk_test_SOURCES = tests/unit/pk-test.c $(packet_files)
tests_unit_prefix_test_SOURCES = tests/unit/prefix-test.c $(zone_files)
tests_unit_xlat_icmp_test_SOURCES = \
	tests/unit/xlat-icmp-test.c $(packet_files) tests/unit/siit.c \
	tests/unit/siit.h
tests_unit_xlat_rewrite_test_SOURCES = \
	tests/unit/xlat-rewrite-test.c $(packet_files)
tests_unit_xlat_siit_test_SOURCES = \
	tests/unit/xlat-siit-test.c $(packet_files) tests/unit/siit.c \
	tests/unit/siit.h
tests_unit_zone_test_SOURCES = tests/unit/zone-test.c $(zone_files)

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

if WITH_OVS

# Tests of the joint link Open vSwitch's library, by its libtool, which knows
# what else that takes.
vse_tests = \
	tests/unit/vse-log-test \
	tests/unit/vse-origin-test \
	tests/unit/vse-packet-test
check_PROGRAMS += $(vse_tests)
TESTS += $(vse_tests)
vse_link = $(SHELL) ovs/libtool --quiet --tag=CC --mode=link \
	$(CC) $(AM_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@
vse_libs = vswitchd-ext/libvse.a lib/libxlat.a
tests_unit_vse_log_test_SOURCES = tests/unit/vse-log-test.c $(net_files)
tests_unit_vse_log_test_CPPFLAGS = $(vse_flags)
tests_unit_vse_log_test_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
tests_unit_vse_log_test_LDADD = \
	$(vse_libs) ovs/lib/libopenvswitch.la $(CHECK_LIBS)
tests_unit_vse_log_test_DEPENDENCIES = $(vse_libs) ovs.stamp
tests_unit_vse_log_test_LINK = $(vse_link)
tests_unit_vse_origin_test_CPPFLAGS = $(vse_flags)
tests_unit_vse_origin_test_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
tests_unit_vse_origin_test_LDADD = \
	$(vse_libs) ovs/lib/libopenvswitch.la $(CHECK_LIBS)
tests_unit_vse_origin_test_DEPENDENCIES = $(vse_libs) ovs.stamp
tests_unit_vse_origin_test_LINK = $(vse_link)
tests_unit_vse_packet_test_CPPFLAGS = $(vse_flags)
tests_unit_vse_packet_test_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
tests_unit_vse_packet_test_LDADD = \
	$(vse_libs) ovs/lib/libopenvswitch.la $(CHECK_LIBS)
tests_unit_vse_packet_test_DEPENDENCIES = $(vse_libs) ovs.stamp
tests_unit_vse_packet_test_LINK = $(vse_link)

check_PROGRAMS += tests/fuzz/ofpact-replay
tests_fuzz_ofpact_replay_SOURCES = \
	tests/fuzz/ofpact-fuzz.c \
	tests/fuzz/replay.c
tests_fuzz_ofpact_replay_CPPFLAGS = $(vse_flags)
tests_fuzz_ofpact_replay_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
tests_fuzz_ofpact_replay_LDADD = ovs/lib/libopenvswitch.la
tests_fuzz_ofpact_replay_DEPENDENCIES = ovs.stamp
tests_fuzz_ofpact_replay_LINK = $(vse_link)
ovs_fuzz_targets = ofpact

endif WITH_OVS

# The slow and obvious twins that tests compare with.
check_LIBRARIES += tests/liboracle.a
tests_liboracle_a_SOURCES =

## ------- ##
## Scripts ##
## ------- ##

# Scripts that speak TAP.
script_tests = \
	tests/check-flex-gw \
	tests/check-headers \
	tests/check-layers \
	tests/check-manuals \
	tests/check-spdx \
	tests/check-summary \
	tests/cli/flex-pcap \
	tests/fuzz/replay-all \
	tests/golden/check-made \
	tests/golden/run

TESTS += $(script_tests)
dist_noinst_SCRIPTS += $(script_tests)

EXTRA_DIST += tests/golden tests/rfc tests/tap.bash
dist_noinst_SCRIPTS += tests/summary

## ------- ##
## Fuzzing ##
## ------- ##

# tests/fuzz/NAME-fuzz.c has LLVMFuzzerTestOneInput().  NAME goes into
# fuzz_targets; "make check" replays tests/fuzz/corpus/NAME/* by the program
# that two lines declare:
#
#   check_PROGRAMS += tests/fuzz/NAME-replay
#   tests_fuzz_NAME_replay_SOURCES = tests/fuzz/NAME-fuzz.c tests/fuzz/replay.c
fuzz_targets = pcap

check_PROGRAMS += tests/fuzz/pcap-replay
tests_fuzz_pcap_replay_SOURCES = \
	tests/fuzz/pcap-fuzz.c \
	tests/fuzz/replay.c \
	utilities/pcap-file.c \
	utilities/pcap-link.c \
	utilities/pcap-run.c \
	utilities/util-text.c
tests_fuzz_pcap_replay_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/utilities
tests_fuzz_pcap_replay_LDADD = lib/libxlat.a $(PCAP_LIBS)

FUZZ_SECONDS = 60

fuzz:
	CLANG='$(CLANG)' FUZZ_TARGETS='$(fuzz_targets)' \
	OVS_FUZZ_TARGETS='$(ovs_fuzz_targets)' VSE_FLAGS='$(vse_flags)' \
	FUZZ_SECONDS='$(FUZZ_SECONDS)' top_srcdir='$(abs_top_srcdir)' \
	$(top_srcdir)/tests/fuzz/run

PHONY += fuzz
dist_noinst_SCRIPTS += tests/fuzz/run
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/replay.c
CLEAN_LOCAL += clean-fuzz
clean-fuzz:
	rm -rf fuzz
PHONY += clean-fuzz

## -------- ##
## Autotest ##
## -------- ##

# What an operator types, with the patched Open vSwitch, in its own manner
# and with its own macros.
TESTSUITE_AT = \
	tests/install.at \
	tests/testsuite.at \
	tests/xlat-actions.at \
	tests/xlat-config.at \
	tests/xlat-knobs.at \
	tests/xlat-log.at \
	tests/xlat-nat64.at \
	tests/xlat-own.at

EXTRA_DIST += $(TESTSUITE_AT)
dist_noinst_SCRIPTS += tests/ipfix-collect tests/show-frames
TESTSUITEFLAGS = -j4

if WITH_OVS

tests/package.m4: Makefile
	$(AM_V_GEN){ \
	  echo 'm4_define([AT_PACKAGE_NAME], [$(PACKAGE_NAME)])'; \
	  echo 'm4_define([AT_PACKAGE_TARNAME], [$(PACKAGE_TARNAME)])'; \
	  echo 'm4_define([AT_PACKAGE_VERSION], [$(PACKAGE_VERSION)])'; \
	  echo 'm4_define([AT_PACKAGE_STRING], [$(PACKAGE_STRING)])'; \
	  echo 'm4_define([AT_PACKAGE_BUGREPORT], [])'; \
	} > $@

tests/testsuite: $(TESTSUITE_AT) tests/package.m4 ovs.stamp
	$(AM_V_GEN)$(AUTOM4TE) --language=autotest -I tests -I ovs \
		-I $(srcdir)/tests -o $@.tmp $(srcdir)/tests/testsuite.at \
	&& mv $@.tmp $@

check-autotest: tests/testsuite
	$(SHELL) tests/testsuite -C tests \
		AUTOTEST_PATH='$(autotest_path)' $(TESTSUITEFLAGS)

autotest_path = utilities:ovs/utilities:ovs/vswitchd:ovs/ovsdb:ovs/tests

CHECK_LOCAL += check-autotest
CLEAN_LOCAL += clean-autotest
clean-autotest:
	test ! -f tests/testsuite || $(SHELL) tests/testsuite -C tests --clean
	rm -f tests/testsuite.log
PHONY += check-autotest clean-autotest

endif WITH_OVS

CLEANFILES += tests/package.m4 tests/testsuite
DISTCLEANFILES += tests/atconfig

## ------------ ##
## System tests ##
## ------------ ##

# Real programs in network namespaces, as root, one after the other.
system_tests = \
	tests/system/gw-install.sh \
	tests/system/gw-neighbours.sh \
	tests/system/gw-one-port.sh \
	tests/system/ila-linux.sh \
	tests/system/ila-traffic.sh \
	tests/system/nat44-tenants.sh \
	tests/system/nat64-fragments.sh \
	tests/system/nat64-hairpin.sh \
	tests/system/nat64-own.sh \
	tests/system/nat64-tcp.sh \
	tests/system/siit-fragments.sh \
	tests/system/siit-guest.sh \
	tests/system/siit-hairpin.sh \
	tests/system/siit-live.sh \
	tests/system/siit-offload.sh \
	tests/system/siit-ping.sh \
	tests/system/siit-pmtud.sh \
	tests/system/siit-reply-ports.sh \
	tests/system/siit-restart.sh \
	tests/system/siit-tcp.sh \
	tests/system/siit-traceroute.sh

dist_noinst_SCRIPTS += \
	tests/system/demo.sh \
	tests/system/http-server.py \
	tests/system/iperf3-result.py \
	tests/system/playground.sh \
	tests/system/tcp.py \
	tests/system/udp.py
EXTRA_DIST += \
	tests/system/guest.sh \
	tests/system/ila-net.sh \
	tests/system/lib.sh \
	tests/system/nat64-net.sh \
	tests/system/siit-net.sh

dist_noinst_SCRIPTS += $(system_tests)

check-system: all
	@test -n '$(system_tests)' || { echo 'no system tests'; exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) -j1 check-TESTS TESTS='$(system_tests)' \
		TEST_SUITE_LOG=system-suite.log

PHONY += check-system
CLEANFILES += system-suite.log tests/system/*.log tests/system/*.trs

## -------------------- ##
## Open vSwitch's suite ##
## -------------------- ##

OVS_CHECK = $(PYTHON) $(srcdir)/tests/ovs-suite \
	--known=$(srcdir)/tests/ovs-known-failures

# All of it, on the patched tree and on one without patches.
check-ovs: all ovs-plain-all
	$(OVS_CHECK) --tree=ovs --plain=ovs-plain

# What the patches touch, on the patched tree.
check-ovs-touched: all
	$(OVS_CHECK) --tree=ovs --touched

PHONY += check-ovs check-ovs-touched
dist_noinst_SCRIPTS += tests/ovs-suite
EXTRA_DIST += tests/ovs-known-failures

## ------------------ ##
## Sanitizers, random ##
## ------------------ ##

SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined

# Everything, Open vSwitch too, in a build folder of its own.
check-asan:
	$(MKDIR_P) asan
	test -f asan/Makefile || (cd asan && '$(abs_top_srcdir)/configure' \
		$(ASAN_OVS_FLAGS) CC='$(CC)' LDFLAGS='$(SANITIZE)' \
		CFLAGS='-g -O1 -fno-omit-frame-pointer $(SANITIZE)')
	+$(MAKE) $(AM_MAKEFLAGS) -C asan check
	+$(MAKE) $(AM_MAKEFLAGS) -C asan check-system

clean-asan:
	rm -rf asan

# Random packets through lib and through its slow twin, and random steps of a
# stateful zone.
RANDOM_PACKETS = 50000000
RANDOM_STEPS = 10000000

PHONY += check-asan clean-asan
CLEAN_LOCAL += clean-asan

check-random: tests/random/random-xlat tests/random/random-nat64
	tests/random/random-xlat --packets=$(RANDOM_PACKETS)
	tests/random/random-nat64 --steps=$(RANDOM_STEPS)

PHONY += check-random

## ------- ##
## Benches ##
## ------- ##

# Built by "make bench" alone; "make bench BENCH=name" runs one.
bench_programs =
BENCH =

EXTRA_PROGRAMS = $(bench_programs)
CLEANFILES += $(bench_programs) bench.json

# After "all", which builds the same objects, not beside it.
bench: all
	$(MAKE) $(AM_MAKEFLAGS) $(bench_programs) $(bench_trees)
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
	$(PYTHON) $(top_srcdir)/tests/bench/run --bench='$(BENCH)' \
		--builddir='$(abs_top_builddir)' \
		--ovs='$(abs_top_builddir)/ovs' \
		--ovs-unpatched='$(abs_top_builddir)/ovs-plain'

if WITH_OVS
bench_trees = ovs-plain-all

# Other translators on the same traffic; figures to read, none to pass.
side-by-side: all
	$(MAKE) $(AM_MAKEFLAGS) tests/bench/rr
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
		$(top_srcdir)/tests/bench/side-by-side

PHONY += side-by-side
endif

PHONY += bench

include tests/bench/automake.mk
include tests/random/automake.mk
