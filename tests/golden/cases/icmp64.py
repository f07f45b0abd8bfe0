# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""ICMPv6 to ICMPv4: RFC 7915, 5.2 to 5.4."""

from .case import C4, C6, S4, S6, Case, siit
from .siit64 import error6
from .wire import (FRAGMENT, GRE, HOP_BY_HOP, ICMP, ICMP6, TCP, UDP, Packet,
                   echo, ext6, extension4884, frag6, icmp4, icmp6, ip4, ip6,
                   pointer4, tcp, text, udp, word)

# An IPv6 router with an explicit mapping.
N4, N6 = '192.0.2.254', '2001:db8:1::fe'

# The packets that errors are about: what S4 sent to C4, as the router N6 saw
# it (with hop limit 61), and as S4 is to see it.
QUOTE6 = ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000, text(32)), hops=61, flow=5)
QUOTE4 = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(32)), ttl=61,
             any=['id'])


def from_router6(type, code, rest=word(0), quote=QUOTE6, hops=64, src=N6):
    return ip6(src, S6, ICMP6, icmp6(src, S6, type, code, rest, quote),
               hops=hops)


def from_router4(type, code, rest=word(0), quote=QUOTE4, ttl=63, src=N4,
                 **fields):
    """The quote's header checksum makes up for its identification, so that
    the ICMP checksum does not depend on it."""
    outer = ip4(src, S4, ICMP, icmp4(type, code, rest, quote), ttl=ttl,
                any=['id'], **fields)
    return Packet(outer, outer.any + quote.behind(bytes(28)).any)


def cases():
    yield echoes()
    yield no_counterpart()
    yield unreachable()
    yield mtu()
    yield time_exceeded()
    yield parameter_problem()
    yield quotes()
    yield quoted_fragments()
    yield quoted_error()
    yield extensions()
    yield router_from_pool4()
    yield router_from_source()
    yield router_without_mapping()
    yield no_error_about_error()
    yield rate_limit()


def echoes():
    c = Case('64-icmp-echo', 'RFC 7915, 5.2: echo request and reply, '
             'identifier and sequence number kept, checksum without a '
             'pseudo-header.', siit())
    for type6, type4 in (128, 8), (129, 0):
        for data in b'', text(56), text(55):
            c.translated(
                ip6(C6, S6, ICMP6,
                    icmp6(C6, S6, type6, 0, echo(0xabcd, 7), data), hops=64),
                ip4(C4, S4, ICMP, icmp4(type4, 0, echo(0xabcd, 7), data),
                    ttl=63, any=['id']))
    return c


def no_counterpart():
    c = Case('64-icmp-dropped', 'RFC 7915, 5.2: multicast listener and '
             'neighbour discovery messages, and unknown types, informational '
             'or not, are dropped in silence.', siit())
    for type in (130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141,
                 143, 160, 200, 255):
        c.dropped('icmp-type', ip6(C6, S6, ICMP6, icmp6(
            C6, S6, type, 0, echo(), text(16)), hops=255))
    for type in 5, 100, 127:
        c.dropped('icmp-type', from_router6(type, 0))
    return c


def unreachable():
    c = Case('64-icmp-unreachable', 'RFC 7915, 5.2: type 1, code by code; '
             'unknown codes are dropped.', siit())
    for code6, code4 in (0, 1), (1, 10), (2, 1), (3, 1), (4, 3):
        c.translated(from_router6(1, code6), from_router4(3, code4))
    for code in 5, 6, 7:
        c.dropped('icmp-type', from_router6(1, code))
    return c


def mtu():
    c = Case('64-icmp-mtu', 'RFC 7915, 5.2: 2/0 gives 3/4; MTU = '
             'min(advertised - 20, MTU of the IPv4 side, MTU of the IPv6 '
             'side - 20), which neither wraps nor falls below 68.',
             siit(mtu6=1480, mtu4=1500))
    for mtu6, mtu4 in ((1400, 1380), (1280, 1260), (1480, 1460),
                       (1500, 1460), (9000, 1460), (0xffffffff, 1460),
                       (0x10000 + 100, 1460), (500, 480), (88, 68), (87, 68),
                       (20, 68), (19, 68), (0, 68)):
        c.translated(from_router6(2, 0, word(mtu6)),
                     from_router4(3, 4, word(mtu4)))
    return c


def time_exceeded():
    c = Case('64-icmp-time-exceeded', 'RFC 7915, 5.2: 3 gives 11, the code '
             'kept.', siit())
    for code in 0, 1:
        c.translated(from_router6(3, code), from_router4(11, code))
    return c


def parameter_problem():
    c = Case('64-icmp-parameter', 'RFC 7915, 5.2 and figure 6: 4/0 gives '
             '12/0, the pointer is translated; 4/1 gives 3/2; 4/2 is '
             'dropped.', siit())
    pointers = {0: 0, 1: 1, 4: 2, 5: 2, 6: 9, 7: 8}
    pointers.update({pointer: 12 for pointer in range(8, 24)})
    pointers.update({pointer: 16 for pointer in range(24, 40)})
    for pointer in list(range(42)) + [256, 0x01000000, 0xffffffff]:
        packet = from_router6(4, 0, word(pointer))
        if pointer in pointers:
            c.translated(packet, from_router4(
                12, 0, pointer4(pointers[pointer])))
        else:
            c.dropped('param-pointer', packet)
    c.translated(from_router6(4, 1, word(6)), from_router4(3, 2))
    c.translated(from_router6(4, 1, word(40)), from_router4(3, 2))
    c.dropped('icmp-type', from_router6(4, 2))
    c.dropped('icmp-type', from_router6(4, 3))
    return c


def quotes():
    c = Case('64-icmp-quotes', 'RFC 7915, 5.3: the packet inside is '
             'translated like any other, but for its hop limit; it may be '
             'cut anywhere.', siit())
    udp6 = ip6(S6, C6, UDP, udp(S6, C6, 53, 40000, text(40)), hops=1, tc=8)
    udp4 = ip4(S4, C4, UDP, udp(S4, C4, 53, 40000, text(40)), ttl=1, tos=8,
               any=['id'])
    for n in 0, 2, 6, 8, 9, 20, 48:
        c.translated(
            from_router6(1, 4, quote=udp6[:40 + n]),
            from_router4(3, 3, quote=Packet(udp4[:20 + n], udp4.any)))
    for n in 0, 8, 16, 18, 20, 52:
        c.translated(
            from_router6(1, 4, quote=QUOTE6[:40 + n]),
            from_router4(3, 3, quote=Packet(QUOTE4[:20 + n], QUOTE4.any)))
    # A quoted echo reply; an unknown protocol; extension headers.
    c.translated(
        from_router6(1, 0, quote=ip6(S6, C6, ICMP6, icmp6(
            S6, C6, 129, 0, echo(), text(16)), hops=3)),
        from_router4(3, 1, quote=ip4(S4, C4, ICMP, icmp4(
            0, 0, echo(), text(16)), ttl=3, any=['id'])))
    c.translated(
        from_router6(4, 1, word(6), quote=ip6(S6, C6, GRE, text(24))),
        from_router4(3, 2, quote=ip4(S4, C4, GRE, text(24), any=['id'])))
    c.translated(
        from_router6(1, 4, quote=ip6(S6, C6, HOP_BY_HOP, ext6(
            UDP, udp(S6, C6, 53, 40000, b'x')))),
        from_router4(3, 3, quote=ip4(
            S4, C4, UDP, udp(S4, C4, 53, 40000, b'x'), any=['id'])))
    # A quoted packet of 1500 bytes was sent with DF=1.
    c.translated(
        from_router6(2, 0, word(1400), quote=ip6(
            S6, C6, TCP, tcp(S6, C6, 443, 40000)[:8], length=1460)),
        from_router4(3, 4, word(1380), quote=ip4(
            S4, C4, TCP, tcp(S4, C4, 443, 40000)[:8], total=1480, df=1,
            any=['id'])))
    return c


def quoted_fragments():
    c = Case('64-icmp-quoted-fragments', 'RFC 7915, 5.3: the quote of a '
             'fragment loses the fragment header; only at offset 0 is there '
             'a transport header to adjust.', siit())
    whole6 = udp(S6, C6, 53, 40000, text(1600))
    whole4 = udp(S4, C4, 53, 40000, text(1600))
    c.translated(
        from_router6(3, 1, quote=ip6(S6, C6, FRAGMENT, frag6(
            UDP, whole6[:64], more=1, id=0x12345678), hops=61)),
        from_router4(11, 1, quote=ip4(
            S4, C4, UDP, whole4[:64], ttl=61, id=0x5678, mf=1)))
    c.translated(
        from_router6(3, 0, quote=ip6(S6, C6, FRAGMENT, frag6(
            UDP, whole6[800:864], offset=800, id=0x12345678), hops=61)),
        from_router4(11, 0, quote=ip4(
            S4, C4, UDP, whole4[800:864], ttl=61, id=0x5678, offset=800)))
    return c


def quoted_error():
    c = Case('64-icmp-quoted-error', 'RFC 7915, 5.3: one level only: an '
             'error about an error is dropped.', siit())
    inner = ip6(S6, C6, ICMP6, icmp6(S6, C6, 1, 4, word(0), ip6(
        C6, S6, UDP, udp(C6, S6, 40000, 53, b''))))
    c.dropped('icmp-inner', from_router6(1, 0, quote=inner))
    return c


def extensions():
    c = Case('64-icmp-extensions', 'RFC 7915, 5.2, RFC 4884: the length of '
             'the quote is told in 4-byte words; it is padded to 128 bytes.',
             siit())
    whole6 = ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000, text(200)), hops=61)
    whole4 = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(200)), ttl=61,
                 any=['id'])
    for n in 128, 144, 152, 160:
        pad = bytes(max(0, 128 - (n - 20)))
        c.translated(
            from_router6(3, 0, bytes([n // 8, 0, 0, 0]),
                         whole6[:n] + extension4884()),
            from_router4(11, 0, bytes([0, (n - 20 + len(pad)) // 4, 0, 0]),
                         Packet(whole4[:n - 20] + pad + extension4884(),
                                whole4.any)))
    return c


def router_from_pool4():
    c = Case('64-icmp-router-pool4', 'RFC 7915, 5.1, RFC 6791: a router '
             'without a mapping gets an address of pool4.',
             siit(pool4=['203.0.113.200/32']))
    c.translated(from_router6(3, 0, src='2001:db8:ffff::1'),
                 from_router4(11, 0, src='203.0.113.200'))
    # One with a mapping keeps its own.
    c.translated(from_router6(3, 0), from_router4(11, 0))
    # Only errors do so.
    c.dropped('no-mapping', ip6('2001:db8:ffff::1', S6, ICMP6, icmp6(
        '2001:db8:ffff::1', S6, 128, 0, echo())))
    return c


def router_from_source():
    c = Case('64-icmp-router-source', 'RFC 7915, 5.1: without a pool4, a '
             'router without a mapping gets icmp-source4.',
             siit(icmp_source4='203.0.113.77'))
    c.translated(from_router6(3, 0, src='2001:db8:ffff::1'),
                 from_router4(11, 0, src='203.0.113.77'))
    return c


def router_without_mapping():
    c = Case('64-icmp-router-none', 'RFC 7915, 5.1: an error from a router '
             'that no address can be found for is dropped.', siit())
    c.dropped('no-mapping', from_router6(3, 0, src='2001:db8:ffff::1'))
    return c


def no_error_about_error():
    c = Case('64-no-error-about-icmp', 'RFC 7915, 5.4, RFC 4443, 2.4: '
             'nothing is said about an ICMP error.', siit())
    c.dropped('ttl', from_router6(1, 4, hops=1))
    return c


def rate_limit():
    c = Case('64-icmp-error-rate', 'RFC 7915, 5.4: errors are made at a '
             'limited rate.', siit(icmp_error_rate=1, icmp_error_burst=1))
    packet = ip6(C6, S6, UDP, udp(C6, S6, 40000, 53, text(8)), hops=1)
    error = error6(3, 0, word(0), packet)
    c.at(7)
    c.reply('ttl', packet, error)
    c.dropped('ttl', packet, limited=True)
    c.at(9)
    c.reply('ttl', packet, error)
    c.dropped('ttl', packet, limited=True)
    return c
