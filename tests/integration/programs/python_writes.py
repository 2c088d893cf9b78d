"""Writes files in the ways that Python has, in the current directory."""

import os
import shutil
import tempfile
from pathlib import Path

data = bytes(range(256)) * 500

with open("opened", "wb") as file:  # noqa: PTH123
    for at in range(0, len(data), 1000):
        file.write(data[at : at + 1000])
Path("text").write_text("é" * 3000, encoding="utf-8")
fd = os.open("raw", os.O_WRONLY | os.O_CREAT, 0o644)
os.pwrite(fd, data[:4096], 0)
os.writev(fd, [b"over", b"written"])
os.close(fd)

with open("opened", "rb") as source, open("sent", "wb") as target:  # noqa: PTH123
    left = len(data)
    while left:
        left -= os.sendfile(target.fileno(), source.fileno(), None, left)
shutil.copyfile("opened", "copied")
shutil.copy2("text", "copied2")

Path("replacing").write_bytes(data[:5000])
os.replace("replacing", "replaced")  # noqa: PTH105
with tempfile.NamedTemporaryFile(dir=".", delete=False) as temporary:
    temporary.write(data[:7000])
Path(temporary.name).rename("from_temporary")
