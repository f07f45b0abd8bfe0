# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Everything in TESTS speaks TAP (libcheck does when it is asked).
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = \
	CK_TAP_LOG_FILE_NAME=-; export CK_TAP_LOG_FILE_NAME; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; \
	PYTHON='$(PYTHON)'; export PYTHON;

# Unit tests: tests/unit/NAME-test.c, one line here.  They link lib/libxlat.a
# and libcheck, nothing else, unless tests_unit_NAME_test_LDADD says so.
unit_tests =

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

# Scripts that speak TAP.
script_tests =
TESTS += $(script_tests)
dist_noinst_SCRIPTS += $(script_tests)
