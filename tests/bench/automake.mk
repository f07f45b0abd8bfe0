# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Benches: tests/bench/bench-NAME.c for one in-process (NAME is listed in
# tests/bench/run), a function in ovs_benches.py for one through Open vSwitch.
# Built by 'make bench' alone.

dist_noinst_SCRIPTS += tests/bench/run tests/bench/side-by-side
EXTRA_DIST += \
	tests/bench/frames.py \
	tests/bench/ovs_benches.py \
	tests/bench/rr.py \
	tests/bench/switch.py

bench_programs += \
	tests/bench/bench-eamt-million \
	tests/bench/bench-nat64-expiry \
	tests/bench/bench-nat64-ports-99 \
	tests/bench/bench-nat64-size \
	tests/bench/bench-nat64-threads \
	tests/bench/bench-siit-rewrite \
	tests/bench/memif-gen \
	tests/bench/rr

tests_bench_memif_gen_SOURCES = tests/bench/memif-gen.c
tests_bench_memif_gen_CFLAGS = $(AM_CFLAGS) $(DPDK_CFLAGS)
tests_bench_memif_gen_LDADD = $(DPDK_LIBS) $(PCAP_LIBS)

tests_bench_rr_SOURCES = tests/bench/rr.c
tests_bench_rr_LDADD =

tests_bench_bench_eamt_million_SOURCES = \
	tests/bench/bench-eamt-million.c \
	tests/bench/pairs.c tests/bench/pairs.h

nat64_bench_files = \
	tests/bench/nat64-bench.c tests/bench/nat64-bench.h \
	tests/bench/pairs.c tests/bench/pairs.h

tests_bench_bench_nat64_expiry_SOURCES = \
	tests/bench/bench-nat64-expiry.c $(nat64_bench_files)
tests_bench_bench_nat64_ports_99_SOURCES = \
	tests/bench/bench-nat64-ports-99.c $(nat64_bench_files)
tests_bench_bench_nat64_size_SOURCES = \
	tests/bench/bench-nat64-size.c $(nat64_bench_files)
tests_bench_bench_nat64_threads_SOURCES = \
	tests/bench/bench-nat64-threads.c $(nat64_bench_files)

if WITH_OVS
# Against Open vSwitch's connection tracker, out of its library.
bench_programs += \
	tests/bench/bench-nat64-setup-vs-ctnat \
	tests/bench/bench-nat64-vs-ct
ct_bench_files = \
	tests/bench/ct-bench.c tests/bench/ct-bench.h $(nat64_bench_files)
ct_bench_libs = lib/libxlat.a ovs/lib/libopenvswitch.la

tests_bench_bench_nat64_setup_vs_ctnat_SOURCES = \
	tests/bench/bench-nat64-setup-vs-ctnat.c $(ct_bench_files)
tests_bench_bench_nat64_setup_vs_ctnat_CPPFLAGS = $(vse_flags)
tests_bench_bench_nat64_setup_vs_ctnat_CFLAGS = \
	$(AM_CFLAGS) -Wno-sign-compare
tests_bench_bench_nat64_setup_vs_ctnat_LDADD = $(ct_bench_libs)
tests_bench_bench_nat64_setup_vs_ctnat_DEPENDENCIES = \
	lib/libxlat.a ovs.stamp
tests_bench_bench_nat64_setup_vs_ctnat_LINK = $(vse_link)
tests_bench_bench_nat64_vs_ct_SOURCES = \
	tests/bench/bench-nat64-vs-ct.c $(ct_bench_files)
tests_bench_bench_nat64_vs_ct_CPPFLAGS = $(vse_flags)
tests_bench_bench_nat64_vs_ct_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
tests_bench_bench_nat64_vs_ct_LDADD = $(ct_bench_libs)
tests_bench_bench_nat64_vs_ct_DEPENDENCIES = lib/libxlat.a ovs.stamp
tests_bench_bench_nat64_vs_ct_LINK = $(vse_link)
endif

tests_bench_bench_siit_rewrite_SOURCES = \
	tests/bench/bench-siit-rewrite.c \
	tests/bench/pairs.c tests/bench/pairs.h
tests_bench_bench_siit_rewrite_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_bench_bench_siit_rewrite_LDADD = tests/liboracle.a lib/libxlat.a -lm
