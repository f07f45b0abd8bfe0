#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""UDP datagrams of chosen sizes.

    udp.py echo PORT                answers each datagram with itself
    udp.py ask HOST PORT SIZE [no-checksum]
                                    sends one, wants it back within 3 s; three
                                    tries
    udp.py reversed SOURCE HOST PORT SIZE
                                    IPv4: one in fragments of 1000 bytes, the
                                    last first, wants it back
"""

import os
import socket
import struct
import sys

SO_NO_CHECK = 11


def echo(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", int(port)))
    while True:
        data, peer = s.recvfrom(65536)
        s.sendto(data, peer)


def expect(s, data):
    s.settimeout(3)
    if s.recv(65536) != data:
        sys.exit("the answer differs")
    print("%d bytes came back" % len(data))


def ask(host, port, size, *options):
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_DGRAM)[0]
    s = socket.socket(family, kind, proto)
    if "no-checksum" in options:
        s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    s.connect(address)
    data = os.urandom(int(size))
    for attempt in range(3):
        s.send(data)
        try:
            return expect(s, data)
        except socket.timeout:
            print("no answer")
    sys.exit(1)


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff or 0xffff


def reversed_fragments(source, host, port, size):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((source, 0))
    data = os.urandom(int(size))
    src, dst = socket.inet_aton(source), socket.inet_aton(host)
    length = 8 + len(data)
    head = struct.pack("!HHH", s.getsockname()[1], int(port), length)
    pseudo = src + dst + struct.pack("!HH", socket.IPPROTO_UDP, length)
    udp = (head + struct.pack("!H", checksum(pseudo + head + b"\0\0" + data))
           + data)
    ident = struct.unpack("!H", os.urandom(2))[0] or 1
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for offset in reversed(range(0, length, 1000)):
        part = udp[offset:offset + 1000]
        more = 0x2000 if offset + 1000 < length else 0
        raw.sendto(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(part),
                               ident, more | offset // 8, 64,
                               socket.IPPROTO_UDP, 0, src, dst) + part,
                   (host, 0))
    expect(s, data)


{"echo": echo, "ask": ask,
 "reversed": reversed_fragments}[sys.argv[1]](*sys.argv[2:])
