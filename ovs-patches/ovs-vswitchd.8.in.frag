.\" SPDX-License-Identifier: Apache-2.0
.\" SPDX-FileCopyrightText: The Flexiv authors
.SS "ADDRESS TRANSLATION COMMANDS"
These commands show what the zones of table \fBXlat_Zone\fR (see
\fBovs\-vswitchd.conf.db\fR(5)) do with packets that the actions \fBnat64\fR
and \fBila\fR (see \fBovs\-actions\fR(7)) give them.  \fIzone\fR is a zone's
number or name.  With \fB\-\-format json\fR, \fBovs\-appctl\fR prints JSON.
.IP "\fBxlat/list\fR"
Prints a line for each zone: its state, its main counters and, if it is
stateful, the number of its sessions.
.IP "\fBxlat/show\fR \fIzone\fR"
Prints the configuration that is in force, defaults included, and what is wrong
with the one in the database if that was refused.
.IP "\fBxlat/mappings\fR \fIzone\fR [\fItext\fR]"
Prints the zone's explicit address mappings, or its ILA mappings with their
counters; those that contain \fItext\fR, if given.  At most 10,000.
.IP "\fBxlat/sessions\fR \fIzone\fR [\fIfilter\fR] [\fB\-\-limit=\fIn\fR] \
[\fB\-\-cursor=\fIn\fR]"
Prints sessions of a stateful zone: those that match \fIfilter\fR, if given,
which is a list, separated by commas, of
.RS
.IP "\fBproto=tcp\fR|\fBudp\fR|\fBicmp\fR"
.IQ "\fBtenant=\fInumber\fR"
.IQ "\fBinside=\fIaddress\fR"
.IQ "\fBoutside=\fIaddress\fR"
The zone's own address.
.IQ "\fBremote=\fIaddress\fR"
The host outside, as the outside sees it or, by an IPv6 address, as the inside
does.
.IQ "\fBstate=\fIstate\fR"
Of TCP, for instance \fBestablished\fR.
.RE
.IP
all of which have to hold, or else a part of the text of the inside or outside
transport addresses.  Behind an address there may be a port, as in
\fB192.0.2.1:80\fR and \fB[2001:db8::1]:80\fR; of ICMP, an identifier.
.IP
At most \fIn\fR sessions are printed, by default 10,000, up to 20,000.  If
these are not all, the last line names the option with which the next call goes
on; in JSON that is the member \fBmore\fR, which is null otherwise.  Sessions
that begin or end between two calls may be missed.  However many there are, a
search goes on in slices of a few milliseconds, between which
\fBovs\-vswitchd\fR does its other work; threads that carry packets are never
held.  All sessions, piece by piece:
.IP
.nf
.RS
next=\-\-cursor=0
while test "$next"; do
    ovs\-appctl xlat/sessions 1 $next \-\-limit=20000 > piece
    next=$(sed \-n 's/^more: //p' piece)
    grep \-v '^more: ' piece
done
.RE
.fi
.IP "\fBxlat/query\fR \fIzone\fR \fIaddress\fR"
.IQ "\fBxlat/query\fR \fIzone\fR \fItuple\fR"
Says what becomes of an address, or of a packet, and by which entry or prefix,
or why it is dropped.  \fItuple\fR is
.RS
.IP "\fBtcp,\fIaddress\fB:\fIport\fB,\fIaddress\fB:\fIport\fR"
.IQ "\fBudp,\fIaddress\fB:\fIport\fB,\fIaddress\fB:\fIport\fR"
.IQ "\fBsctp,\fIaddress\fB:\fIport\fB,\fIaddress\fB:\fIport\fR"
.IQ "\fBicmp,\fIaddress\fB:\fIid\fB,\fIaddress\fR"
.RE
.IP
where the first address is the source, and \fBicmp\fR an echo request.  An IPv6
address in front of a port stands in brackets.  Behind that there may be
\fB,tenant=\fInumber\fR, for a packet from inside of a stateful zone, and flags
of TCP: \fB,syn\fR (the default), \fB,ack\fR, \fB,fin\fR, \fB,rst\fR.  A comma
in the place of a colon, and no brackets, is another way to write it.
.IP
Of a stateful zone, which knows only what to do with packets, the answer has
the tenant, whether the session \fBexists\fR, with its state and the seconds
until it ends, \fBwould begin\fR, or whether there is \fBnone\fR, and likewise
the binding.  The port of a binding that would begin is one of those that it
might get.  Nothing is counted, sent or remembered.
.IP "\fBxlat/stats\fR [\fIzone\fR]"
Prints all counters of a zone: packets by what became of them, drops and ICMP
errors by reason; of a stateful zone, what there is of sessions, bindings and
ports right now, and the memory that they have.  Without \fIzone\fR: packets
dropped before any zone saw them, because there is no such zone
(\fBdrop\-no\-zone\fR) or because it is of another kind than the action
(\fBdrop\-kind\fR).
.IP "\fBxlat/flush\fR \fIzone\fR"
Ends the zone's sessions and prints how many these were.  Counters never fall,
so they stay, as do static bindings.
.
