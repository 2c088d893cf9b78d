# dd, tee, split, csplit, sort, truncate, touch, shred: who creates, appends, truncates.
# unplaced: unpreloaded
seq 5000 >numbers
dd if=numbers of=copied bs=4k status=none
dd if=numbers of=copied bs=1k count=2 conv=notrunc oflag=append status=none
dd if=numbers of=fresh bs=1k count=3 conv=excl status=none
dd if=numbers of=fresh bs=1k conv=excl status=none || echo "excl: $?"
dd if=numbers of=absent conv=nocreat status=none || echo "nocreat: $?"
dd if=/dev/zero of=direct bs=4096 count=4 oflag=direct status=none
dd if=/dev/zero of=synced bs=512 count=4 oflag=sync,nofollow conv=fsync status=none
dd if=/dev/zero of=ahead bs=1 count=0 seek=1M status=none
tee first second <numbers >third
tee -a first <numbers >/dev/null
split -l 700 -d numbers part.
split -n 3 -a 3 --additional-suffix=.txt numbers chunk.
split -l 1000 --filter='gzip -n >$FILE.gz' numbers packed.
csplit -s -f piece. numbers 1000 2000
sort -o numbers -r numbers
sort -S 32K -T "$TMPDIR" --parallel=2 -n -o sorted numbers third second
shuf --random-source=numbers -o shuffled numbers
truncate -s 10K short
truncate -s -1K short
truncate -c -s 1M never_made
truncate -r numbers -s +7 referred
touch new -d 2020-02-02
touch -c not_made
touch -r new numbers
echo secret >shredded && cp shredded shredded_kept
shred -n 1 -z shredded_kept
shred -u -n 1 shredded
yes | head -c 100000 >ended_by_a_signal
nl numbers | uniq | tac | fold -w 3 | pr -t >piped
base64 numbers >encoded && base64 -d encoded >decoded
sha256sum numbers sorted >sums && sha256sum -c --quiet sums
comm -12 <(sort numbers) <(sort sorted) >common
env -i PATH="$PATH" tee unpreloaded </dev/null
nohup true >nohupped 2>&1
timeout 5 tee timed <numbers >/dev/null
stdbuf -oL tee buffered <numbers >/dev/null
mkfifo pipe
(cat pipe >read_from_pipe) & tee pipe <numbers >/dev/null
wait
