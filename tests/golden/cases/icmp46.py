# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""ICMPv4 to ICMPv6: RFC 7915, 4.2 to 4.4."""

from .case import C4, C6, R4, R6, S4, S6, Case, siit
from .siit46 import error4
from .wire import (FRAGMENT, GRE, ICMP, ICMP6, IGMP, TCP, UDP, addr, echo,
                   extension4884, frag6, icmp4, icmp6, ip4, ip6, ones_sum,
                   pointer4, tcp, text, udp, word)

# The packets that errors are about: what C6 sent to S6, as the router R4 saw
# it (with TTL 61), and as C6 is to see it.
QUOTE4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(32)), ttl=61, id=3,
             df=1)
QUOTE6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(32)), hops=61)


def from_router4(type, code, rest=word(0), quote=QUOTE4, ttl=64, **fields):
    return ip4(R4, C4, ICMP, icmp4(type, code, rest, quote), ttl=ttl,
               **fields)


def from_router6(type, code, rest=word(0), quote=QUOTE6, hops=63):
    return ip6(R6, C6, ICMP6, icmp6(R6, C6, type, code, rest, quote),
               hops=hops)


def cases():
    yield echoes()
    yield no_counterpart()
    yield unreachable()
    yield mtu()
    yield time_exceeded()
    yield parameter_problem()
    yield fragments()
    yield t07()
    yield too_big()
    yield t01()
    yield t02()
    yield t08()
    yield t11()
    yield t13()
    yield quotes()
    yield quoted_fragments()
    yield quoted_error()
    yield extensions()
    yield extension_limit()
    yield extension_types()
    yield big_error()
    yield illegal_source()
    yield no_error_about_error()
    yield rate_limit()
    yield rate_zero()


def echoes():
    c = Case('46-icmp-echo', 'RFC 7915, 4.2: echo request and reply, '
             'identifier and sequence number kept, checksum with a '
             'pseudo-header.', siit())
    for type4, type6 in (8, 128), (0, 129):
        for data in b'', text(56), text(55):
            c.translated(
                ip4(S4, C4, ICMP, icmp4(type4, 0, echo(0xabcd, 7), data),
                    ttl=64, df=1),
                ip6(S6, C6, ICMP6,
                    icmp6(S6, C6, type6, 0, echo(0xabcd, 7), data), hops=63))
    return c


def no_counterpart():
    c = Case('46-icmp-dropped', 'RFC 7915, 4.2: redirect, quench, router '
             'messages, timestamp, information and mask messages, unknown '
             'types and IGMP are dropped in silence.', siit())
    for type in 4, 5:
        c.dropped('icmp-type', from_router4(type, 0))
    for type in (1, 2, 6, 9, 10, 13, 14, 15, 16, 17, 18, 30, 40, 255):
        c.dropped('icmp-type', ip4(S4, C4, ICMP, icmp4(
            type, 0, echo(), text(16)), df=1))
    c.dropped('icmp-type', ip4(S4, C4, IGMP, icmp4(0x16, 0), df=1))
    return c


def unreachable():
    c = Case('46-icmp-unreachable', 'RFC 7915, 4.2: type 3, code by code; '
             '14 and unknown codes are dropped.', siit())
    for code4, code6 in ((0, 0), (1, 0), (3, 4), (5, 0), (6, 0), (7, 0),
                         (8, 0), (9, 1), (10, 1), (11, 0), (12, 0), (13, 1),
                         (15, 1)):
        c.translated(from_router4(3, code4), from_router6(1, code6))
    c.translated(from_router4(3, 2), from_router6(4, 1, word(6)))
    c.dropped('icmp-type', from_router4(3, 14))
    c.dropped('icmp-type', from_router4(3, 16))
    return c


def mtu():
    c = Case('46-icmp-mtu', 'RFC 7915, 4.2: 3/4 gives 2/0; MTU = '
             'max(1280, min(advertised + 20, MTU of the IPv6 side, MTU of '
             'the IPv4 side + 20)); without one, the next plateau below the '
             'total length of the packet inside (RFC 1191, 7.1).',
             siit(mtu6=1500, mtu4=1400))
    for mtu4, mtu6 in ((1300, 1320), (1390, 1410), (1400, 1420),
                       (1480, 1420), (9000, 1420), (65535, 1420),
                       (1261, 1281), (1260, 1280), (1259, 1280), (576, 1280),
                       (68, 1280), (1, 1280)):
        c.translated(from_router4(3, 4, word(mtu4)),
                     from_router6(2, 0, word(mtu6)))
    # Plateaus: 1492 + 20 is more than both sides have, 1006 + 20 less than
    # IPv6 may have.
    for total, mtu6 in (1500, 1420), (1492, 1280), (4000, 1420), (600, 1280):
        c.translated(
            from_router4(3, 4, word(0), ip4(
                C4, S4, TCP, tcp(C4, S4, 40000, 443)[:8], ttl=61, df=1,
                total=total)),
            from_router6(2, 0, word(mtu6), ip6(
                C6, S6, TCP, tcp(C6, S6, 40000, 443)[:8], hops=61,
                length=total - 20)))
    return c


def time_exceeded():
    c = Case('46-icmp-time-exceeded', 'T9; RFC 7915, 4.2: 11 gives 3, the '
             'code kept; the source is the IPv4 router\'s own.', siit())
    for code in 0, 1:
        c.translated(from_router4(11, code), from_router6(3, code))
    c.translated(
        ip4('203.0.113.2', C4, ICMP, icmp4(11, 0, word(0), QUOTE4), ttl=64),
        ip6('2001:db8:64::cb00:7102', C6, ICMP6,
            icmp6('2001:db8:64::cb00:7102', C6, 3, 0, word(0), QUOTE6),
            hops=63))
    return c


def parameter_problem():
    c = Case('46-icmp-parameter', 'RFC 7915, 4.2 and figure 3: type 12 codes '
             '0 and 2 give 4/0, the pointer is translated; others are '
             'dropped.', siit())
    pointers = {0: 0, 1: 1, 2: 4, 3: 4, 8: 7, 9: 6, 12: 8, 13: 8, 14: 8,
                15: 8, 16: 24, 17: 24, 18: 24, 19: 24}
    for code in 0, 2:
        for pointer in range(22):
            packet = from_router4(12, code, pointer4(pointer))
            if pointer in pointers:
                c.translated(packet, from_router6(
                    4, 0, word(pointers[pointer])))
            else:
                c.dropped('param-pointer', packet)
    c.dropped('icmp-type', from_router4(12, 1))
    c.dropped('icmp-type', from_router4(12, 3))
    return c


def fragments():
    c = Case('t05-icmp-fragments', 'T5, T7; RFC 7915, 1.2: fragmented ICMP '
             'is not translated: both fragments are dropped alike.', siit())
    whole = icmp4(8, 0, echo(), text(1992))
    c.dropped('icmp-fragment', ip4(S4, C4, ICMP, whole[:1480], id=1, mf=1))
    c.dropped('icmp-fragment', ip4(S4, C4, ICMP, whole[1480:], id=1,
                                   offset=1480))
    whole = icmp6(C6, S6, 128, 0, echo(), text(1992))
    c.dropped('icmp-fragment', ip6(C6, S6, FRAGMENT, frag6(
        ICMP6, whole[:1440], more=1, id=1)))
    c.dropped('icmp-fragment', ip6(C6, S6, FRAGMENT, frag6(
        ICMP6, whole[1440:], offset=1440, id=1)))
    whole = icmp4(0, 0, echo(), text(1472))
    c.dropped('icmp-fragment', ip4(S4, C4, ICMP, whole[:1400], id=1, mf=1))
    c.dropped('icmp-fragment', ip4(S4, C4, ICMP, whole[1400:], id=1,
                                   offset=1400))
    return c


def t07():
    c = Case('t07-icmp-reply-1500', 'T7; RFC 7915, 4.1: a whole ICMP reply '
             'of 1500 bytes with DF=0, IPv6 MTU 1420: fragments within '
             'lowest-ipv6-mtu.', siit(mtu6=1420))
    whole = icmp6(S6, C6, 129, 0, echo(), text(1472))
    c.translated(
        ip4(S4, C4, ICMP, icmp4(0, 0, echo(), text(1472)), ttl=64, id=0x33),
        ip6(S6, C6, FRAGMENT, frag6(ICMP6, whole[:1232], more=1, id=0x33),
            hops=63),
        ip6(S6, C6, FRAGMENT, frag6(ICMP6, whole[1232:], offset=1232,
                                    id=0x33), hops=63),
        fragmented=True)
    return c


def too_big():
    c = Case('46-icmp-too-big', 'RFC 7915, 4.1, RFC 1191: an echo that is '
             'too large with DF=1 is answered 3/4; path MTU discovery by '
             'ping.', siit(mtu6=1400))
    packet = ip4(S4, C4, ICMP, icmp4(8, 0, echo(), text(1400)), df=1)
    c.reply('too-big', packet, error4(3, 4, word(1380), packet))
    return c


def t01():
    c = Case('t01-unreachable-echo', 'T1; RFC 7915, 4.2 and 4.3: 3/1 that '
             'quotes the echo of an IPv6 client: 1/0 that quotes 128/0.',
             siit())
    c.translated(
        from_router4(3, 1, quote=ip4(
            C4, S4, ICMP, icmp4(8, 0, echo(), text(56)), ttl=62)),
        from_router6(1, 0, quote=ip6(
            C6, S6, ICMP6, icmp6(C6, S6, 128, 0, echo(), text(56)),
            hops=62)))
    return c


def t02():
    c = Case('t02-quote-of-8-bytes', 'T2; RFC 7915, 4.3: 3/4 that quotes a '
             'translated TCP segment, cut behind 8 bytes of it.',
             siit(mtu4=1500, mtu6=1500))
    c.translated(
        from_router4(3, 4, word(1400), ip4(
            C4, S4, TCP, tcp(C4, S4, 40000, 443)[:8], ttl=61, df=1,
            total=1500)),
        from_router6(2, 0, word(1420), ip6(
            C6, S6, TCP, tcp(C6, S6, 40000, 443)[:8], hops=61,
            length=1480)))
    return c


def t08():
    given = bytes.fromhex(
        '4500006c000000003d017f6ecb007101c00002210b00143300110000450005c80000'
        '40003c064cd4c0000221c63364079c4001bb000003e8000000015010faf002e50000'
        + '5a' * 28 + '20009def0008010100064101')
    segment = bytes.fromhex('9c4001bb000003e8000000015010faf0')
    c = Case('t08-extension-17-words', 'T8; RFC 7915, 4.2, RFC 4884: 11/0 '
             'with a length of 17 words (of 4 bytes): the quote is padded to '
             'the 128 bytes that RFC 4884 demands, 16 words (of 8 bytes), '
             'the extension kept.', siit())
    # The TCP checksum 02e5, adjusted for the other pseudo-header: it is not
    # valid over this cut quote, so it is given by its sum.
    quote = ip6(C6, S6, TCP, segment + adjusted(0x02e5, C4, S4, C6, S6)
                + bytes(2) + b'\x5a' * 28, hops=60, length=0x5c8 - 20)
    assert len(quote) == 88
    packet = ip4(R4, C4, ICMP, given[20:], ttl=61)
    assert packet == given
    c.translated(packet, from_router6(
        3, 0, bytes([16, 0, 0, 0]), quote + bytes(40) + given[-12:],
        hops=60))
    return c


def adjusted(sum, src, dst, new_src, new_dst):
    """The two bytes of checksum 'sum' when the addresses change."""
    old = ones_sum(addr(src) + addr(dst))
    new = ones_sum(addr(new_src) + addr(new_dst))
    total = (sum ^ 0xffff) + (old ^ 0xffff) + new
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    return (total ^ 0xffff).to_bytes(2, 'big')


def t11():
    c = Case('t11-pointer-8', 'T11; RFC 7915, 4.2: ICMPv4 12/0, pointer 8 '
             '(TTL): ICMPv6 4/0, pointer 7 (hop limit).', siit())
    c.translated(from_router4(12, 0, pointer4(8)),
                 from_router6(4, 0, word(7)))
    return c


def t13():
    given = bytes.fromhex(
        '4500003c0000000040017c9ecb007101c00002210303285500000000450000200000'
        '00003c119271c0000221c63364070fa00035000c000061626364')
    c = Case('t13-quoted-udp-zero', 'T13; RFC 7915, 4.3: a quoted UDP '
             'datagram without checksum is translated, and still has none.',
             siit())
    packet = ip4(R4, C4, ICMP, given[20:], ttl=64)
    c.translated(packet, from_router6(1, 4, quote=ip6(
        C6, S6, UDP, udp(C6, S6, 4000, 53, b'abcd', zero=True), hops=60)))
    return c


def quotes():
    c = Case('46-icmp-quotes', 'RFC 7915, 4.3: the packet inside is '
             'translated like any other, but for its TTL; it may be cut '
             'anywhere, its IPv4 header checksum may be wrong, and '
             'extension-less trailing bytes stay.', siit())
    udp4 = ip4(C4, S4, UDP, udp(C4, S4, 40000, 53, text(40)), ttl=1, tos=8)
    udp6 = ip6(C6, S6, UDP, udp(C6, S6, 40000, 53, text(40)), hops=1, tc=8)
    # Cut behind the IP header; amid the ports; before and behind the
    # checksum; amid the data; whole.
    for n in 0, 2, 6, 8, 9, 20, 48:
        c.translated(from_router4(3, 3, quote=udp4[:20 + n]),
                     from_router6(1, 4, quote=udp6[:40 + n]))
    for n in 0, 8, 16, 18, 20, 52:
        c.translated(from_router4(3, 3, quote=QUOTE4[:20 + n]),
                     from_router6(1, 4, quote=QUOTE6[:40 + n]))
    # TTL 0 inside is normal: it is why the router complained.
    c.translated(
        from_router4(11, 0, quote=ip4(
            C4, S4, UDP, udp(C4, S4, 40000, 53, b''), ttl=0)),
        from_router6(3, 0, quote=ip6(
            C6, S6, UDP, udp(C6, S6, 40000, 53, b''), hops=0)))
    c.translated(
        from_router4(3, 3, quote=ip4(
            C4, S4, UDP, udp(C4, S4, 40000, 53, b''), header_checksum=1)),
        from_router6(1, 4, quote=ip6(
            C6, S6, UDP, udp(C6, S6, 40000, 53, b''))))
    # Options inside go; an unknown protocol stays.
    c.translated(
        from_router4(3, 3, quote=ip4(
            C4, S4, UDP, udp(C4, S4, 40000, 53, b'x'),
            options=bytes([1, 1, 1, 0]))),
        from_router6(1, 4, quote=ip6(
            C6, S6, UDP, udp(C6, S6, 40000, 53, b'x'))))
    c.translated(
        from_router4(3, 2, quote=ip4(C4, S4, GRE, text(24))),
        from_router6(4, 1, word(6), quote=ip6(C6, S6, GRE, text(24))))
    return c


def quoted_fragments():
    c = Case('46-icmp-quoted-fragments', 'RFC 7915, 4.3: a quoted fragment '
             'gets a fragment header; only at offset 0 is there a transport '
             'header to adjust.', siit())
    whole4 = udp(C4, S4, 40000, 53, text(1600))
    whole6 = udp(C6, S6, 40000, 53, text(1600))
    c.translated(
        from_router4(11, 1, quote=ip4(
            C4, S4, UDP, whole4[:64], ttl=61, id=0x77, mf=1)),
        from_router6(3, 1, quote=ip6(
            C6, S6, FRAGMENT, frag6(UDP, whole6[:64], more=1, id=0x77),
            hops=61)))
    c.translated(
        from_router4(11, 0, quote=ip4(
            C4, S4, UDP, whole4[800:864], ttl=61, id=0x77, offset=800)),
        from_router6(3, 0, quote=ip6(
            C6, S6, FRAGMENT, frag6(UDP, whole6[800:864], offset=800,
                                    id=0x77), hops=61)))
    return c


def quoted_error():
    c = Case('46-icmp-quoted-error', 'RFC 7915, 4.3: one level only: an '
             'error about an error is dropped.', siit())
    inner = ip4(C4, S4, ICMP, icmp4(3, 3, word(0), ip4(
        S4, C4, UDP, udp(S4, C4, 53, 40000, b''))))
    c.dropped('icmp-inner', from_router4(3, 1, quote=inner))
    return c


def extensions():
    c = Case('46-icmp-extensions', 'RFC 7915, 4.2, RFC 4884: the length of '
             'the quote is told in 8-byte words, the quote padded to one.',
             siit())
    whole4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(200)), ttl=61,
                 df=1)
    whole6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(200)), hops=61)
    for n in 128, 132:
        pad = bytes(-(n + 20) % 8)
        c.translated(
            from_router4(11, 0, bytes([0, n // 4, 0, 0]),
                         whole4[:n] + extension4884()),
            from_router6(3, 0, bytes([(n + 20 + 7) // 8, 0, 0, 0]),
                         whole6[:n + 20] + pad + extension4884()))
    return c


def extension_limit():
    c = Case('46-icmp-extension-limit', 'RFC 7915, 4.2, RFC 4884, 5: in a '
             'message of 1280 bytes the quote gives way to extensions, but '
             'for its first 128 bytes; then objects at the end do, and the '
             'checksum is of those that stay.', siit())
    whole4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(1000)), ttl=61,
                 df=1)
    whole6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(1000)), hops=61)
    small = bytes.fromhex('01e0f701') + text(476)
    large = bytes.fromhex('01f4f701') + text(496)
    c.translated(
        from_router4(11, 0, bytes([0, 800 // 4, 0, 0]),
                     whole4[:800] + extension4884(small)),
        from_router6(3, 0, bytes([744 // 8, 0, 0, 0]),
                     whole6[:744] + extension4884(small)))
    c.translated(
        from_router4(11, 0, bytes([0, 128 // 4, 0, 0]),
                     whole4[:128] + extension4884(large * 3)),
        from_router6(3, 0, bytes([128 // 8, 0, 0, 0]),
                     whole6[:128] + extension4884(large * 2)))
    return c


def extension_types():
    c = Case('46-icmp-extension-types', 'RFC 4884, 4: only ICMPv6 types 1 '
             'and 3 have extensions: those of ICMPv4 3/4 and 12 are removed. '
             'A quote may be padded; a length that is not there, or too '
             'long, means that there are none.', siit())
    whole4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(200)), ttl=61,
                 df=1)
    whole6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(200)), hops=61)
    with_extension4 = whole4[:128] + extension4884()
    with_extension6 = whole6[:148] + bytes(4) + extension4884()
    c.translated(
        from_router4(3, 4, bytes([0, 32]) + word(1400)[2:], with_extension4),
        from_router6(2, 0, word(1420), whole6[:148]))
    c.translated(
        from_router4(12, 0, bytes([8, 32, 0, 0]), with_extension4),
        from_router6(4, 0, word(7), whole6[:148]))
    c.translated(
        from_router4(3, 1, bytes([0, 32, 0, 0]), with_extension4),
        from_router6(1, 0, bytes([19, 0, 0, 0]), with_extension6))
    c.translated(
        from_router4(3, 1, word(0), with_extension4),
        from_router6(1, 0, word(0), whole6[:148] + extension4884()))
    c.translated(
        from_router4(3, 1, bytes([0, 200, 0, 0]), whole4[:128]),
        from_router6(1, 0, word(0), whole6[:148]))
    short4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(20)), df=1)
    short6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(20)))
    c.translated(
        from_router4(3, 1, bytes([0, 32, 0, 0]),
                     short4 + bytes(68) + extension4884()),
        from_router6(1, 0, bytes([16, 0, 0, 0]),
                     short6 + bytes(48) + extension4884()))
    return c


def big_error():
    c = Case('46-icmp-big-error', 'RFC 4443, 2.4 (c): an ICMPv6 error is '
             'never larger than 1280 bytes: the quote is cut.', siit())
    whole4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(1432)), df=1)
    whole6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(1432)))
    for n, df in (1232, 0), (1233, 0), (1400, 1), (1472, 0):
        c.translated(
            from_router4(3, 1, quote=whole4[:n - 20], df=df),
            from_router6(1, 0, quote=whole6[:min(n, 1280 - 48)]))
    return c


def illegal_source():
    c = Case('46-icmp-illegal-source', 'RFC 7915, 4.1: the source of an '
             'ICMP error is translated even if it is illegal.', siit())
    c.translated(
        ip4('127.0.0.1', C4, ICMP, icmp4(11, 0, word(0), QUOTE4)),
        ip6('2001:db8:64::7f00:1', C6, ICMP6, icmp6(
            '2001:db8:64::7f00:1', C6, 3, 0, word(0), QUOTE6), hops=63))
    return c


def no_error_about_error():
    c = Case('46-no-error-about-icmp', 'RFC 7915, 4.4: nothing is said about '
             'an ICMP error, and nothing by the translator about a fragment '
             'other than the first (RFC 1812, 4.3.2.7).', siit())
    c.dropped('ttl', from_router4(3, 3, ttl=1))
    c.dropped('ttl', ip4(S4, C4, UDP, text(40), ttl=1, id=4, offset=64))
    return c


def rate_limit():
    c = Case('46-icmp-error-rate', 'RFC 7915, 4.4: errors are made at a '
             'limited rate: here 2 a second, 3 at once; the clock is the '
             'time stamps.',
             siit(icmp_error_rate=2, icmp_error_burst=3))
    packet = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(8)), ttl=1, df=1)
    error = error4(11, 0, word(0), packet)
    c.at(100, 0)
    for _ in range(3):
        c.reply('ttl', packet, error)
    for _ in range(4):
        c.dropped('ttl', packet, limited=True)
    c.at(100, 900000)
    c.reply('ttl', packet, error)
    c.dropped('ttl', packet, limited=True)
    # Full again, and never fuller.
    c.at(200, 0)
    for _ in range(3):
        c.reply('ttl', packet, error)
    c.dropped('ttl', packet, limited=True)
    # A clock that goes backward stands still.
    c.at(150, 0)
    c.dropped('ttl', packet, limited=True)
    return c


def rate_zero():
    c = Case('46-icmp-error-off', 'RFC 7915, 4.4: errors can be switched '
             'off.', siit(icmp_error_rate=0))
    packet = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(8)), ttl=1, df=1)
    c.dropped('ttl', packet, limited=True)
    return c
