"""What runs in the database's pods: `migrate`, `serve`, and `backup FILE`."""

import hmac
import json
import os
import pathlib
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATA = pathlib.Path(os.environ.get("DATA", "/data"))
MIGRATIONS = pathlib.Path(__file__).parent / "migrations.json"


def connect():
    database = sqlite3.connect(DATA / "database.sqlite", timeout=30, isolation_level=None)
    # Readers go on while a migration writes.
    database.execute("PRAGMA journal_mode = WAL")
    return database


def migrate():
    """Carries out the statements that are new: all of them or none. SQLite's own `user_version` counts them."""
    statements = json.loads(MIGRATIONS.read_text())
    database = connect()
    database.execute("BEGIN EXCLUSIVE")
    (done,) = database.execute("PRAGMA user_version").fetchone()
    for statement in statements[done:]:
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {max(done, len(statements)):d}")
    database.execute("COMMIT")
    print(f"{len(statements[done:])} migrations")


def backup(file):
    folder = DATA / "backups"
    folder.mkdir(exist_ok=True)
    # A backup that was interrupted is never taken for a whole one.
    part = folder / f"{file}.part"
    part.unlink(missing_ok=True)
    copy = sqlite3.connect(part)
    connect().backup(copy)
    copy.close()
    part.rename(folder / file)


class Handler(BaseHTTPRequestHandler):
    """`POST /` with one SQL statement and its parameters: `["SELECT * FROM t WHERE id = ?", 1]`."""

    def do_GET(self):
        self.answer(200 if self.path == "/ready" else 404, {})

    def do_POST(self):
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {os.environ['PASSWORD']}".encode()):
            return self.answer(401, {"error": "wrong password"})
        try:
            statement, *parameters = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(200, {"rows": connect().execute(statement, parameters).fetchall()})
        except (ValueError, sqlite3.Error) as error:
            self.answer(400, {"error": str(error)})

    def answer(self, status, content):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())


def serve():
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()


if __name__ == "__main__":
    {"migrate": migrate, "serve": serve, "backup": backup}[sys.argv[1]](*sys.argv[2:])
