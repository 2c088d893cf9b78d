# cp, install, ln, mv: modes, links, sparse files, special files.
mkdir -p tree/sub/deep
seq 1000 >tree/numbers
chmod 640 tree/numbers
echo exe >tree/sub/program && chmod 4755 tree/sub/program
ln tree/numbers tree/sub/hard_link
ln -s ../numbers tree/sub/soft_link
mkfifo -m 622 tree/pipe
truncate -s 5M tree/hole
printf end | dd of=tree/hole bs=1 seek=3M conv=notrunc status=none
cp -a tree copy
cp -r --no-preserve=mode tree/sub plain_copy
cp --sparse=always tree/hole sparse
cp --sparse=never tree/hole full
cp --reflink=auto tree/numbers maybe_cloned
cp -l tree/numbers linked
cp -s "$PWD/tree/numbers" linked_softly
cp --backup=numbered tree/numbers maybe_cloned
cp -n tree/sub/program maybe_cloned || echo "not overwritten: $?"
cp --remove-destination tree/sub/program linked_softly
cp -f tree/numbers full
cp --parents tree/sub/deep/../../numbers home
cp -a tree/pipe home/pipe
cp tree missing/ 2>&1 || echo "cp: $?"
install -m 0755 tree/numbers home/installed
install -D -m 0600 tree/numbers home/a/b/c/installed
install -d -m 0700 home/folder
install -C tree/numbers home/installed
install -b -S .old tree/sub/program home/installed
ln -f tree/hole home/installed
mv home/a home/moved
mv -b tree/sub/program copy/numbers
mv -T copy renamed
mknod home/made p
stat -c '%n %a %h %F' tree/* renamed/* home/*
