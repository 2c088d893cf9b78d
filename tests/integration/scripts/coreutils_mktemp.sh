# Temporary names: each form is created, its shape checked, then moved to a name to compare.
keep() { # keep NAME PATTERN TARGET
    case $1 in
        $2) echo "$3: $2 $(stat -c '%a %s %F' "$1")" && mv "$1" "$3" ;;
        *) echo "$3: unexpected name $1" ;;
    esac
}
any='[A-Za-z0-9]'
keep "$(mktemp)" "$TMPDIR/tmp.$any$any$any$any$any$any$any$any$any$any" default
keep "$(mktemp here.XXXXXX)" "here.$any$any$any$any$any$any" relative
keep "$(mktemp "$PWD/here.XXXXXXXXXXXXXXX")" "$PWD/here.*" absolute
keep "$(mktemp --suffix=.h5 XXXXXX)" "$any$any$any$any$any$any.h5" suffix
keep "$(mktemp -p home XXX)" "home/$any$any$any" short
keep "$(mktemp -t name.XXXX)" "$TMPDIR/name.$any$any$any$any" in_tmpdir
keep "$(mktemp -d)" "$TMPDIR/tmp.*" directory
mktemp -u here.XXXXXX >/dev/null
mktemp XX 2>&1 || echo "too few: $?"
mktemp missing/XXXXXX 2>/dev/null || echo "no directory: $?"
mktemp -q missing/XXXXXX || echo "quiet: $?"
for i in {1..300}; do mktemp many.XXXXXX; done | sort -u | wc -l
rm many.*
perl -MFile::Temp=tempfile -e '
    my ($h, $name) = tempfile("perlXXXXXXXX", SUFFIX => ".dat", UNLINK => 0);
    print $h "text"; close $h; rename $name, "from_perl";
    my $object = File::Temp->new(TEMPLATE => "objXXXXXX", DIR => ".");
    print $object "gone at the end";
'
/usr/bin/python3 - <<'END'
import os, tempfile
fd, name = tempfile.mkstemp(suffix=".x", dir=".")
os.write(fd, b"text")
print(oct(os.fstat(fd).st_mode), os.get_inheritable(fd))
os.rename(name, "from_python")
with tempfile.NamedTemporaryFile(dir="."), tempfile.TemporaryFile(dir=".") as unnamed:
    unnamed.write(b"no name")
    unnamed.flush()
    print(os.fstat(unnamed.fileno()).st_nlink)
END
