#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small Git LFS server for what no real server does on demand: faults.

usage: lfs_fixture.py --port N [--auth USER:PASSWORD] [--parts BYTES [--parts-download]] DIR

With --parts it does as model hubs do with objects over 5 GB: a client that knows the transfer
"multipart" is given that for uploads of more than BYTES bytes: a signed URL for each part of BYTES,
and one for the completion, {"oid", "parts": [{"partNumber", "etag"}]}. With --parts-download
downloads of such objects are of that transfer, too.

Objects lie in DIR/objects/OID. DIR/log gets a line for each request and for each fault made.
Without faults it keeps to the LFS API strictly: it checks headers and bodies, verifies size and
SHA-256 of what it takes, and answers 404 or 422 object by object.

Faults are lines of DIR/faults, "KIND COUNT [VALUE]"; each use lowers COUNT, and a line at 0 is
dropped, so that an empty file means that all of them have happened:

  download-fin N BYTES    end a download after BYTES bytes, in good order
  download-rst N BYTES    reset the connection after BYTES bytes
  download-pause N BYTES  wait for a second after BYTES bytes of a download, and go on
  download-flip N OFFSET  one wrong bit in the byte at OFFSET
  download-503 N          answer 503 to a download
  download-429 N SECONDS  answer 429 with Retry-After
  download-404 N          answer 404 to a download
  download-elsewhere N    answer 302 to a download: with a signed URL of another host, which takes
                          no other credentials
  missing N               say in the batch answer that the object does not exist
  expired N               give out a download action that has expired, and refuse it
  batch-503 N             answer 503 to a batch request
  upload-cut N BYTES      close the connection after BYTES bytes of an upload
  verify-500 N            answer 500 to a verify request
  part-503 N              answer 503 to an upload of a part, after having read it
  part-429 N SECONDS      answer 429 with Retry-After to an upload of a part
  part-cut N BYTES        close the connection after BYTES bytes of a part
  part-pause N SECONDS    wait before answering an upload of a part
  part-etag N             give the part another ETag than its own
  part-no-etag N          give it none
  parts-expired N         hand out URLs of parts that have expired
  parts-few N             hand out one URL too few
  complete-503 N          answer 503 to a completion
  complete-400 N          refuse a completion
"""
import argparse
import base64
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import struct
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEDIA = "application/vnd.git-lfs+json"
BLOCK = 1 << 16
OID = re.compile(r"[0-9a-f]{64}\Z")


class Store:
    """Objects, the log and the faults of one directory."""

    def __init__(self, top):
        self.objects = os.path.join(top, "objects")
        self.faults_path = os.path.join(top, "faults")
        self.log_path = os.path.join(top, "log")
        self.uploads = os.path.join(top, "uploads")  # incomplete ones: a directory for each
        self.lock = threading.Lock()
        os.makedirs(self.objects, exist_ok=True)

    def new_upload(self):
        """The name of a new upload in parts. Nobody can guess it: it is the signature of URLs."""
        name = secrets.token_hex(16)
        os.makedirs(os.path.join(self.uploads, name))
        return name

    def part_path(self, name, number):
        return os.path.join(self.uploads, name, str(number))

    def path(self, oid):
        return os.path.join(self.objects, oid)

    def size(self, oid):
        """Bytes of an object, or None if it is not here."""
        try:
            return os.stat(self.path(oid)).st_size
        except FileNotFoundError:
            return None

    def log(self, line):
        with self.lock, open(self.log_path, "a") as log:
            log.write(line + "\n")

    def fault(self, kind):
        """Uses up one fault of this kind: its value, or None if there is none to make."""
        with self.lock:
            try:
                with open(self.faults_path) as faults:
                    lines = [line.split() for line in faults if line.strip()]
            except FileNotFoundError:
                return None
            line = next((line for line in lines if line[0] == kind), None)
            if line is None:
                return None
            line[1] = str(int(line[1]) - 1)
            lines = [line for line in lines if int(line[1]) > 0]
            temporary = self.faults_path + ".new"
            with open(temporary, "w") as faults:
                faults.writelines(" ".join(line) + "\n" for line in lines)
            os.rename(temporary, self.faults_path)
            with open(self.log_path, "a") as log:
                log.write("fault " + kind + "\n")
            return int(line[2]) if len(line) > 2 else 0


class Refused(Exception):
    """An answer that is an error: status, message, further headers."""

    def __init__(self, status, message, headers=None):
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None
    auth = None
    part_size = None
    parts_download = False

    def log_message(self, format, *args):
        pass

    # ---- dispatch ----

    def do_GET(self):
        self.handle_request()

    do_HEAD = do_PUT = do_POST = do_GET

    def handle_request(self):
        self.store.log(self.command + " " + self.path + " " + self.headers.get("Range", "-"))
        self.body_taken = False
        try:
            self.check_credentials()
            name, argument = self.route()
            name(argument)
        except Refused as refusal:
            if not self.body_taken:
                self.drop_body()  # else it would be read as the next request
            self.answer_json(refusal.status, {"message": refusal.message}, refusal.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def route(self):
        parts = self.path.split("?")[0].strip("/").split("/")
        if self.command == "POST" and parts == ["lfs", "objects", "batch"]:
            return self.batch, None
        if self.command == "POST" and parts == ["verify"]:
            return self.verify, None
        if parts[0] == "objects" and len(parts) == 2 and OID.match(parts[1]):
            if self.command == "PUT":
                return self.upload, parts[1]
            if self.command in ("GET", "HEAD"):
                return self.download, parts[1]
        if self.command == "PUT" and parts[0] == "parts" and len(parts) == 2:
            return self.upload_part, int(parts[1])
        if self.command == "POST" and parts[0] == "complete" and len(parts) == 2:
            return self.complete, parts[1]
        raise Refused(404, "no such resource")  # also the lock API, which means: no locking here

    def check_credentials(self):
        if self.auth is None or "signature=" in self.path:
            return
        wanted = "Basic " + base64.b64encode(self.auth.encode()).decode()
        if self.headers.get("Authorization") == wanted:
            return
        challenge = 'Basic realm="fixture"'
        raise Refused(401, "credentials needed",
                      {"LFS-Authenticate": challenge, "WWW-Authenticate": challenge})

    # ---- bodies ----

    def body_blocks(self):
        """The body's bytes, of known length or chunked."""
        self.body_taken = True
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            yield from self.chunks()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            block = self.rfile.read(min(left, BLOCK))
            if not block:
                raise ConnectionResetError
            left -= len(block)
            yield block

    def chunks(self):
        while True:
            left = int(self.rfile.readline().split(b";")[0], 16)
            if left == 0:
                while self.rfile.readline().strip():
                    pass
                return
            while left > 0:
                block = self.rfile.read(min(left, BLOCK))
                if not block:
                    raise ConnectionResetError
                left -= len(block)
                yield block
            self.rfile.readline()

    def drop_body(self):
        for _ in self.body_blocks():
            pass

    def body_json(self):
        body = b"".join(self.body_blocks())
        if self.headers.get("Content-Type", "").split(";")[0] != MEDIA:
            raise Refused(422, "Content-Type must be " + MEDIA)
        if MEDIA not in self.headers.get("Accept", ""):
            raise Refused(406, "Accept must name " + MEDIA)
        try:
            value = json.loads(body)
        except ValueError:
            raise Refused(400, "body is not JSON") from None
        if not isinstance(value, dict):
            raise Refused(422, "body is no object")
        return value

    def answer_json(self, status, value, headers=None):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", MEDIA)
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # ---- the batch API ----

    def batch(self, _):
        request = self.body_json()
        if self.store.fault("batch-503") is not None:
            raise Refused(503, "try later")
        operation = request.get("operation")
        if operation not in ("download", "upload"):
            raise Refused(422, "operation must be download or upload")
        if "basic" not in request.get("transfers", ["basic"]):
            raise Refused(422, "no transfer in common")
        if request.get("hash_algo", "sha256") != "sha256":
            raise Refused(409, "only sha256")
        in_parts = self.in_parts(operation, request)
        objects = [self.batch_object(operation, wanted, in_parts)
                   for wanted in request.get("objects", [])]
        self.answer_json(200, {"transfer": "multipart" if in_parts else "basic",
                               "objects": objects, "hash_algo": "sha256"})

    def in_parts(self, operation, request):
        """Whether to choose the transfer "multipart", which is for all objects of a request."""
        return (self.part_size is not None and "multipart" in request.get("transfers", []) and
                (operation == "upload" or self.parts_download) and
                any(wanted.get("size", 0) > self.part_size for wanted in request["objects"]))

    def batch_object(self, operation, wanted, in_parts):
        oid, size = wanted.get("oid"), wanted.get("size")
        answer = {"oid": oid, "size": size}
        if not isinstance(oid, str) or not OID.match(oid) or not isinstance(size, int) or size < 0:
            answer["error"] = {"code": 422, "message": "not an object id and size"}
            return answer
        have = self.store.size(oid)
        if have is not None and have != size:
            answer["error"] = {"code": 422, "message": "this object has another size"}
        elif operation == "upload":
            if have is None and in_parts and size > self.part_size:
                answer["actions"] = self.part_actions(size)
            elif have is None:
                answer["actions"] = self.upload_actions(oid)
                if in_parts:
                    self.grant(answer["actions"]["upload"])
        elif have is None or self.store.fault("missing") is not None:
            answer["error"] = {"code": 404, "message": "object does not exist"}
        else:
            answer["actions"] = {"download": self.download_action(oid)}
            if in_parts:
                self.grant(answer["actions"]["download"])
        if self.auth is not None:
            answer["authenticated"] = False
        return answer

    def base(self):
        return "http://" + self.headers["Host"]

    def upload_actions(self, oid):
        return {"upload": {"href": self.base() + "/objects/" + oid},
                "verify": {"href": self.base() + "/verify"}}

    def grant(self, action):
        """Lets an agent, which has no credentials of its own, do what an action says."""
        if self.auth is not None:
            action["header"] = {"Authorization": self.headers["Authorization"]}

    def part_actions(self, size):
        """As model hubs write them: all in the header, numbers with zeros before them."""
        expired = self.store.fault("parts-expired") is not None
        signature = self.store.new_upload() if not expired else "0" * 32
        count = -(-size // self.part_size)
        if self.store.fault("parts-few") is not None:
            count -= 1
        header = {"chunk_size": str(self.part_size)}
        for number in range(1, count + 1):
            header[f"{number:05}"] = f"{self.base()}/parts/{number}?signature={signature}"
        return {"upload": {"href": f"{self.base()}/complete/{count}?signature={signature}",
                           "header": header},
                "verify": {"href": self.base() + "/verify"}}

    def download_action(self, oid):
        if self.store.fault("expired") is None:
            return {"href": self.base() + "/objects/" + oid}
        past = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
        return {"href": self.base() + "/objects/" + oid + "?expired", "expires_at": past}

    def verify(self, _):
        request = self.body_json()
        if self.store.fault("verify-500") is not None:
            raise Refused(500, "cannot verify")
        have = self.store.size(str(request.get("oid")))
        if have is None:
            raise Refused(404, "object does not exist")
        if have != request.get("size"):
            raise Refused(422, "this object has another size")
        self.answer_json(200, {})

    # ---- uploads in parts ----

    def signature(self):
        """The upload that a signed URL is for."""
        match = re.search(r"\?signature=([0-9a-f]{32})\Z", self.path)
        self.refuse_credentials()
        if not match or not os.path.isdir(os.path.join(self.store.uploads, match[1])):
            raise Refused(403, "Request has expired")
        return match[1]

    def refuse_credentials(self):
        if "Authorization" in self.headers:
            raise Refused(400, "a signed URL takes no other credentials")

    def upload_part(self, number):
        path = self.store.part_path(self.signature(), number)
        cut = self.store.fault("part-cut")
        content = bytearray()
        for block in self.body_blocks():
            content += block
            if cut is not None and len(content) >= cut:
                self.close_connection = True
                return
        seconds = self.store.fault("part-pause")
        if seconds is not None:
            time.sleep(seconds)
        if self.store.fault("part-503") is not None:
            raise Refused(503, "SlowDown")
        seconds = self.store.fault("part-429")
        if seconds is not None:
            raise Refused(429, "too many requests", {"Retry-After": str(seconds)})
        with open(path, "wb") as part:
            part.write(content)
        self.send_response(200)
        if self.store.fault("part-no-etag") is None:
            wrong = self.store.fault("part-etag") is not None
            self.send_header("ETag", self.etag(b"another" if wrong else content))
        self.send_header("Content-Length", "0")
        self.end_headers()

    @staticmethod
    def etag(content):
        return '"' + hashlib.md5(content).hexdigest() + '"'

    def complete(self, count):
        name = self.signature()
        request = self.body_json()
        if self.store.fault("complete-503") is not None:
            raise Refused(503, "try later")
        if self.store.fault("complete-400") is not None:
            raise Refused(400, "the parts do not please me")
        content = bytearray()
        numbers = [part.get("partNumber") for part in request.get("parts", [])]
        if numbers != list(range(1, int(count) + 1)):
            raise Refused(400, "not all parts, one after the other")
        for part in request["parts"]:
            try:
                with open(self.store.part_path(name, part["partNumber"]), "rb") as file:
                    bytes_of_part = file.read()
            except FileNotFoundError:
                raise Refused(400, "a part is missing") from None
            if part.get("etag") != self.etag(bytes_of_part):
                raise Refused(400, "a part has another ETag")
            content += bytes_of_part
        if hashlib.sha256(content).hexdigest() != request.get("oid"):
            raise Refused(400, "content does not have this SHA-256")
        self.store_object(request["oid"], content)
        shutil.rmtree(os.path.join(self.store.uploads, name))
        self.answer_json(200, {})

    def store_object(self, oid, content):
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.store.objects))
        with os.fdopen(handle, "wb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        os.rename(temporary, self.store.path(oid))
        self.store.log("stored " + oid)

    # ---- objects ----

    def upload(self, oid):
        cut = self.store.fault("upload-cut")
        digest, size = hashlib.sha256(), 0
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.store.objects))
        try:
            with os.fdopen(handle, "wb") as new:
                for block in self.body_blocks():
                    digest.update(block)
                    size += len(block)
                    new.write(block)
                    if cut is not None and size >= cut:
                        self.close_connection = True
                        return
                new.flush()
                os.fsync(new.fileno())
            if digest.hexdigest() != oid:
                raise Refused(400, "content does not have this SHA-256")
            os.rename(temporary, self.store.path(oid))
            temporary = None
            self.store.log("stored " + oid)
        finally:
            if temporary is not None:
                os.unlink(temporary)
        self.answer_json(200, {})

    def download(self, oid):
        self.download_refusals()
        size = self.store.size(oid)
        if size is None or self.store.fault("download-404") is not None:
            raise Refused(404, "object does not exist")
        begin, end = self.wanted_range(size)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Accept-Ranges", "bytes")
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.end_headers()
        if self.command == "GET":
            self.send_object(oid, begin, end)

    def download_refusals(self):
        if self.path.endswith("?signature=elsewhere"):
            self.refuse_credentials()
        elif self.store.fault("download-elsewhere") is not None:
            host = self.headers["Host"].replace("127.0.0.1", "localhost")
            raise Refused(302, "it is over there", {
                "Location": f"http://{host}{self.path}?signature=elsewhere"})
        if self.path.endswith("?expired"):
            raise Refused(403, "this action has expired")
        if self.store.fault("download-503") is not None:
            raise Refused(503, "try later")
        seconds = self.store.fault("download-429")
        if seconds is not None:
            raise Refused(429, "too many requests", {"Retry-After": str(seconds)})

    def wanted_range(self, size):
        if "Range" not in self.headers:
            return 0, size
        match = re.match(r"bytes=(\d+)-(\d*)\Z", self.headers["Range"])
        if not match or int(match[1]) >= size:
            raise Refused(416, "range out of the object", {"Content-Range": f"bytes */{size}"})
        last = int(match[2]) if match[2] else size - 1
        return int(match[1]), min(last, size - 1) + 1

    def send_object(self, oid, begin, end):
        with open(self.store.path(oid), "rb") as content:
            content.seek(begin)
            body = bytearray(content.read(end - begin))
        flip = self.store.fault("download-flip")
        if flip is not None and begin <= flip < end:
            body[flip - begin] ^= 0x10
        pause = self.store.fault("download-pause")
        if pause is not None:
            self.wfile.write(body[:pause])
            time.sleep(1)
            del body[:pause]
        fin = self.store.fault("download-fin")
        rst = None if fin is not None else self.store.fault("download-rst")
        cut = fin if fin is not None else rst
        self.wfile.write(body if cut is None else body[:cut])
        if cut is None:
            return
        self.wfile.flush()
        self.close_connection = True
        if rst is not None:
            # Closing with a linger time of zero resets the connection.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            os.close(self.connection.detach())


def main():
    parser = argparse.ArgumentParser(description="A Git LFS server that makes faults on demand.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--auth", metavar="USER:PASSWORD")
    parser.add_argument("--parts", type=int, metavar="BYTES")
    parser.add_argument("--parts-download", action="store_true")
    parser.add_argument("dir")
    options = parser.parse_args()
    Handler.store = Store(options.dir)
    Handler.auth = options.auth
    Handler.part_size = options.parts
    Handler.parts_download = options.parts_download
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
