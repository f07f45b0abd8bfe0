#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""TCP for the system tests.

tcp.py echo PORT: answers each connection with what comes by it.
tcp.py idle ADDRESS PORT SECONDS: connects, says nothing for so long, then
    sends something and prints "answered" when it has come back.
tcp.py hold ADDRESS PORT FILE [SOURCE-PORT]: the same, but until there is FILE.
tcp.py connect ADDRESS PORT: prints what became of an attempt to connect, and
    the seconds that it took.
"""

import errno
import os
import socket
import sys
import threading
import time


def echo(port):
    with socket.create_server(('', int(port)), family=socket.AF_INET6,
                              dualstack_ipv6=True) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection,),
                             daemon=True).start()


def answer(connection):
    while data := connection.recv(1024):
        connection.sendall(data)


def idle(address, port, seconds):
    with socket.create_connection((address, int(port)), 10) as connection:
        print('connected', flush=True)
        time.sleep(float(seconds))
        connection.sendall(b'hello')
        if connection.recv(5) == b'hello':
            print('answered')


def hold(address, port, path, source_port='0'):
    with socket.create_connection((address, int(port)), 20,
                                  ('', int(source_port))) as connection:
        print('connected from', connection.getsockname()[1], flush=True)
        while not os.path.exists(path):
            time.sleep(.05)
        word = os.urandom(8)
        connection.sendall(word)
        if connection.recv(8) == word:
            print('answered')


def connect(address, port):
    start = time.monotonic()
    try:
        socket.create_connection((address, int(port)), 30).close()
        result = 'connected'
    except OSError as e:
        result = errno.errorcode.get(e.errno, 'ETIMEDOUT')
    print(result, int(time.monotonic() - start))


{'echo': echo, 'idle': idle, 'hold': hold,
 'connect': connect}[sys.argv[1]](*sys.argv[2:])
