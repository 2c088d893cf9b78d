# rsync: .name.XXXXXX, then rename; in place; partial; over a pipe; deletions; hard links.
mkdir -p from/sub
seq 20000 >from/numbers
echo small >from/sub/small && chmod 600 from/sub/small
ln from/numbers from/sub/hard && ln -s small from/sub/soft && mkfifo from/pipe
truncate -s 1M from/hole && printf x >>from/hole
rsync -a from/ to/
rsync -aH --sparse from/ hard/
seq 10 20010 >from/numbers
rsync -a --no-whole-file from/ to/
rsync -a --inplace --no-whole-file from/ hard/
rsync -a --temp-dir="$TMPDIR" --delay-updates from/ delayed/
rsync -rlp --chmod=F640 from/ modes/
rsync -a --backup --suffix=.old --link-dest="$PWD/to" from/ linked/
rm from/sub/small && rsync -aO --delete --itemize-changes from/ to/ | sort
rsync -a --append-verify from/ hard/
rsync -a --partial --partial-dir=.partial from/ partial/
rsync -a --existing --ignore-existing from/ empty/
rsync -a missing/ nowhere/ 2>/dev/null || echo "missing: $?"
rsync --list-only from/ | awk '{print $1, $2, $5}'
