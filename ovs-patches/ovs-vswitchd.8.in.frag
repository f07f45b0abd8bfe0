.\" SPDX-License-Identifier: Apache-2.0
.\" SPDX-FileCopyrightText: The Flexiv authors
.SS "ADDRESS TRANSLATION COMMANDS"
These commands show what the zones of table \fBXlat_Zone\fR (see
\fBovs\-vswitchd.conf.db\fR(5)) do with packets that the actions \fBnat64\fR
and \fBila\fR (see \fBovs\-actions\fR(7)) give them.  \fIzone\fR is a zone's
number or name.  With \fB\-\-format json\fR, \fBovs\-appctl\fR prints JSON.
.IP "\fBxlat/list\fR"
Prints a line for each zone: its state and main counters.
.IP "\fBxlat/show\fR \fIzone\fR"
Prints the configuration that is in force, defaults included, and what is wrong
with the one in the database if that was refused.
.IP "\fBxlat/mappings\fR \fIzone\fR [\fItext\fR]"
Prints the zone's explicit address mappings, or its ILA mappings with their
counters; those that contain \fItext\fR, if given.  At most 10,000.
.IP "\fBxlat/sessions\fR \fIzone\fR [\fIfilter\fR]"
Prints the zone's sessions.  A stateless zone has none.
.IP "\fBxlat/query\fR \fIzone\fR \fIaddress\fR"
.IQ "\fBxlat/query\fR \fIzone\fR \fItuple\fR"
Says what becomes of an address, or of a packet, and by which entry or prefix,
or why it is dropped.  \fItuple\fR is
\fIprotocol\fB,\fIsource\fB,\fIsport\fB,\fIdestination\fB,\fIdport\fR, where
\fIprotocol\fR is \fBtcp\fR, \fBudp\fR or \fBsctp\fR, or
\fBicmp,\fIsource\fB,\fIid\fB,\fIdestination\fR.  Nothing is counted or sent.
.IP "\fBxlat/stats\fR [\fIzone\fR]"
Prints all counters of a zone: packets by what became of them, drops and ICMP
errors by reason.  Without \fIzone\fR: packets dropped before any zone saw
them, because there is no such zone (\fBdrop\-no\-zone\fR) or because it is of
another kind than the action (\fBdrop\-kind\fR).
.IP "\fBxlat/flush\fR \fIzone\fR"
Removes the zone's sessions.  Counters never fall, so they stay.
.
