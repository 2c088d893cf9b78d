# tar: create, append, extract over old files, sparse members, links, pipes.
# unplaced: */read_only */*/read_only
mkdir -p tree/sub
seq 3000 >tree/numbers
ln tree/numbers tree/sub/hard
ln -s ../numbers tree/sub/soft
mkfifo tree/pipe
echo read-only >tree/read_only && chmod 400 tree/read_only
echo group >tree/group && chmod 2775 tree/sub && chmod 660 tree/group
truncate -s 4M tree/hole && printf x | dd of=tree/hole bs=1 seek=2M conv=notrunc status=none
find tree -exec touch -h -d 2020-01-01 {} +
options=(--owner=0 --group=0 --numeric-owner --sort=name)
tar "${options[@]}" -cf plain.tar tree
tar "${options[@]}" -cSf sparse.tar tree
tar "${options[@]}" -czf packed.tgz tree
tar "${options[@]}" -cJf packed.txz tree/sub
tar "${options[@]}" --zstd -cf packed.tzst tree/sub
tar "${options[@]}" -rf plain.tar --transform='s/^/again_/' tree/group
tar -tvf plain.tar
for archive in plain.tar sparse.tar packed.tgz packed.txz packed.tzst; do
    mkdir "from_$archive"
    tar -xpf "$archive" -C "from_$archive"
done
tar -xf plain.tar -C from_sparse.tar
tar -xkf plain.tar -C from_sparse.tar 2>/dev/null || echo "keeps old files: $?"
tar -xf plain.tar -C from_sparse.tar --overwrite tree/numbers
tar -xf plain.tar -C from_sparse.tar --unlink-first tree/numbers
tar -xOf plain.tar tree/group >to_stdout
tar -cf - tree | (mkdir piped && cd piped && tar -xf -)
(umask 027 && mkdir with_umask && tar -xf plain.tar -C with_umask)
tar -cf own.tar tree && tar -df own.tar && rm own.tar
