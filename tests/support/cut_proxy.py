# SPDX-License-Identifier: Apache-2.0
"""A network on loopback that can be cut: TCP connections to a port are passed on to another one."""
import contextlib
import socket
import struct
import threading

BLOCK = 1 << 16


class CutProxy:
    """Passes on connections until it is told when to cut them. Threads end with the process."""

    def __init__(self, port, target):
        self.target = target
        self.lock = threading.Lock()
        self.left = None  # bytes until the cut, both ways; None: no cut
        self.reset = False
        self.stays_down = False
        self.down = False
        self.cuts = 0
        self.sockets = set()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def cut_after(self, count, reset=False, stays_down=False):
        """Cuts all connections once so many bytes more have passed: with RST, or with FIN. Then no
        new ones are let through, if it stays down."""
        with self.lock:
            self.left, self.reset, self.stays_down = count, reset, stays_down

    def mend(self):
        with self.lock:
            self.left, self.down = None, False

    # ---- threads ----

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            with self.lock:
                down = self.down
            try:
                if down:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.sockets |= {client, server}
            both = {client, server}
            ended = []
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(*ends, both, ended), daemon=True).start()

    def pump(self, source, sink, both, ended):
        """One direction of a connection; who ends last closes it."""
        broken = False
        try:
            while block := source.recv(BLOCK):
                self.pass_on(block, sink)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            broken = True
        with self.lock:
            ended.append(source)
            last = broken or len(ended) == 2
        if last:
            self.close(both)

    def pass_on(self, block, sink):
        with self.lock:
            cut = self.left is not None and len(block) >= self.left
            if cut:
                block = block[:self.left]
            elif self.left is not None:
                self.left -= len(block)
        sink.sendall(block)
        if cut:
            self.cut()

    def close(self, ends, how=socket.SHUT_RDWR):
        for end in ends:
            # Wakes who waits for it.
            with contextlib.suppress(OSError):
                end.shutdown(how)
            end.close()
        with self.lock:
            self.sockets -= ends

    def cut(self):
        with self.lock:
            if self.left is None:
                return
            self.left = None
            self.cuts += 1
            self.down = self.stays_down
            ends, self.sockets = self.sockets, set()
            reset = self.reset
        if reset:
            for end in ends:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # What says good-bye is not reset.
        self.close(ends, socket.SHUT_RD if reset else socket.SHUT_RDWR)
