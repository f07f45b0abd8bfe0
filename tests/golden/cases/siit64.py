# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""IPv6 to IPv4, without ICMP: RFC 7915, 5.1."""

import ipaddress

from .case import C4, C6, S4, S6, Case, siit
from .siit46 import with_sum_ffff
from .wire import (AH, DEST, ESP, FRAGMENT, GRE, HOP_BY_HOP, ICMP, ICMP6,
                   IGMP, NONE, ROUTING, SCTP, TCP, UDP, ext6, frag6, icmp6,
                   ip4, ip6, routing6, tcp, text, udp, word)

DATA = text(40)


def segment(near, far, data=DATA):
    """A TCP segment between the usual ports, from 'near' to 'far'."""
    return tcp(near, far, 40000, 443, data)


def datagram(near, far, data=DATA, **fields):
    return udp(near, far, 40000, 53, data, **fields)


def error6(type, code, rest, packet):
    """An ICMPv6 error of the translator's about 'packet', from its
    destination to its source.  Traffic class, flow label and hop limit are
    the implementation's choice."""
    far = str(ipaddress.IPv6Address(packet[24:40]))
    near = str(ipaddress.IPv6Address(packet[8:24]))
    return ip6(far, near, ICMP6,
               icmp6(far, near, type, code, rest, packet[:1232]),
               any=('tc', 'flow', 'hops'))


def cases():
    yield header()
    yield df()
    yield tos_override()
    yield hop_limit()
    yield protocols()
    yield foreign_icmp()
    yield extension_headers()
    yield routing_header()
    yield t04()
    yield fragments()
    yield fragment_extension()
    yield later_fragment()
    yield error_behind_extension()
    yield past_the_end()
    yield too_big()
    yield small_mtu4()
    yield udp_sum_ffff()
    yield udp_zero()
    yield other_next_headers()


def header():
    c = Case('64-header', 'RFC 7915, 5.1: each field of a whole IPv6 packet: '
             'traffic class copied, flow label lost, total length, TTL = hop '
             'limit - 1, header checksum.', siit())
    for tc, flow, hops in (0, 0, 64), (0xb9, 0xfffff, 2), (0xff, 1, 255):
        c.translated(
            ip6(C6, S6, TCP, segment(C6, S6), hops=hops, tc=tc, flow=flow),
            ip4(C4, S4, TCP, segment(C4, S4), ttl=hops - 1, tos=tc,
                any=['id']))
    c.translated(
        ip6(C6, S6, UDP, datagram(C6, S6), hops=64),
        ip4(C4, S4, UDP, datagram(C4, S4), ttl=63, any=['id']))
    c.translated(
        ip6(C6, S6, UDP, datagram(C6, S6, b'odd'), hops=64),
        ip4(C4, S4, UDP, datagram(C4, S4, b'odd'), ttl=63, any=['id']))
    return c


def df():
    c = Case('64-df', 'RFC 7915, 5.1: results of at most 1260 bytes have '
             'DF=0, larger ones DF=1.', siit())
    for n, df in (1219, 0), (1220, 0), (1221, 1), (1440, 1):
        c.translated(
            ip6(C6, S6, TCP, segment(C6, S6, text(n)), hops=64),
            ip4(C4, S4, TCP, segment(C4, S4, text(n)), ttl=63, df=df,
                any=['id']))
    return c


def tos_override():
    c = Case('64-tos-override', 'RFC 7915, 5.1: the option to ignore the '
             'traffic class and set the TOS to a value.',
             siit(tos_override=16))
    for tc in 0, 0xb8:
        c.translated(
            ip6(C6, S6, TCP, segment(C6, S6), hops=64, tc=tc),
            ip4(C4, S4, TCP, segment(C4, S4), ttl=63, tos=16, any=['id']))
    return c


def hop_limit():
    c = Case('64-hop-limit', 'RFC 7915, 5.1: the hop limit is decremented; '
             'when it gets to zero: ICMPv6 3/0 about the packet as it came.',
             siit())
    packet = ip6(C6, S6, UDP, datagram(C6, S6), hops=1, tc=0x20, flow=5)
    c.reply('ttl', packet, error6(3, 0, word(0), packet))
    c.translated(
        ip6(C6, S6, UDP, datagram(C6, S6), hops=2),
        ip4(C4, S4, UDP, datagram(C4, S4), ttl=1, any=['id']))
    packet = ip6(C6, S6, UDP, datagram(C6, S6, text(1400)), hops=1)
    c.reply('ttl', packet, error6(3, 0, word(0), packet))
    return c


def protocols():
    c = Case('64-protocols', 'RFC 7915, 5.1: other protocols are copied, '
             'their payload untouched.', siit())
    for proto in SCTP, GRE, ESP, 253:
        c.translated(ip6(C6, S6, proto, DATA, hops=64),
                     ip4(C4, S4, proto, DATA, ttl=63, any=['id']))
    return c


def foreign_icmp():
    c = Case('64-foreign-icmp', 'RFC 7915, 5.2: ICMP and IGMP of IPv4 in IPv6 '
             'are dropped in silence, whole or in fragments.', siit())
    for proto in ICMP, IGMP:
        c.dropped('icmp-type', ip6(C6, S6, proto, bytes([5, 1]) + text(30)))
        c.dropped('icmp-type', ip6(C6, S6, FRAGMENT, frag6(
            proto, text(80), id=7, more=1)))
    return c


def extension_headers():
    c = Case('64-extension-headers', 'RFC 7915, 5.1: hop-by-hop and '
             'destination options, and routing headers without segments '
             'left, are skipped; the length is what remains.', siit())
    data = segment(C6, S6)
    long = b'\x01\x0c' + bytes(12)
    for first, chain in (
            (HOP_BY_HOP, ext6(TCP, data)),
            (DEST, ext6(TCP, data, body=long)),
            (ROUTING, routing6(TCP, data, 0, ['2001:db8::9'])),
            (HOP_BY_HOP, ext6(DEST, ext6(ROUTING, routing6(
                DEST, ext6(TCP, data), 0, ['2001:db8::9']))))):
        c.translated(
            ip6(C6, S6, first, chain, hops=64),
            ip4(C4, S4, TCP, segment(C4, S4), ttl=63, any=['id']))
    c.translated(
        ip6(C6, S6, HOP_BY_HOP, ext6(FRAGMENT, frag6(
            TCP, segment(C6, S6, text(44)), id=0x99990001, more=1)), hops=64),
        ip4(C4, S4, TCP, segment(C4, S4, text(44)), ttl=63, id=1, mf=1))
    return c


def routing_header():
    c = Case('64-routing-header', 'RFC 7915, 5.1: a routing header with '
             'segments left: ICMPv6 4/0 that points at that field.', siit())
    data = segment(C6, S6)
    packet = ip6(C6, S6, ROUTING, routing6(TCP, data, 1, ['2001:db8::9']),
                 hops=64)
    c.reply('routing-hdr', packet, error6(4, 0, word(40 + 3), packet))
    packet = ip6(C6, S6, HOP_BY_HOP, ext6(ROUTING, routing6(
        TCP, data, 2, ['2001:db8::9', '2001:db8::a'])), hops=64)
    c.reply('routing-hdr', packet, error6(4, 0, word(48 + 3), packet))
    return c


def t04():
    c = Case('t04-fragment-offset', 'T4; RFC 7915, 5.1.1: an IPv6 fragment '
             'at 16 bytes, identification 0x12345678, M=1: offset 2, 0x5678, '
             'MF=1, DF=0.', siit())
    c.translated(
        ip6(C6, S6, FRAGMENT,
            frag6(UDP, DATA, offset=16, more=1, id=0x12345678), hops=64),
        ip4(C4, S4, UDP, DATA, ttl=63, id=0x5678, df=0, mf=1, offset=16))
    return c


def fragments():
    c = Case('64-fragments', 'RFC 7915, 5.1.1: UDP of 3000 bytes in three '
             'fragments, in order and reversed; a first fragment that is '
             'also the last one; a fragment of 1400 bytes has DF=0, too.',
             siit())
    whole4 = datagram(C4, S4, text(2992))
    whole6 = datagram(C6, S6, text(2992))
    pieces = [(0, 1400, 1), (1400, 2800, 1), (2800, 3000, 0)]
    for order in pieces, pieces[::-1]:
        for start, end, more in order:
            c.translated(
                ip6(C6, S6, FRAGMENT,
                    frag6(UDP, whole6[start:end], offset=start, more=more,
                          id=0xaaaa0007), hops=64),
                ip4(C4, S4, UDP, whole4[start:end], ttl=63, id=7, mf=more,
                    offset=start))
    c.translated(
        ip6(C6, S6, FRAGMENT, frag6(UDP, datagram(C6, S6), id=0x10002),
            hops=64),
        ip4(C4, S4, UDP, datagram(C4, S4), ttl=63, id=2))
    return c


def fragment_extension():
    c = Case('64-fragment-extension', 'RFC 7915, 5.1.1: an extension header '
             'behind the fragment header, AH too but not ESP: dropped, with '
             'ICMPv6 1/1 (5.4).', siit())
    data = segment(C6, S6, text(36))
    packet = ip6(C6, S6, FRAGMENT, frag6(DEST, ext6(TCP, data), more=1,
                                         id=5), hops=64)
    c.reply('bad-ext-hdr', packet, error6(1, 1, word(0), packet))
    packet = ip6(C6, S6, FRAGMENT, frag6(AH, text(40), more=1, id=5),
                 hops=64)
    c.reply('ah', packet, error6(1, 1, word(0), packet))
    c.translated(
        ip6(C6, S6, FRAGMENT, frag6(ESP, text(40), more=1, id=5), hops=64),
        ip4(C4, S4, ESP, text(40), ttl=63, id=5, mf=1))
    return c


def later_fragment():
    c = Case('64-later-fragment-error', 'RFC 4443, 2.4 (e), 3.2 and 3.3: '
             'unlike in IPv4, a fragment that is not the first one is '
             'answered, unless it may be part of an ICMPv6 error.',
             siit(mtu4=1400))

    def later(next_header, data, hops=64):
        return ip6(C6, S6, FRAGMENT, frag6(next_header, data, offset=1448,
                                           more=1, id=7), hops=hops)

    packet = later(UDP, text(1440))
    c.reply('too-big', packet, error6(2, 0, word(1420), packet))
    packet = later(UDP, text(80), hops=1)
    c.reply('ttl', packet, error6(3, 0, word(0), packet))
    c.dropped('bad-ext-hdr', later(DEST, text(80)))
    c.dropped('icmp-fragment', later(ICMP6, text(80)))
    return c


def error_behind_extension():
    c = Case('64-no-error-behind-extension', 'RFC 4443, 2.4 (e.1): never an '
             'error about an ICMPv6 error, nor about one behind extension '
             'headers that are not translated.', siit())
    error = icmp6(C6, S6, 1, 0, word(0), text(40))
    ping = icmp6(C6, S6, 128, 0, word(0), text(40))
    for data in (ext6(ICMP6, error), ext6(DEST, ext6(ICMP6, error))):
        c.dropped('bad-ext-hdr', ip6(C6, S6, FRAGMENT,
                                     frag6(DEST, data, id=7)))
    packet = ip6(C6, S6, FRAGMENT, frag6(DEST, ext6(ICMP6, ping), id=7))
    c.reply('bad-ext-hdr', packet, error6(1, 1, word(0), packet))
    return c


def past_the_end():
    c = Case('64-fragment-past-end', 'RFC 791, 3.1: a fragment of an IPv4 '
             'datagram of more than 65535 bytes is not made.', siit())
    c.dropped('grown-past-max', ip6(
        C6, S6, FRAGMENT, frag6(UDP, text(7), offset=65528, id=7)))
    c.translated(
        ip6(C6, S6, FRAGMENT, frag6(UDP, text(11), offset=65504, id=7)),
        ip4(C4, S4, UDP, text(11), ttl=63, id=7, offset=65504))
    return c


def too_big():
    c = Case('64-too-big', 'RFC 7915, 5.1: too large for the IPv4 side: '
             'ICMPv6 2/0 with its MTU + 20.', siit(mtu4=1400))
    packet = ip6(C6, S6, TCP, segment(C6, S6, text(1400)), hops=64)
    c.reply('too-big', packet, error6(2, 0, word(1420), packet))
    c.translated(
        ip6(C6, S6, TCP, segment(C6, S6, text(1360)), hops=64),
        ip4(C4, S4, TCP, segment(C4, S4, text(1360)), ttl=63, df=1,
            any=['id']))
    packet = ip6(C6, S6, ICMP6, icmp6(C6, S6, 128, 0, word(7), text(1400)))
    c.reply('too-big', packet, error6(2, 0, word(1420), packet))
    packet = ip6(C6, S6, TCP, segment(C6, S6, text(1361)), hops=64)
    c.reply('too-big', packet, error6(2, 0, word(1420), packet))
    return c


def small_mtu4():
    c = Case('64-mtu4-below-1260', 'RFC 7915, 5.1: DF=0 results are '
             'fragmented on the IPv4 side where a link there is smaller '
             'than 1260.  (RFC 8200 lets no IPv6 host send less than 1280 '
             'for it.)', siit(mtu4=576))
    whole = datagram(C4, S4, text(992))
    sent = ip6(C6, S6, UDP, datagram(C6, S6, text(992)), hops=64)
    c.translated(
        sent,
        ip4(C4, S4, UDP, whole[:552], ttl=63, mf=1, any=['id']),
        ip4(C4, S4, UDP, whole[552:], ttl=63, offset=552, any=['id']),
        fragmented=True)
    c.translated(
        ip6(C6, S6, UDP, datagram(C6, S6, text(548)), hops=64),
        ip4(C4, S4, UDP, datagram(C4, S4, text(548)), ttl=63, any=['id']))
    return c


def udp_sum_ffff():
    c = Case('64-udp-sum-ffff', 'RFC 768: a UDP checksum that computes to '
             'zero is sent as 0xffff, also when it is adjusted.', siit())
    for far, near in (C4, S4), (C6, S6):
        data = with_sum_ffff(far, near)
        packet = (udp(C6, S6, 53, 40000, data), udp(C4, S4, 53, 40000, data))
        c.translated(ip6(C6, S6, UDP, packet[0], hops=64),
                     ip4(C4, S4, UDP, packet[1], ttl=63, any=['id']))
    return c


def udp_zero():
    c = Case('64-udp-zero', 'RFC 8200, 8.1: IPv6 UDP without a checksum is '
             'treated as IPv4 UDP without one.', siit())
    c.dropped('udp-csum-zero', ip6(C6, S6, UDP, datagram(C6, S6, zero=True)))
    return c


def other_next_headers():
    c = Case('64-mobility', 'RFC 7915, 5.1: other next headers are copied, '
             'the mobility header too, and "no next header".', siit())
    for proto, data in (135, text(24)), (NONE, b''):
        c.translated(ip6(C6, S6, proto, data, hops=64),
                     ip4(C4, S4, proto, data, ttl=63, any=['id']))
    return c
