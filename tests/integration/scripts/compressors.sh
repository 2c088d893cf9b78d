# gzip, bzip2, xz, zstd: output files with the mode of the input, inputs unlinked.
seq 50000 >numbers && touch -d 2020-01-01 numbers
for tool in gzip bzip2 xz zstd; do
    cp numbers "$tool.txt" && chmod 640 "$tool.txt" && touch -d 2020-01-01 "$tool.txt"
    $tool -k "$tool.txt" 2>/dev/null
    $tool -f "$tool.txt" 2>/dev/null
    $tool -c numbers >"to_stdout.$tool"
done
gunzip gzip.txt.gz && bunzip2 bzip2.txt.bz2 && unxz xz.txt.xz
zstd -q -d zstd.txt.zst -o zstd.out --sparse
zstd -q -T2 -19 numbers -o threads.zst
xz -T2 --block-size=64KiB -k numbers
cp -p numbers again && gzip again && cp -p numbers again
gzip again </dev/null 2>&1 || echo "exists: $?"
zstd -q numbers -o threads.zst </dev/null 2>&1 || echo "exists: $?"
