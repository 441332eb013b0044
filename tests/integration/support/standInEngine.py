"""A stand-in for docker: python3 standInEngine.py ARGUMENT...

It notes each command, one line of JSON, in the file that DOCKER_STAND_IN names. For "run" it becomes the program, on this machine:
with the mounted folders where they are, and with nothing of the environment but what the options pass on.
"""

import json
import os
import sys

WITH_VALUE = ["--name", "--label", "--user", "--tmpfs", "--cap-drop", "--security-opt", "--pull", "--network"]

words = sys.argv[1:]
with open(os.environ["DOCKER_STAND_IN"], "a") as log:
    log.write(json.dumps(words) + "\n")
if words[0] != "run":
    sys.exit(0)

mounts, env, entrypoint, folder = {}, {"PATH": os.environ["PATH"]}, None, None
position = 1
while words[position].startswith("--"):
    option, value = words[position], words[position + 1]
    if option in ["--rm", "--interactive", "--init", "--read-only"]:
        position += 1
        continue
    if option == "--mount":
        fields = dict(field.split("=", 1) for field in value.split(",") if "=" in field)
        mounts[fields["target"]] = fields["source"]
    elif option == "--env":
        name, _, text = value.partition("=")
        env[name] = text if "=" in value else os.environ[name]
    elif option == "--entrypoint":
        entrypoint = value
    elif option == "--workdir":
        folder = value
    elif option not in WITH_VALUE:
        sys.exit(f"{option} is not an option of the stand-in")
    position += 2


def here(text):
    """A path in the container, or a word with one, as a path of this machine."""
    for target, source in mounts.items():
        text = text.replace(target, source)
    return text


os.chdir(here(folder))
# The program that only the image has.
program = "python3" if entrypoint == "only-in-image" else entrypoint
arguments = [here(word) for word in words[position + 1 :]]
os.execvpe(program, [program, *arguments], {name: here(value) for name, value in env.items()})
