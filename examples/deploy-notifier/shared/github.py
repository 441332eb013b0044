"""The calls of GitHub's REST API that these operators make."""

import json
import os
import re
import urllib.error
import urllib.request

API = os.environ.get("GITHUB_API", "https://api.github.com")
TIMEOUT_SECONDS = 10


class Refused(Exception):
    """GitHub did not do it."""

    def __init__(self, status, message, retry_after=None):
        super().__init__(f"GitHub answered {status}: {message}")
        self.status = status
        self.retry_after = retry_after


def call(method, path, body=None):
    """One request. Returns the answer, and the path of its next page or None."""
    request = urllib.request.Request(
        API + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Content-Type": "application/json",
            "User-Agent": "deploy-notifier",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            following = re.search(r'<([^>]+)>; rel="next"', response.headers.get("Link", ""))
            return json.load(response), following and following[1].removeprefix(API)
    except urllib.error.HTTPError as error:
        wait = error.headers.get("Retry-After")
        raise Refused(error.code, path, int(wait) if wait and wait.isdigit() else None) from None


def pages(path, key=None):
    """The items of a list, page after page. With a key the list is a field of the answer."""
    while path:
        answer, path = call("GET", path)
        yield from answer[key] if key else answer


def comment_once(repository, number, mark, text):
    """Comments, unless a comment with this mark exists: a run that was killed after its comment finds it here."""
    mark = f"<!-- {mark} -->"
    comments = f"/repos/{repository}/issues/{number}/comments"
    if any(mark in (comment["body"] or "") for comment in pages(f"{comments}?per_page=100")):
        return False
    call("POST", comments, {"body": f"{text}\n\n{mark}"})
    return True
