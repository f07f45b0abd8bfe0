# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Packets that no honest host sends: nothing may come of them but a drop."""

import struct

from .case import C4, C6, R4, S4, S6, Case, siit
from .icmp64 import N6
from .siit64 import error6
from .wire import (DEST, FRAGMENT, GRE, HOP_BY_HOP, ICMP, ICMP6, ROUTING,
                   TCP, UDP, Packet, ext6, frag6, icmp4, icmp6, ip4, ip6,
                   tcp, text, udp, word)


def cases():
    yield icmp4_quotes()
    yield icmp6_quotes()
    yield ip4_lengths()
    yield ip6_lengths()
    yield ip6_headers()
    yield near_64k()
    yield jumbo_frame()
    yield short_transport()


def icmp4_quotes():
    c = Case('x1-icmp4-quotes', 'X1: ICMPv4 errors with nothing inside, half '
             'a header, another version, impossible lengths.', siit())
    whole = ip4(C4, S4, UDP, udp(C4, S4, 1, 2, text(20)))
    for quote in (b'', whole[:1], whole[:8], whole[:19],
                  ip6(C6, S6, UDP, text(20)), b'\x55' + whole[1:],
                  b'\x41' + whole[1:], b'\x4f' + whole[1:28],
                  bytes(28)):
        c.dropped('icmp-inner', ip4(R4, C4, ICMP, icmp4(
            3, 1, word(0), quote)))
    return c


def icmp6_quotes():
    c = Case('x1-icmp6-quotes', 'X1: ICMPv6 errors with nothing inside, half '
             'a header, another version, extension headers that do not end.',
             siit())
    whole = ip6(S6, C6, UDP, udp(S6, C6, 1, 2, text(20)))
    for quote in (b'', whole[:1], whole[:39],
                  ip4(S4, C4, UDP, text(40)), b'\x75' + whole[1:],
                  bytes(48)):
        c.dropped('icmp-inner', ip6(N6, S6, ICMP6, icmp6(
            N6, S6, 1, 0, word(0), quote)))
    return c


def ip4_lengths():
    c = Case('x3-ipv4-lengths', 'X3: IPv4 total length smaller than the '
             'header, larger than the frame; header lengths likewise.',
             siit())
    data = udp(S4, C4, 1, 2, text(20))
    for total in 0, 1, 19:
        c.dropped('bad-hdr', ip4(S4, C4, UDP, data, total=total))
    for total in 49, 60, 65535:
        c.dropped('truncated', ip4(S4, C4, UDP, data, total=total))
    for ihl in 0, 4:
        c.dropped('bad-hdr', ip4(S4, C4, UDP, data, ihl=ihl))
    c.dropped('truncated', ip4(S4, C4, UDP, data, ihl=15))
    for n in 1, 19:
        c.dropped('truncated', Packet(ip4(S4, C4, UDP, data)[:n]))
    c.dropped('bad-hdr', ip4(S4, C4, UDP, data, header_checksum=0x1234))
    return c


def ip6_lengths():
    c = Case('x3-ipv6-lengths', 'X3: IPv6 payload length larger than the '
             'frame; half a header.', siit())
    data = udp(C6, S6, 1, 2, text(20))
    for length in 29, 100, 65535:
        c.dropped('truncated', ip6(C6, S6, UDP, data, length=length))
    for n in 1, 39:
        c.dropped('truncated', Packet(ip6(C6, S6, UDP, data)[:n]))
    return c


def ip6_headers():
    c = Case('x2-ipv6-headers', 'X2: extension headers that are longer than '
             'the packet, or cut.', siit())
    data = udp(C6, S6, 1, 2, text(20))
    for first in HOP_BY_HOP, DEST, ROUTING:
        c.dropped('truncated', ip6(C6, S6, first, bytes([UDP, 255])
                                     + bytes(6) + data))
        c.dropped('truncated', ip6(C6, S6, first, bytes([UDP])))
        c.dropped('truncated', ip6(C6, S6, first, b''))
    c.dropped('truncated', ip6(C6, S6, FRAGMENT, bytes([UDP, 0, 0, 0])))
    return c


def near_64k():
    c = Case('x2-near-64k', 'X2, X4: packets and reassembly near 64 KiB: no '
             'length or offset wraps.', siit(mtu6=65535, mtu4=65535))
    data4 = tcp(S4, C4, 443, 40000, text(65455))
    data6 = tcp(S6, C6, 443, 40000, text(65455))
    c.translated(ip4(S4, C4, TCP, data4, ttl=64, df=1),
                 ip6(S6, C6, TCP, data6, hops=63))
    # The last possible fragment.
    c.translated(
        ip4(S4, C4, UDP, text(16), ttl=64, id=1, offset=65488),
        ip6(S6, C6, FRAGMENT, frag6(UDP, text(16), offset=65488, id=1),
            hops=63))
    # IPv6 can carry more than an IPv4 length can tell.
    packet = ip6(C6, S6, 253, text(65516), hops=64)
    c.reply('too-big', packet, error6(2, 0, word(65555), packet))
    return c


def jumbo_frame():
    c = Case('x4-jumbo-frame', 'X4: jumbo frames, both ways.',
             siit(mtu6=9000, mtu4=9000))
    c.translated(
        ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(8900)), ttl=64, df=1),
        ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000, text(8900)), hops=63))
    c.translated(
        ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(8900)), hops=64),
        ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(8900)), ttl=63, df=1,
            any=['id']))
    return c


def short_transport():
    c = Case('x3-short-transport', 'X3: packets too short for the header '
             'that they promise.', siit())
    for proto, n in (TCP, 0), (TCP, 19), (UDP, 0), (UDP, 7):
        c.dropped('truncated', ip4(S4, C4, proto, bytes(n)))
        c.dropped('truncated', ip6(C6, S6, proto, bytes(n)))
    for n in 0, 3:
        c.dropped('truncated', ip4(S4, C4, ICMP, bytes(n)))
        c.dropped('truncated', ip6(C6, S6, ICMP6, bytes(n)))
    return c
