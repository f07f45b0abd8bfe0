# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Stateful translation from IPv4 to IPv4: RFC 4787, 5382, 5508.

What both kinds of zones have in common is shown by nat64.py.  Nothing of a
packet changes but addresses, ports and TTL, and the checksums of these."""

from .case import Case, ethernet
from .nat64 import ACK, FIN, SYN
from .wire import (GRE, ICMP, TCP, UDP, echo, extension4884, icmp4, ip4, ip6,
                   tcp, text, udp, word)

DATA = text(25)
H, J = '10.0.0.5', '100.64.0.6'      # Inside, ...
P = '192.0.2.254'                    # the pool's address, ...
S, T = '198.51.100.7', '198.51.100.8'
R = '203.0.113.1'                    # a router outside.
INNER = '10.9.9.9'                   # ... and one inside.


def zone(ports, pool=P, **other_config):
    return {'zones': [{'zone': 1, 'kind': 'nat44',
                       'pool4': [pool + ':' + ports if ports else pool],
                       'other_config': {key.replace('_', '-'): str(value)
                                        for key, value
                                        in other_config.items()}}],
            'zone': 1}


def udp_out(port, outside, dport=53, host=H, far=S, zero=False, data=DATA,
            pool=P, **fields):
    """A datagram from inside, as it comes and as it goes on."""
    fields = dict({'tos': 0x28, 'id': 0x1234}, **fields)
    return (ip4(host, far, UDP, udp(host, far, port, dport, data, zero),
                ttl=64, **fields),
            ip4(pool, far, UDP, udp(pool, far, outside, dport, data, zero),
                ttl=63, **fields))


def udp_in(outside, port, sport=53, host=H, far=S, zero=False, data=DATA,
           pool=P, **fields):
    fields = dict({'tos': 0xb8, 'id': 0x4321, 'df': 1}, **fields)
    return (ip4(far, pool, UDP, udp(far, pool, sport, outside, data, zero),
                ttl=60, **fields),
            ip4(far, host, UDP, udp(far, host, sport, port, data, zero),
                ttl=59, **fields))


def tcp_out(flags, data=b''):
    return (ip4(H, S, TCP, tcp(H, S, 4000, 80, data, flags=flags), df=1),
            ip4(P, S, TCP, tcp(P, S, 5000, 80, data, flags=flags), df=1,
                ttl=63))


def tcp_in(flags, data=b''):
    return (ip4(S, P, TCP, tcp(S, P, 80, 5000, data, flags=flags), df=1),
            ip4(S, H, TCP, tcp(S, H, 80, 4000, data, flags=flags), df=1,
                ttl=63))


def error(type, code, packet, rest=word(0)):
    """An ICMP error of the translator's about 'packet', to its source."""
    near = '.'.join(map(str, packet[12:16]))
    return ip4(P, near, ICMP, icmp4(type, code, rest, packet[:548]),
               any=('tos', 'id', 'df', 'ttl'))


def no_binding(c, packet):
    c.reply('no-binding', packet, error(3, 1, packet))


def cases():
    yield udp_session()
    yield udp_zero()
    yield tcp_session()
    yield ping()
    yield ttl()
    yield too_big()
    yield fragmented()
    yield options()
    yield options_fragmented()
    yield source_route()
    yield fragments()
    yield icmp_fragments()
    yield errors_in()
    yield errors_out()
    yield error_extensions()
    yield error_sizes()
    yield hairpin()
    yield used_up()
    yield refused()
    yield inside4()
    yield other_family()
    yield tenants()
    yield log()


def udp_session():
    c = Case('44-udp', 'RFC 4787: a binding and a session of UDP; TOS, '
             'identification and DF stay; answers come back to whoever has '
             'the port; nothing comes in when its time is over.',
             zone('5001-5001'))
    no_binding(c, udp_in(5001, 4001)[0])
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_in(5001, 4001))
    c.translated(*udp_out(4001, 5001, far=T, dport=99, df=1, id=0, tos=0))
    c.translated(*udp_in(5001, 4001, far=T, sport=7))
    no_binding(c, udp_in(5002, 0)[0])
    c.at(300)
    c.translated(*udp_in(5001, 4001))
    c.at(602)
    no_binding(c, udp_in(5001, 4001)[0])
    c.translated(*udp_out(4003, 5001, host=J))
    return c


def udp_zero():
    c = Case('44-udp-zero', 'A UDP checksum of zero, which IPv4 allows, stays '
             'zero in either direction, whatever udp-zero-checksum says; one '
             'that comes to zero is sent as 0xffff.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001, zero=True))
    c.translated(*udp_in(5001, 4001, zero=True))
    fold = int.from_bytes(udp(P, S, 5001, 53, b'\0\0')[6:8], 'big')
    data = fold.to_bytes(2, 'big')
    assert udp(P, S, 5001, 53, data)[6:8] == b'\xff\xff'
    c.translated(*udp_out(4001, 5001, data=data))
    return c


def tcp_session():
    c = Case('44-tcp', 'RFC 5382: a connection of TCP; with both FINs it '
             'ends after 240 seconds.', zone('5000-5000'))
    packet = tcp_out(ACK)[0]
    c.dropped('no-session', packet)
    for flags, data in (SYN, b''), (ACK, b''), (ACK, DATA):
        c.translated(*tcp_out(flags, data))
        c.translated(*tcp_in(ACK | flags, data))
    c.at(7400)
    c.translated(*tcp_in(ACK, DATA))
    c.translated(*tcp_in(FIN | ACK))
    c.translated(*tcp_out(FIN | ACK))
    c.translated(*tcp_in(ACK))
    c.at(7642)
    no_binding(c, tcp_in(ACK)[0])
    return c


def ping():
    c = Case('44-icmp', 'RFC 5508, REQ-1 and REQ-2: echo and its reply; the '
             'identifier is translated; it ends after 60 seconds.',
             zone('700-700'))
    reply = ip4(S, P, ICMP, icmp4(0, 0, echo(700), DATA), ttl=9, id=5)
    c.translated(ip4(H, S, ICMP, icmp4(8, 0, echo(7), DATA), id=4, df=1),
                 ip4(P, S, ICMP, icmp4(8, 0, echo(700), DATA), id=4, df=1,
                     ttl=63))
    c.translated(reply, ip4(S, H, ICMP, icmp4(0, 0, echo(7), DATA), ttl=8,
                            id=5))
    c.dropped('icmp-type', ip4(H, S, ICMP, icmp4(13, 0, echo(7), bytes(12))))
    c.at(62)
    no_binding(c, reply)
    return c


def ttl():
    c = Case('44-ttl', 'RFC 1812, 5.3.1: a packet without hops left is '
             'answered from the pool by 11/0, and makes no binding.',
             zone('5001-5001'))
    for hops in 0, 1:
        packet = ip4(H, S, UDP, udp(H, S, 4001, 53, DATA), ttl=hops)
        c.reply('ttl', packet, error(11, 0, packet))
    packet = udp_in(5001, 4001)[0]
    no_binding(c, packet)
    c.translated(*udp_out(4001, 5001))
    packet = ip4(S, P, UDP, udp(S, P, 53, 5001, DATA), ttl=1)
    c.reply('ttl', packet, error(11, 0, packet))
    return c


def too_big():
    c = Case('44-too-big', 'RFC 1191: a packet with DF that is larger than '
             'mtu4 is answered by 3/4 with that MTU, in either direction; as '
             'large is not larger.', zone('5001-5001', mtu4=1400))
    fits, larger = text(1372), text(1373)
    c.translated(*udp_out(4001, 5001, data=fits, df=1))
    c.translated(*udp_in(5001, 4001, data=fits))
    for packet in (udp_out(4001, 5001, data=larger, df=1)[0],
                   udp_in(5001, 4001, data=larger)[0]):
        c.reply('too-big', packet, error(3, 4, packet, word(1400)))
    return c


def cut(packet, sizes):
    """'packet' without options in fragments; of all but the last, 'sizes' are
    the bytes of payload."""
    first = int.from_bytes(packet[6:8], 'big')
    offset, last = (first & 0x1fff) * 8, not first & 0x2000
    payload, at = packet[20:], 0
    for size in *sizes, len(payload) - sum(sizes):
        end = at + size
        yield ip4('.'.join(map(str, packet[12:16])),
                  '.'.join(map(str, packet[16:20])), packet[9],
                  payload[at:end], ttl=packet[8], tos=packet[1],
                  id=int.from_bytes(packet[4:6], 'big'), offset=offset + at,
                  mf=int(not last or end < len(payload)))
        at = end


def fragmented():
    c = Case('44-fragmented', 'RFC 791: without DF it is cut into fragments, '
             'and so is a fragment that is too large, all with its '
             'identification.', zone('5001-5001', mtu4=1400))
    data = text(3000)
    for packet, result in (udp_out(4001, 5001, data=data),
                           udp_in(5001, 4001, data=data, df=0)):
        c.translated(packet, *cut(result, [1376, 1376]), fragmented=True)
    packet, result = udp_out(4001, 5001, data=data)
    first, second = cut(packet, [1600])
    first4, second4 = cut(result, [1600])
    c.translated(first, *cut(first4, [1376]), fragmented=True)
    c.translated(second, *cut(second4, [1376]), fragmented=True)
    return c


# Options (RFC 791, 3.1): router alert, which is copied into fragments, and
# record route, which is not.
ALERT = bytes([148, 4, 0, 0])
RECORD = bytes([7, 7, 4, 0, 0, 0, 0])
OPTIONS = RECORD + bytes([1]) + ALERT


def options():
    c = Case('44-options', 'IPv4 options stay as they are.',
             zone('5001-5001'))
    c.translated(*udp_out(4001, 5001, options=OPTIONS))
    c.translated(*udp_in(5001, 4001, options=OPTIONS))
    c.translated(*udp_in(5001, 4001, options=ALERT + bytes(4)))
    return c


def options_fragmented():
    c = Case('44-options-fragmented', 'RFC 791, 3.1: options that are not to '
             'be copied are in the first fragment only; here, no-operations '
             'take their place.', zone('5001-5001', mtu4=532))
    data = text(900)
    packet, result = udp_out(4001, 5001, data=data, options=OPTIONS)
    payload = result[32:]
    fields = dict(ttl=63, tos=0x28, id=0x1234)
    c.translated(packet,
                 ip4(P, S, UDP, payload[:496], mf=1, options=OPTIONS,
                     **fields),
                 ip4(P, S, UDP, payload[496:], offset=496,
                     options=bytes([1] * 8) + ALERT, **fields),
                 fragmented=True)
    return c


def source_route():
    c = Case('44-source-route', 'RFC 1812, 4.2.2.1: a source route that has '
             'not ended is answered by 3/5; one that has, stays.',
             zone('5001-5001'))
    route = bytes([131, 7, 4]) + bytes([203, 0, 113, 9]) + b'\0'
    packet = udp_out(4001, 5001, options=route)[0]
    c.reply('source-route', packet, error(3, 5, packet))
    c.translated(*udp_out(4001, 5001, options=route[:2] + b'\x08'
                          + route[3:]))
    return c


def fragments():
    c = Case('44-fragments', 'RFC 4787, REQ-14: fragments behind the first '
             'belong to its session, either way.', zone('5001-5001'))
    for packet, result in (udp_out(4001, 5001, data=text(200)),
                           udp_in(5001, 4001, data=text(200), df=0),
                           udp_out(4001, 5001, data=text(200), zero=True)):
        for part, result in zip(cut(packet, [48, 96]),
                                cut(result, [48, 96])):
            c.translated(part, result)
    return c


def icmp_fragments():
    c = Case('44-icmp-fragments', 'A fragmented echo and its reply, which '
             'nothing prevents where both sides have the same ICMP.',
             zone('700-700'))
    ways = ((H, S, P, S, 8, 7, 700), (S, P, S, H, 0, 700, 7))
    for a, b, to_a, to_b, type, id_in, id_out in ways:
        packet = ip4(a, b, ICMP, icmp4(type, 0, echo(id_in), text(200)), id=9)
        result = ip4(to_a, to_b, ICMP,
                     icmp4(type, 0, echo(id_out), text(200)), id=9, ttl=63)
        for part, result in zip(cut(packet, [48]), cut(result, [48])):
            c.translated(part, result)
    return c


def from_router(type, code, quote, quote_out, rest=word(0), near=H):
    """An error from outside about a packet from inside, and as it goes on.
    Its identification and DF are the implementation's choice."""
    return (ip4(R, P, ICMP, icmp4(type, code, rest, quote), ttl=60),
            ip4(R, near, ICMP, icmp4(type, code, rest, quote_out), ttl=59,
                any=('id', 'df')))


def quoted(near, port, ttl, **fields):
    """A datagram from 'near' as a router has seen it."""
    return ip4(near, S, UDP, udp(near, S, port, 53, DATA), ttl=ttl, **fields)


def errors_in():
    c = Case('44-icmp-error-in', 'RFC 5508, REQ-3 and REQ-4: an error about a '
             'packet of a session reaches its host, with that packet as it '
             'was, cut behind 8 bytes or not; 3/4 keeps its MTU; no error '
             'keeps a session alive.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    c.at(299)
    for type, code, rest in ((3, 3, word(0)), (3, 4, word(1280)),
                             (11, 0, word(0)), (12, 0, word(9 << 24)),
                             (3, 13, word(0))):
        for size in None, 28:
            c.translated(*from_router(type, code,
                                      quoted(P, 5001, 3)[:size],
                                      quoted(H, 4001, 3)[:size], rest))
    c.translated(*from_router(
        3, 3, quoted(P, 5001, 3, options=OPTIONS)[:40],
        quoted(H, 4001, 3, options=OPTIONS)[:40]))
    c.dropped('icmp-inner', from_router(3, 3, quoted(P, 5002, 3), b'')[0])
    c.dropped('icmp-inner', from_router(3, 3, quoted(P, 5001, 3)[:23],
                                        b'')[0])
    c.dropped('icmp-inner', from_router(
        3, 3, ip4(T, S, UDP, udp(T, S, 5001, 53, DATA)), b'')[0])
    c.at(303)
    c.dropped('icmp-inner', from_router(3, 3, quoted(P, 5001, 3), b'')[0])
    return c


def errors_out():
    c = Case('44-icmp-error-out', 'RFC 5508, REQ-5: an error of a host or '
             'router inside about a packet of a session leaves from the '
             'outside address; one about none, or to another, does not.',
             zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    for size in None, 28:
        quote = udp_in(5001, 4001)[1][:size]
        quote_out = ip4(S, P, UDP, udp(S, P, 53, 5001, DATA), ttl=59,
                        tos=0xb8, id=0x4321, df=1)[:size]
        for source in H, INNER:
            c.translated(
                ip4(source, S, ICMP, icmp4(3, 3, word(0), quote)),
                ip4(P, S, ICMP, icmp4(3, 3, word(0), quote_out), ttl=63,
                    any=('id', 'df')))
    c.dropped('icmp-inner', ip4(H, S, ICMP, icmp4(
        3, 3, word(0), udp_in(5001, 4002)[1])))
    return c


def error_extensions():
    c = Case('44-icmp-extensions', 'RFC 4884: extensions behind the quote of '
             '11/0 and 3/1, and the length of the quote, stay; a quote that '
             'does not end on a word is padded.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    for type, code in (11, 0), (3, 1):
        quotes = [ip4(a, S, UDP, udp(a, S, port, 53, text(120)), ttl=1)
                  for a, port in ((P, 5001), (H, 4001))]
        for size, words in (128, 32), (132, 33), (148, 37):
            c.translated(*from_router(
                type, code, *(quote[:size] + bytes(words * 4 - len(
                    quote[:size])) + extension4884() for quote in quotes),
                rest=bytes([0, words, 0, 0])))
        short = [quoted(a, port, 1) for a, port in ((P, 5001), (H, 4001))]
        c.translated(*from_router(
            type, code, *(quote + bytes(128 - len(quote)) + extension4884()
                          for quote in short), rest=bytes([0, 32, 0, 0])))
    return c


def error_sizes():
    c = Case('44-icmp-error-sizes', 'An error with a quote of a whole large '
             'packet passes up to mtu4, and is cut there.',
             zone('5001-5001', mtu4=1400))
    c.translated(*udp_out(4001, 5001))
    whole, whole_out = (ip4(a, S, UDP, udp(a, S, port, 53, text(1400)), ttl=1)
                        for a, port in ((P, 5001), (H, 4001)))
    for n, n_out in (1372, 1372), (1373, 1372):
        c.translated(*from_router(3, 1, whole[:n], whole_out[:n_out]))
    return c


def hairpin():
    c = Case('44-hairpin', 'RFC 4787, REQ-9: a host inside reaches another by '
             'its outside address and port, from its own outside address and '
             'port, in one hop; in silence if there is none.',
             zone('5001-5002'))
    c.translated(*udp_out(4001, 5001))
    c.translated(
        ip4(J, P, UDP, udp(J, P, 4002, 5001, DATA), id=3),
        ip4(P, H, UDP, udp(P, H, 5002, 4001, DATA), id=3, ttl=63))
    c.translated(
        ip4(H, P, UDP, udp(H, P, 4001, 5002, DATA), df=1),
        ip4(P, J, UDP, udp(P, J, 5001, 4002, DATA), df=1, ttl=63))
    c.dropped('no-binding', ip4(J, P, UDP, udp(J, P, 4002, 5003, DATA)))
    packet = ip4(J, P, UDP, udp(J, P, 4002, 5001, DATA), ttl=1)
    c.reply('ttl', packet, error(11, 0, packet))
    return c


def used_up():
    c = Case('44-used-up', 'RFC 6888, REQ-8: without a free port, or room for '
             'a session, 3/1; who is there goes on.',
             zone('5001-5002', max_sessions=3))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_out(4002, 5002))
    packet = udp_out(4003, 0)[0]
    c.reply('no-port', packet, error(3, 1, packet))
    c.translated(*udp_in(5002, 4002))
    c.translated(*udp_out(4001, 5001, far=T))
    packet = udp_out(4002, 0, far=T)[0]
    c.reply('table-full', packet, error(3, 1, packet))
    c.translated(*udp_out(4002, 5002))
    return c


def refused():
    c = Case('44-refused', 'Other protocols: 3/2; special addresses, in '
             'silence; addresses that are not ours.', zone(''))
    for packet in ip4(H, S, GRE, DATA), ip4(S, P, GRE, DATA):
        c.reply('proto', packet, error(3, 2, packet))
    for far in '0.1.2.3', '127.0.0.1', '224.0.0.1', '255.255.255.255':
        c.dropped('no-mapping', ip4(H, far, UDP, udp(H, far, 1, 2, DATA)))
        c.dropped('bad-source', ip4(far, P, UDP, udp(far, P, 1, 2, DATA)))
    c.dropped('no-mapping', ip4(S, T, UDP, udp(S, T, 1, 2, DATA)))
    c.dropped('no-mapping', ip4(S, H, UDP, udp(S, H, 1, 2, DATA)))
    return c


def inside4():
    c = Case('44-inside4', 'inside4 says who is inside: here a subnet of '
             'public addresses, and not private ones.',
             zone('5001-5001', inside4='203.0.113.0/25,203.0.113.200/32'))
    c.translated(*udp_out(4001, 5001, host='203.0.113.127'))
    c.translated(*udp_in(5001, 4001, host='203.0.113.127'))
    packet = udp_out(4001, 0, host='203.0.113.200')[0]
    c.reply('no-port', packet, error(3, 1, packet))
    for host in H, '203.0.113.128':
        c.dropped('no-mapping', udp_out(4001, 0, host=host)[0])
    return c


def other_family():
    c = Case('44-ipv6', 'IPv6 has no place in a nat44 zone: it is without a '
             'mapping, and goes on if that is wanted.',
             zone('', miss='pass'))
    packet = ip6('2001:db8::1', '2001:db8::2', UDP,
                 udp('2001:db8::1', '2001:db8::2', 1, 2, DATA))
    c.passed(packet)
    return c


def tagged(vid):
    def frame(packet, turned=False):
        return ethernet(packet, turned, bytes([0x81, 0, 0x60, vid]))
    return frame


def tenants():
    c = Case('44-tenants', 'Equal addresses and ports of two tenants, here '
             'VLANs, are different hosts: each has a port of its own, and '
             'what comes back goes to the right one, errors too; hairpins go '
             'from one to the other.',
             zone('5001-5002'), options='--tenant vlan')

    def between(a, b):
        c.frame, c.frame_out = tagged(a), tagged(b)

    between(7, 7)
    c.translated(*udp_out(4001, 5001))
    between(8, 8)
    c.translated(*udp_out(4001, 5002))
    for vid, outside in (7, 5001), (8, 5002):
        between(99, vid)
        c.translated(*udp_in(outside, 4001))
        c.translated(*udp_in(outside, 4001, far=T))
        c.translated(*from_router(3, 3, quoted(P, outside, 3),
                                  quoted(H, 4001, 3)))
    between(7, 8)
    c.translated(
        ip4(H, P, UDP, udp(H, P, 4001, 5002, DATA)),
        ip4(P, H, UDP, udp(P, H, 5001, 4001, DATA), ttl=63))
    between(9, 9)
    packet = udp_out(4001, 0)[0]
    c.reply('no-port', packet, error(3, 1, packet))
    return c


def session(event, port, outside, proto='udp', host=H):
    """What the session log says of a session or a binding."""
    return '%s proto=%s inside=%s:%d outside=%s:%d tenant=0' % (
        event, proto, host, port, P, outside)


def log():
    c = Case('6888-log', 'RFC 6888, REQ-12: the session log has when sessions '
             'and bindings begin and end, and no destination; that no port is '
             'left, once a second.', zone('5001-5001', log='sessions',
                                          port_reuse_delay=0))
    c.translated(*udp_out(4001, 5001))
    c.logged(session('binding-add', 4001, 5001))
    c.logged(session('session-add', 4001, 5001))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_out(4001, 5001, far=T))
    c.logged(session('session-add', 4001, 5001))
    c.at(2)
    c.translated(*udp_in(5001, 4001, far=R))
    c.logged(session('session-add', 4001, 5001))
    packet = udp_out(4002, 0)[0]
    c.reply('no-port', packet, error(3, 1, packet))
    c.logged('no-port proto=udp inside=%s:4002 tenant=0' % H)
    c.reply('no-port', packet, error(3, 1, packet))
    c.at(4)
    packet = udp_out(4003, 0, host=J)[0]
    c.reply('no-port', packet, error(3, 1, packet))
    c.logged('no-port proto=udp inside=%s:4003 tenant=0' % J)
    c.at(1000, 700000)
    c.translated(*udp_out(4009, 5001, host=J))
    for i in range(3):
        c.logged(session('session-delete', 4001, 5001))
    c.logged(session('binding-delete', 4001, 5001))
    c.logged(session('binding-add', 4009, 5001, host=J))
    c.logged(session('session-add', 4009, 5001, host=J))
    return c
