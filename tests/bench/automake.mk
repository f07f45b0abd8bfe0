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
	tests/bench/bench-nat64-size \
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

tests_bench_bench_nat64_size_SOURCES = \
	tests/bench/bench-nat64-size.c \
	tests/bench/pairs.c tests/bench/pairs.h

tests_bench_bench_siit_rewrite_SOURCES = \
	tests/bench/bench-siit-rewrite.c \
	tests/bench/pairs.c tests/bench/pairs.h
tests_bench_bench_siit_rewrite_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_bench_bench_siit_rewrite_LDADD = tests/liboracle.a lib/libxlat.a -lm
