# SPDX-License-Identifier: Apache-2.0
"""
An LFS server on the loopback that only gives out objects, and costs as little as possible.

A benchmark of clones must not measure the server, so files go to the socket without passing
through this process.
"""

import http.server
import json
import os
import re
import select
import signal
import threading

MEDIA = "application/vnd.git-lfs+json"
OID = re.compile(r"[0-9a-f]{64}\Z")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def object_size(self, oid):
        """Bytes of an object, or None if there is none of that name."""
        try:
            return os.stat(os.path.join(self.server.folder, oid)).st_size
        except FileNotFoundError:
            return None

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", MEDIA)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/objects/batch" or request["operation"] != "download":
            self.answer(404, {"message": "this server only gives out objects"})
            return
        objects = []
        for wanted in request["objects"]:
            oid = wanted["oid"]
            described = {"oid": oid, "size": wanted["size"]}
            if OID.match(oid) and self.object_size(oid) == wanted["size"]:
                href = f"{self.server.url}/{oid}"
                described["actions"] = {"download": {"href": href}}
            else:
                described["error"] = {"code": 404, "message": "object does not exist"}
            objects.append(described)
        self.answer(200, {"transfer": "basic", "objects": objects})

    def do_GET(self):
        oid = self.path.lstrip("/")
        size = self.object_size(oid) if OID.match(oid) else None
        if size is None or "Range" in self.headers:
            self.answer(404, {"message": "no such object, or only a part of it"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        with open(os.path.join(self.server.folder, oid), "rb") as content:
            self.connection.sendfile(content)


class LfsServer(http.server.ThreadingHTTPServer):
    """Serves the files of a folder, which are named by their SHA-256, from a child process."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # a client that went away says so itself

    def start(self):
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                threading.Thread(target=end_with, args=(parent,), daemon=True).start()
                self.serve_forever()
            finally:
                os._exit(0)

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        self.server_close()


def end_with(parent):
    """Ends this process when its parent does, even if that is killed."""
    try:
        handle = os.pidfd_open(parent)
        select.select([handle], [], [])
    finally:
        os._exit(0)
