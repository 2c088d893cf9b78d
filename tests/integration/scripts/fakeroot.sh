# fakeroot: a preload library of its own, put in front of ours, and ownership that is not there.
# varying: state
fakeroot -s state -- sh -eu <<'END'
echo text >file
chown 12:34 file && chmod 4755 file
mknod device c 1 3
mkdir folder && chown 5:6 folder && cp -a file folder/copy
stat -c '%n %u %g %a %F' file device folder folder/copy
tar --numeric-owner --sort=name --mtime=@0 -cf archive.tar file folder
tar --numeric-owner -tvf archive.tar
mktemp temp.XXXXXX | wc -c && rm temp.*
END
fakeroot -i state -- stat -c '%n %u %g %a' file
rm device
