# Python: every mode of open(), os.open with dir_fd, shelve, zipfile, logging, multiprocessing.
# unplaced: from_tmpfile
/usr/bin/python3 - <<'END'
import concurrent.futures, dbm.dumb, io, logging, mmap, os, shutil, subprocess, zipfile
from pathlib import Path
for mode in ("w", "x", "a", "wb", "xb", "ab", "w+", "x+b", "a+"):
    name = f"mode_{mode}"
    for attempt in (1, 2):
        try:
            with open(name, mode) as file:
                file.write("text" if "b" not in mode else b"bytes")
                print(mode, attempt, file.fileno(), os.get_inheritable(file.fileno()))
        except OSError as error:
            print(mode, attempt, type(error).__name__, error.errno)
folder = os.open("home", os.O_RDONLY | os.O_DIRECTORY)
fd = os.open("relative", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640, dir_fd=folder)
os.write(fd, b"x")
print(sorted(os.listdir(folder)), oct(os.fstat(fd).st_mode))
open("opened", "w", opener=lambda path, flags: os.open(path, flags, 0o600, dir_fd=folder)).close()
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b"linked in later")
subprocess.run(["ln", "-L", f"/proc/self/fd/{fd}", "from_tmpfile"], pass_fds=[fd], check=True)
print(oct(os.stat("from_tmpfile").st_mode))
for path in ("missing/x", "home", "mode_w/x", "n" * 300, "a\0b", ""):
    try:
        open(path, "w")
    except (OSError, ValueError) as error:
        print(type(error).__name__, getattr(error, "errno", None))
with open("mapped", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[4096:4101] = b"hello"
with zipfile.ZipFile("archive.zip", "w") as archive:
    archive.writestr(zipfile.ZipInfo("member"), "text")
zipfile.ZipFile("archive.zip").extractall("home/zip")
with dbm.dumb.open("dumb", "n") as database:
    database["key"] = "value"
logging.basicConfig(filename="log", format="%(message)s")
logging.warning("a line")
shutil.copytree("home", "home_copy")
shutil.make_archive("packed", "gztar", "home")
os.unlink("packed.tar.gz")
Path("touched").touch(mode=0o604, exist_ok=False)
subprocess.run(["sh", "-c", "echo child >child; ls -l /proc/self/fd | wc -l"], check=True)
with open("inherited", "w") as file:
    subprocess.run(["echo", "through a descriptor"], stdout=file, check=True)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda i: Path(f"thread_{i}").write_text(str(i)), range(64)))
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    paths = [Path(f"process_{i}") for i in range(16)]
    print(sum(pool.map(Path.write_bytes, paths, [b"x"] * 16)))
os.umask(0o077)
io.open("private", "w").close()
os.chdir("home")
shutil.rmtree("../home_copy")
Path("../above").write_text("x")
END
echo 'x = 1' >m.py && touch -d 2020-01-01 m.py
/usr/bin/python3 -c 'import sys; sys.path.insert(0, "."); import m'
ls __pycache__
