# find, xargs, mkdir, rm, rename chains: many small creates and deletions, in parallel.
mkdir -p a/b/c
for i in {1..50}; do echo "$i" >"a/b/$i" && ln "a/b/$i" "a/b/c/link_$i"; done
find a -name '1*' -print0 | sort -z | xargs -0 -n 3 -P 2 cat | sort >ones
find a -links 2 -name 'link_2*' -delete
find a -type f -name '[3-4]*' -exec sh -c 'mv "$1" "$1.moved"' _ {} \;
find a -fprint listed -name '*.moved' -fprintf printed '%p %s %m\n'
sort -o listed listed && sort -o printed printed
find a/b/c -delete
rm -r a/b/1*
seq 200 | xargs -P 4 -I{} sh -c 'echo {} >"par_{}"'
cat par_* | sort -n >parallel && rm par_*
flock lock sh -c 'echo locked >under_lock'
(set -C && echo $$ >pid) && rm pid
mkdir -m 700 closed && touch closed/x && chmod 500 closed && ls closed && chmod 700 closed
tree_before=$(find . | sort | sha256sum)
cp -a a b && rm -r b
[ "$tree_before" = "$(find . | sort | sha256sum)" ] && echo unchanged
