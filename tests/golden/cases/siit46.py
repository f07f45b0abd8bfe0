# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""IPv4 to IPv6, without ICMP: RFC 7915, 4.1 and 4.5."""

import struct

from .case import C4, C6, S4, S6, Case, siit
from .wire import (DCCP, DEST, ESP, FRAGMENT, GRE, HOP_BY_HOP, ICMP, ICMP6,
                   IGMP, ROUTING, SCTP, TCP, UDP, UDP_LITE, checksum, ext6,
                   frag6, icmp4, icmp6, ip4, ip6, pseudo, tcp, text, udp, word)

DATA = text(40)


def segment(near, far, data=DATA):
    """A TCP segment between the usual ports, from 'far' to 'near'."""
    return tcp(far, near, 443, 40000, data)


def datagram(near, far, data=DATA, **fields):
    return udp(far, near, 53, 40000, data, **fields)


def error4(type, code, rest, packet):
    """An ICMPv4 error of the translator's about 'packet', from its
    destination to its source.  TOS, TTL, identification and DF are the
    implementation's choice."""
    far = '.'.join(map(str, packet[16:20]))
    near = '.'.join(map(str, packet[12:16]))
    return ip4(far, near, ICMP, icmp4(type, code, rest, packet[:548]),
               any=('tos', 'id', 'df', 'ttl'))


def cases():
    yield header()
    yield reset_traffic_class()
    yield json_values()
    yield no_transport()
    yield options()
    yield source_route()
    yield ttl()
    yield protocols()
    yield bad_source()
    yield foreign_icmp()
    yield fragments()
    yield df0()
    yield df0_fragment()
    yield df0_lowest_mtu()
    yield df1()
    yield df1_fragment()
    yield small_mtu()
    yield udp_zero('drop')
    yield udp_zero('compute')
    yield udp_zero('forward')
    yield udp_length()
    yield udp_sum_ffff()
    yield sums_zero()
    yield sums_wrong()
    yield sums_of_others()


def header():
    c = Case('46-header', 'RFC 7915, 4.1: each field of a whole IPv4 packet: '
             'TOS copied, flow label 0, length, hop limit = TTL - 1, no '
             'fragment header though the identification is set.', siit())
    for tos, df, ttl in (0x00, 1, 64), (0xb9, 0, 2), (0xff, 1, 255):
        c.translated(
            ip4(S4, C4, TCP, segment(C4, S4), ttl=ttl, tos=tos, id=0xbeef,
                df=df),
            ip6(S6, C6, TCP, segment(C6, S6), hops=ttl - 1, tc=tos))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4), ttl=64, df=1),
        ip6(S6, C6, UDP, datagram(C6, S6), hops=63))
    c.translated(
        ip4(S4, C4, TCP, segment(C4, S4, b'odd'), ttl=64, df=1),
        ip6(S6, C6, TCP, segment(C6, S6, b'odd'), hops=63))
    return c


def reset_traffic_class():
    c = Case('46-reset-traffic-class', 'RFC 7915, 4.1: the option to ignore '
             'the TOS and set the traffic class to zero.',
             siit(reset_traffic_class='true'))
    c.translated(
        ip4(S4, C4, TCP, segment(C4, S4), ttl=64, tos=0xb8, df=1),
        ip6(S6, C6, TCP, segment(C6, S6), hops=63, tc=0))
    return c


def json_values():
    conf = siit()
    conf['zones'][0].update(
        name=None, bib={}, other_config={
            'reset-traffic-class': True, 'mtu6': 1400, 'hairpin': None})
    conf['mappings'] = None
    c = Case('conf-values', 'Numbers and truth values in other_config stand '
             'for their text, null for an absent key.', conf)
    packet = ip4(S4, C4, TCP, segment(C4, S4, text(1400)), df=1)
    c.reply('too-big', packet, error4(3, 4, word(1380), packet))
    c.translated(
        ip4(S4, C4, TCP, segment(C4, S4), ttl=64, tos=0xb8, df=1),
        ip6(S6, C6, TCP, segment(C6, S6), hops=63, tc=0))
    return c


def no_transport():
    c = Case('46-extension-header-protocols', 'IPv4 protocols that are '
             'extension headers of IPv6 are no transport protocols: dropped, '
             'whole or in fragments, without an error.', siit())
    for proto in HOP_BY_HOP, ROUTING, FRAGMENT, DEST:
        c.dropped('bad-ext-hdr', ip4(S4, C4, proto, ext6(TCP, DATA), df=1))
        c.dropped('bad-ext-hdr', ip4(S4, C4, proto, text(1400), df=0, id=7))
        c.dropped('bad-ext-hdr', ip4(S4, C4, proto, text(80), mf=1, id=7))
    return c


def foreign_icmp():
    c = Case('46-foreign-icmp', 'RFC 7915, 4.2: ICMPv6 and IGMP in IPv4 are '
             'dropped in silence, whole or in fragments.', siit())
    for proto in ICMP6, IGMP:
        c.dropped('icmp-type', ip4(S4, C4, proto, bytes([2, 0]) + text(30),
                                   df=1))
        c.dropped('icmp-type', ip4(S4, C4, proto, text(80), mf=1, id=7))
    return c


def options():
    c = Case('46-options', 'RFC 7915, 4.1: IPv4 options are ignored.',
             siit())
    for options in (bytes([1, 1, 1, 0]),
                    bytes([7, 7, 4, 0, 0, 0, 0, 0]),
                    bytes([68, 8, 5, 0, 0, 0, 0, 0]),
                    bytes([148, 4, 0, 0])):
        c.translated(
            ip4(S4, C4, TCP, segment(C4, S4), ttl=64, df=1, options=options),
            ip6(S6, C6, TCP, segment(C6, S6), hops=63))
    return c


def source_route():
    c = Case('46-source-route', 'RFC 7915, 4.1: a source route that has not '
             'ended: ICMPv4 3/5; one that has ended is ignored.', siit())
    for kind in 131, 137:
        live = bytes([kind, 7, 4, 203, 0, 113, 9, 0])
        over = bytes([kind, 7, 8, 203, 0, 113, 9, 0])
        packet = ip4(S4, C4, TCP, segment(C4, S4), df=1, options=live)
        c.reply('source-route', packet, error4(3, 5, word(0), packet))
        c.translated(
            ip4(S4, C4, TCP, segment(C4, S4), ttl=64, df=1, options=over),
            ip6(S6, C6, TCP, segment(C6, S6), hops=63))
    return c


def ttl():
    c = Case('46-ttl', 'RFC 7915, 4.1: the TTL is decremented; when it gets '
             'to zero: ICMPv4 11/0 about the packet as it came.', siit())
    packet = ip4(S4, C4, TCP, segment(C4, S4), ttl=1, tos=0x10, df=1)
    c.reply('ttl', packet, error4(11, 0, word(0), packet))
    c.translated(
        ip4(S4, C4, TCP, segment(C4, S4), ttl=2, df=1),
        ip6(S6, C6, TCP, segment(C6, S6), hops=1))
    packet = ip4(S4, C4, UDP, datagram(C4, S4, text(1200)), ttl=1, df=0)
    c.reply('ttl', packet, error4(11, 0, word(0), packet))
    packet = ip4(S4, C4, UDP, datagram(C4, S4), ttl=0)
    c.reply('ttl', packet, error4(11, 0, word(0), packet))
    return c


def protocols():
    c = Case('46-protocols', 'RFC 7915, 4.5: other transport protocols are '
             'forwarded, their payload untouched.', siit())
    for proto in SCTP, GRE, ESP, 253:
        c.translated(ip4(S4, C4, proto, DATA, ttl=64, df=1),
                     ip6(S6, C6, proto, DATA, hops=63))
    return c


def bad_source():
    c = Case('46-bad-source', 'RFC 7915, 4.1: packets with an illegal source '
             '(RFC 1812, 5.3.7) are dropped, without an error.', siit())
    for source in ('0.0.0.1', '127.0.0.1', '224.0.0.1', '239.255.255.255',
                   '255.255.255.255'):
        c.dropped('bad-source',
                  ip4(source, C4, UDP, datagram(C4, source), df=1))
    return c


def fragments():
    c = Case('46-fragments', 'T6; RFC 7915, 4.1: UDP of 3000 bytes in three '
             'fragments, in order and reversed: the low 16 bits of the '
             'identification, offset and M are kept; the addresses are all '
             'the same, and the reassembled checksum is valid.',
             siit(lowest_ipv6_mtu=1500))
    whole4 = datagram(C4, S4, text(2992))
    whole6 = datagram(C6, S6, text(2992))
    assert len(whole4) == 3000
    pieces = [(0, 1200, 1), (1200, 2400, 1), (2400, 3000, 0)]
    for id, order in (0x5678, pieces), (0xfffe, pieces[::-1]):
        for start, end, more in order:
            c.translated(
                ip4(S4, C4, UDP, whole4[start:end], ttl=64, id=id, mf=more,
                    offset=start),
                ip6(S6, C6, FRAGMENT,
                    frag6(UDP, whole6[start:end], offset=start, more=more,
                          id=id), hops=63))
    # DF is set in some fragments; it makes no difference (RFC 7915, 4.1).
    c.translated(
        ip4(S4, C4, UDP, whole4[2400:], ttl=64, id=7, df=1, offset=2400),
        ip6(S6, C6, FRAGMENT, frag6(UDP, whole6[2400:], offset=2400, id=7),
            hops=63))
    # Of a first fragment with less than a TCP header, the checksum travels in
    # the second one: nothing right can be made of it, so it is not tested.
    return c


def df0():
    c = Case('46-df0', 'RFC 7915, 4.1: DF=0, and the result would be larger '
             'than 1280 bytes: fragments of at most 1280 bytes.  Up to 1260 '
             'IPv4 bytes the packet stays whole.', siit())
    for n in 1220, 1232:
        c.translated(
            ip4(S4, C4, UDP, datagram(C4, S4, text(n)), ttl=64, id=9),
            ip6(S6, C6, UDP, datagram(C6, S6, text(n)), hops=63))
    whole = datagram(C6, S6, text(1472))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, text(1472)), ttl=64, id=0xabcd,
            tos=0x28),
        ip6(S6, C6, FRAGMENT,
            frag6(UDP, whole[:1232], offset=0, more=1, id=0xabcd), hops=63,
            tc=0x28),
        ip6(S6, C6, FRAGMENT,
            frag6(UDP, whole[1232:], offset=1232, id=0xabcd), hops=63,
            tc=0x28),
        fragmented=True)
    # The first size that does not fit.
    whole = datagram(C6, S6, text(1233))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, text(1233)), ttl=64, id=1),
        ip6(S6, C6, FRAGMENT, frag6(UDP, whole[:1232], more=1, id=1),
            hops=63),
        ip6(S6, C6, FRAGMENT, frag6(UDP, whole[1232:], offset=1232, id=1),
            hops=63),
        fragmented=True)
    return c


def df0_fragment():
    c = Case('46-df0-fragment', 'T7 with UDP; RFC 7915, 4.1: fragments whose '
             'results would be too large are cut further, at the right '
             'offsets, MTU of the IPv6 side 1420.', siit(mtu6=1420))
    whole4 = datagram(C4, S4, text(2492))
    whole6 = datagram(C6, S6, text(2492))
    cuts = [(0, 1480, 1), (1480, 2500, 0)]
    assert len(whole4) == 2500
    c.translated(
        ip4(S4, C4, UDP, whole4[:1480], ttl=64, id=0x1111, mf=1),
        ip6(S6, C6, FRAGMENT,
            frag6(UDP, whole6[:1232], more=1, id=0x1111), hops=63),
        ip6(S6, C6, FRAGMENT,
            frag6(UDP, whole6[1232:1480], offset=1232, more=1, id=0x1111),
            hops=63),
        fragmented=True)
    c.translated(
        ip4(S4, C4, UDP, whole4[1480:], ttl=64, id=0x1111, offset=1480),
        ip6(S6, C6, FRAGMENT,
            frag6(UDP, whole6[1480:], offset=1480, id=0x1111), hops=63))
    return c


def df0_lowest_mtu():
    c = Case('46-lowest-ipv6-mtu', 'RFC 7915, 4.1: the size of fragments is '
             'configurable.', siit(lowest_ipv6_mtu=1400))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, text(1352)), ttl=64, id=9),
        ip6(S6, C6, UDP, datagram(C6, S6, text(1352)), hops=63))
    whole = datagram(C6, S6, text(1472))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, text(1472)), ttl=64, id=9),
        ip6(S6, C6, FRAGMENT, frag6(UDP, whole[:1352], more=1, id=9),
            hops=63),
        ip6(S6, C6, FRAGMENT, frag6(UDP, whole[1352:], offset=1352, id=9),
            hops=63),
        fragmented=True)
    return c


def df1():
    c = Case('46-df1', 'T3; RFC 7915, 4.1: DF=1 and 1500 bytes, IPv6 MTU '
             '1500: ICMPv4 3/4 with MTU 1480.  1480 bytes pass, whole.',
             siit(mtu6=1500))
    packet = ip4(S4, C4, TCP, segment(C4, S4, text(1460)), ttl=64, df=1)
    assert len(packet) == 1500
    c.reply('too-big', packet, error4(3, 4, word(1480), packet))
    packet = ip4(S4, C4, TCP, segment(C4, S4, text(1441)), ttl=64, df=1)
    c.reply('too-big', packet, error4(3, 4, word(1480), packet))
    c.translated(
        ip4(S4, C4, TCP, segment(C4, S4, text(1440)), ttl=64, df=1),
        ip6(S6, C6, TCP, segment(C6, S6, text(1440)), hops=63))
    return c


def df1_fragment():
    c = Case('46-df1-fragment', 'RFC 7915, 4.1: a fragment with DF=1 that is '
             'too large with its fragment header: the MTU that is told has '
             'room for that header, too; nothing is said about later '
             'fragments.', siit())
    whole = datagram(C4, S4, text(2992))
    packet = ip4(S4, C4, UDP, whole[:1480], id=1, df=1, mf=1)
    c.reply('too-big', packet, error4(3, 4, word(1472), packet))
    c.dropped('too-big', ip4(S4, C4, UDP, whole[1480:2960], id=1, df=1, mf=1,
                             offset=1480))
    return c


def small_mtu():
    c = Case('46-mtu', 'RFC 7915, 4.1: the MTU that is told is the IPv6 '
             'side\'s, less 20.', siit(mtu6=1280))
    packet = ip4(S4, C4, TCP, segment(C4, S4, text(1300)), ttl=64, df=1)
    c.reply('too-big', packet, error4(3, 4, word(1260), packet))
    return c


def udp_zero(mode):
    c = Case('46-udp-zero-' + mode, 'RFC 7915, 4.5: UDP checksum 0 with '
             'udp-zero-checksum=%s; a first fragment with 0 cannot be '
             'repaired.' % mode, siit(udp_zero_checksum=mode))
    whole = datagram(C4, S4, zero=True)
    packet = ip4(S4, C4, UDP, whole, ttl=64, df=1)
    first = ip4(S4, C4, UDP, whole[:24], ttl=64, id=1, mf=1)
    last = ip4(S4, C4, UDP, whole[24:], ttl=64, id=1, offset=24)
    if mode == 'drop':
        c.dropped('udp-csum-zero', packet)
    elif mode == 'compute':
        c.translated(packet,
                     ip6(S6, C6, UDP, datagram(C6, S6), hops=63))
    else:
        c.translated(packet, ip6(S6, C6, UDP, whole, hops=63))
    if mode == 'forward':
        c.translated(first, ip6(S6, C6, FRAGMENT,
                                frag6(UDP, whole[:24], more=1, id=1),
                                hops=63))
    else:
        c.dropped('udp-csum-zero', first)
    c.translated(last, ip6(S6, C6, FRAGMENT,
                           frag6(UDP, whole[24:], offset=24, id=1), hops=63))
    return c


def udp_length():
    c = Case('46-udp-length', 'RFC 768: a UDP datagram may be shorter than '
             'its packet: its checksum is computed over its own length; it '
             'may not be longer.', siit(udp_zero_checksum='compute'))
    more = b'trailing'
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4) + more, ttl=64),
        ip6(S6, C6, UDP, datagram(C6, S6) + more, hops=63))
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, zero=True) + more, ttl=64),
        ip6(S6, C6, UDP, datagram(C6, S6) + more, hops=63))
    for length in 0, 7, 49, 65535:
        c.dropped('bad-hdr', ip4(S4, C4, UDP, datagram(
            C4, S4, zero=True, length=length)))
    return c


def sums_zero():
    c = Case('46-sums-zero', 'RFC 1624: TCP and ICMP checksums of zero are '
             'written as 0, not as 0xffff, also when they are adjusted.',
             siit())

    def filler(make):
        """Data with which 'make' has a checksum of zero."""
        for n in range(0x10000):
            data = struct.pack('!H', n)
            if make(data):
                return data

    for near, far in (C6, S6), (C4, S4):
        data = filler(lambda data: segment(near, far, data)[16:18]
                      == b'\0\0')
        c.translated(
            ip4(S4, C4, TCP, segment(C4, S4, data), ttl=64),
            ip6(S6, C6, TCP, segment(C6, S6, data), hops=63))
    for data in (
            filler(lambda data: icmp4(8, 0, word(7), data)[2:4] == b'\0\0'),
            filler(lambda data: icmp6(S6, C6, 128, 0, word(7), data)[2:4]
                   == b'\0\0')):
        c.translated(
            ip4(S4, C4, ICMP, icmp4(8, 0, word(7), data), ttl=64),
            ip6(S6, C6, ICMP6, icmp6(S6, C6, 128, 0, word(7), data),
                hops=63))
    return c


def sums_wrong():
    c = Case('46-sums-wrong', 'A wrong checksum stays wrong, and by as much, '
             'so that the receiver still sees it.', siit())

    def damaged(data):
        return data[:-1] + bytes([data[-1] ^ 1])

    c.translated(
        ip4(S4, C4, TCP, damaged(segment(C4, S4)), ttl=64),
        ip6(S6, C6, TCP, damaged(segment(C6, S6)), hops=63))
    c.translated(
        ip4(S4, C4, UDP, damaged(datagram(C4, S4)), ttl=64),
        ip6(S6, C6, UDP, damaged(datagram(C6, S6)), hops=63))
    c.translated(
        ip4(S4, C4, ICMP, damaged(icmp4(8, 0, word(7), DATA)), ttl=64),
        ip6(S6, C6, ICMP6, damaged(icmp6(S6, C6, 128, 0, word(7), DATA)),
            hops=63))
    return c


def sums_of_others():
    c = Case('46-dccp-udp-lite', 'RFC 7915, 4.5: DCCP and UDP-Lite have '
             'checksums with a pseudo-header, too.', siit())
    for proto in DCCP, UDP_LITE:
        def message(src, dst):
            head = struct.pack('!HHHH', 53, 40000, 0, 0)
            sum = checksum(pseudo(src, dst, proto, 48) + head + DATA)
            return head[:6] + struct.pack('!H', sum) + DATA
        c.translated(
            ip4(S4, C4, proto, message(S4, C4), ttl=64),
            ip6(S6, C6, proto, message(S6, C6), hops=63))
    return c


def with_sum_ffff(src, dst):
    """A datagram whose checksum over 'src' and 'dst' computes to zero, so
    that it is sent as 0xffff."""
    for filler in range(0x10000):
        data = struct.pack('!H', filler)
        if udp(src, dst, 53, 40000, data)[6:8] == b'\xff\xff':
            return data


def udp_sum_ffff():
    c = Case('46-udp-sum-ffff', 'RFC 768: a UDP checksum that computes to '
             'zero is sent as 0xffff, also when it is adjusted.', siit())
    data = with_sum_ffff(S6, C6)
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, data), ttl=64, df=1),
        ip6(S6, C6, UDP, datagram(C6, S6, data), hops=63))
    data = with_sum_ffff(S4, C4)
    c.translated(
        ip4(S4, C4, UDP, datagram(C4, S4, data), ttl=64, df=1),
        ip6(S6, C6, UDP, datagram(C6, S6, data), hops=63))
    return c
