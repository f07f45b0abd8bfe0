# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Packets from fields.

Every builder takes the fields that matter, has plain defaults for the rest,
and computes each length and checksum anew over the finished bytes, as the
RFCs define them: nothing here adjusts, and nothing here translates.
"""

import ipaddress
import struct

ICMP, IGMP, TCP, UDP = 1, 2, 6, 17
HOP_BY_HOP, ROUTING, FRAGMENT, ESP, AH, ICMP6, NONE, DEST = (
    0, 43, 44, 50, 51, 58, 59, 60)
DCCP, GRE, SCTP, UDP_LITE = 33, 47, 132, 136


class Packet(bytes):
    """Bytes, and which of them an implementation chooses freely.

    'any' lists (offset, length); a comparison skips these.
    """

    any = ()

    def __new__(cls, data, any=()):
        self = super().__new__(cls, data)
        self.any = tuple(any)
        return self

    def behind(self, header):
        """This packet with 'header' in front."""
        return Packet(header + self, [(offset + len(header), n)
                                      for offset, n in self.any])

    def loose(self, *spans):
        """This packet with 'spans' more that are not compared."""
        return Packet(self, self.any + spans)


def addr(text):
    return ipaddress.ip_address(text).packed


def ones_sum(data):
    """The one's complement sum of 16-bit words (RFC 1071)."""
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def checksum(data):
    return ones_sum(data) ^ 0xffff


def pseudo(src, dst, proto, length):
    """The pseudo-header of TCP, UDP and ICMPv6, by the addresses' family."""
    src, dst = addr(src), addr(dst)
    if len(src) == 4:
        return src + dst + struct.pack('!BBH', 0, proto, length)
    return src + dst + struct.pack('!IHBB', length, 0, 0, proto)


# Internet layer.

IP4_FREE = {'tos': [(1, 1), (10, 2)], 'id': [(4, 2), (10, 2)],
            'df': [(6, 1), (10, 2)], 'ttl': [(8, 1), (10, 2)],
            'src': [(10, 2), (12, 4)]}


def ip4(src, dst, proto, payload, ttl=64, tos=0, id=0, df=0, mf=0, offset=0,
        options=b'', total=None, ihl=None, header_checksum=None, any=()):
    """'offset' in bytes; 'any' names fields that are not compared."""
    assert len(options) % 4 == 0
    header_len = 20 + len(options)
    header = struct.pack(
        '!BBHHHBBH4s4s',
        0x40 | (header_len // 4 if ihl is None else ihl), tos,
        header_len + len(payload) if total is None else total,
        id, df << 14 | mf << 13 | offset // 8, ttl, proto, 0,
        addr(src), addr(dst)) + options
    if header_checksum is None:
        header_checksum = checksum(header)
    header = header[:10] + struct.pack('!H', header_checksum) + header[12:]
    free = sorted({span for name in any for span in IP4_FREE[name]})
    return Packet(header + payload, free)


IP6_FREE = {'tc': [(0, 2)], 'flow': [(1, 3)], 'hops': [(7, 1)]}


def ip6(src, dst, next_header, payload, hops=64, tc=0, flow=0, length=None,
        any=()):
    header = struct.pack(
        '!IHBB16s16s', 6 << 28 | tc << 20 | flow,
        len(payload) if length is None else length, next_header, hops,
        addr(src), addr(dst))
    free = [span for name in any for span in IP6_FREE[name]]
    return Packet(header + payload, free)


def frag6(next_header, payload, offset=0, more=0, id=0):
    """A fragment header (RFC 8200, 4.5) and what it carries."""
    return struct.pack('!BBHI', next_header, 0, offset | more,
                       id) + payload


def ext6(next_header, payload, body=b'\x01\x04\0\0\0\0'):
    """A hop-by-hop or destination options header; PadN by default."""
    assert (2 + len(body)) % 8 == 0
    return struct.pack('!BB', next_header,
                       (2 + len(body)) // 8 - 1) + body + payload


def routing6(next_header, payload, segments_left, hops=(), type=0):
    """A routing header with the addresses 'hops'."""
    return struct.pack('!BBBBI', next_header, 2 * len(hops), type,
                       segments_left, 0) + b''.join(map(addr, hops)) + payload


# Transport layer: complete, so that it may be cut or split afterwards.

def tcp(src, dst, sport, dport, data=b'', seq=1000, ack=1, flags=0x10,
        window=64240, options=b''):
    assert len(options) % 4 == 0
    header = struct.pack('!HHIIBBHHH', sport, dport, seq, ack,
                         (20 + len(options)) << 2, flags, window, 0,
                         0) + options
    sum = checksum(pseudo(src, dst, TCP, len(header + data)) + header + data)
    return header[:16] + struct.pack('!H', sum) + header[18:] + data


def udp(src, dst, sport, dport, data=b'', zero=False, length=None):
    """'zero' leaves the checksum out."""
    if length is None:
        length = 8 + len(data)
    header = struct.pack('!HHHH', sport, dport, length, 0)
    sum = checksum(pseudo(src, dst, UDP, length) + header + data) or 0xffff
    return header[:6] + struct.pack('!H', 0 if zero else sum) + data


def icmp4(type, code, rest=b'\0\0\0\0', data=b''):
    """'rest' is the second word: identifier and number, MTU, pointer..."""
    message = struct.pack('!BBH4s', type, code, 0, rest) + data
    return message[:2] + struct.pack('!H', checksum(message)) + message[4:]


def icmp6(src, dst, type, code, rest=b'\0\0\0\0', data=b''):
    message = struct.pack('!BBH4s', type, code, 0, rest) + data
    sum = checksum(pseudo(src, dst, ICMP6, len(message)) + message)
    return message[:2] + struct.pack('!H', sum) + message[4:]


def echo(id=0x1234, number=1):
    """The second word of an echo message."""
    return struct.pack('!HH', id, number)


def word(value):
    """A second word that is one number: ICMPv4's MTU, ICMPv6's MTU or
    pointer."""
    return struct.pack('!I', value)


def pointer4(value):
    """The second word of an ICMPv4 parameter problem."""
    return bytes([value, 0, 0, 0])


def extension4884(data=bytes.fromhex('0008010100064101')):
    """An extension structure (RFC 4884, 7), by default of one MPLS label."""
    header = struct.pack('!BBH', 0x20, 0, 0)
    sum = checksum(header + data)
    return struct.pack('!BBH', 0x20, 0, sum) + data


def text(n, start=0):
    """'n' bytes of payload that differ from their neighbours."""
    return bytes((start + i * 7) & 0xff for i in range(n))
