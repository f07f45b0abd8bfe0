# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
"""Frames for the benches, with valid checksums, and captures of them."""

import functools
import ipaddress
import struct

MACS = bytes.fromhex("020000000000020000000001")


def dst_mac(last):
    """The destination address of frames whose generator was told 'last'."""
    return "02:00:00:00:00:%02x" % last


def groups(value):
    """A 64-bit value as four groups of 16 bits."""
    return ":".join("%x" % (value >> shift & 0xffff)
                    for shift in (48, 32, 16, 0))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp(pseudo, sport, dport, payload):
    length = 8 + len(payload)
    head = struct.pack("!HHH", sport, dport, length)
    csum = checksum(pseudo + struct.pack("!HBBH", 0, 0, 17, length) + head
                    + b"\0\0" + payload) or 0xffff
    return head + struct.pack("!H", csum) + payload


@functools.cache
def packed6(text):
    return ipaddress.IPv6Address(text).packed


def udp6(src, dst, sport, dport, payload=b"\0" * 2):
    addrs = packed6(src) + packed6(dst)
    l4 = udp(addrs, sport, dport, payload)
    return (MACS + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(l4), 17, 64)
            + addrs + l4)


def udp4(src, dst, sport, dport, payload=b"\0" * 18):
    addrs = (ipaddress.IPv4Address(src).packed
             + ipaddress.IPv4Address(dst).packed)
    l4 = udp(addrs, sport, dport, payload)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(l4), 1, 0x4000, 64, 17,
                       0)
    csum = checksum(head + addrs)
    return (MACS + b"\x08\x00" + head[:10] + struct.pack("!H", csum) + addrs
            + l4)


def write_pcap(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for k, p in enumerate(packets):
            f.write(struct.pack("<IIII", 0, k, len(p), len(p)) + p)
