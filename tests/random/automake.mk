# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The slow and obvious twin of the translator, random zones and packets, and
# the fuzz targets that use them.

oracle_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/lib \
	-I$(top_srcdir)/tests/oracle -I$(top_srcdir)/tests/random

tests_liboracle_a_SOURCES += \
	tests/oracle/oracle-addr.c \
	tests/oracle/oracle-addr.h \
	tests/oracle/oracle-conf.h \
	tests/oracle/oracle-frag.c \
	tests/oracle/oracle-frag.h \
	tests/oracle/oracle-icmp.c \
	tests/oracle/oracle-ila.c \
	tests/oracle/oracle-ila.h \
	tests/oracle/oracle-packet.c \
	tests/oracle/oracle-packet.h \
	tests/oracle/oracle-private.h \
	tests/oracle/oracle-reply.c \
	tests/oracle/oracle-siit.c \
	tests/oracle/oracle-siit.h \
	tests/oracle/slow-frag.c \
	tests/oracle/slow-nat64.c \
	tests/oracle/slow-nat64.h \
	tests/oracle/slow-packet.c \
	tests/oracle/slow-ports.c \
	tests/oracle/slow-state.c
tests_liboracle_a_CPPFLAGS = $(oracle_cppflags)

check_LIBRARIES += tests/librandom.a
tests_librandom_a_SOURCES = \
	tests/random/compare.c \
	tests/random/compare.h \
	tests/random/gen-conf.c \
	tests/random/gen-conf.h \
	tests/random/gen-packet.c \
	tests/random/gen-packet.h \
	tests/random/rnd.h
tests_librandom_a_CPPFLAGS = $(oracle_cppflags)

oracle_ldadd = tests/librandom.a tests/liboracle.a lib/libxlat.a

check_PROGRAMS += tests/random/random-xlat
TESTS += tests/random/random-xlat
tests_random_random_xlat_SOURCES = tests/random/random-xlat.c
tests_random_random_xlat_CPPFLAGS = $(oracle_cppflags)
tests_random_random_xlat_LDADD = $(oracle_ldadd)

# Random steps of a stateful zone, and its twin.
check_PROGRAMS += tests/random/random-nat64
TESTS += tests/random/random-nat64
tests_random_random_nat64_SOURCES = \
	tests/random/random-nat64-compare.c \
	tests/random/random-nat64-gen.c \
	tests/random/random-nat64.c \
	tests/random/random-nat64.h \
	tests/unit/nat64-walk.c \
	tests/unit/nat64-walk.h
tests_random_random_nat64_CPPFLAGS = $(oracle_cppflags) \
	-I$(top_srcdir)/tests/unit
tests_random_random_nat64_LDADD = $(oracle_ldadd)

CLEAN_LOCAL += clean-random
clean-random:
	rm -f random-xlat.*.json random-xlat.*.pcap random-xlat.*.txt
PHONY += clean-random

EXTRA_DIST += tests/oracle/README.md

# Fuzz targets, replayed.
fuzz_targets += conf frag map-file packet

check_PROGRAMS += \
	tests/fuzz/conf-replay \
	tests/fuzz/frag-replay \
	tests/fuzz/map-file-replay \
	tests/fuzz/packet-replay

tests_fuzz_conf_replay_SOURCES = tests/fuzz/conf-fuzz.c tests/fuzz/replay.c
tests_fuzz_conf_replay_LDADD = lib/libxlat.a
tests_fuzz_frag_replay_SOURCES = tests/fuzz/frag-fuzz.c tests/fuzz/replay.c
tests_fuzz_frag_replay_CPPFLAGS = $(oracle_cppflags)
tests_fuzz_frag_replay_LDADD = $(oracle_ldadd)
tests_fuzz_map_file_replay_SOURCES = \
	tests/fuzz/map-file-fuzz.c \
	tests/fuzz/replay.c
tests_fuzz_map_file_replay_LDADD = lib/libxlat.a
tests_fuzz_packet_replay_SOURCES = \
	tests/fuzz/packet-fuzz.c \
	tests/fuzz/replay.c
tests_fuzz_packet_replay_CPPFLAGS = $(oracle_cppflags)
tests_fuzz_packet_replay_LDADD = $(oracle_ldadd)
