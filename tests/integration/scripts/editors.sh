# sed -i, perl -i, ed, vim, patch, awk: programs that replace a file by renaming another over it.
# varying: home/.viminfo
seq 100 >numbers && cp numbers kept && chmod 640 numbers
sed -i 's/5/five/' numbers
sed -i.bak '1d' numbers
ln -s numbers link && sed -i --follow-symlinks '2d' link
sed -n 'w written' numbers && sed -n '/1/w matched
/2/w other' numbers
perl -i.orig -pe 's/7/seven/' numbers
perl -pi -e 'tr/a-z/A-Z/' kept
awk '{ print > ("by_" ($1 % 3)) ; print >> "all" }' kept
ed -s numbers <<END
1,3d
\$a
the end
.
w
w another
q
END
vim -u NONE -es -c 'set nocp backup writebackup' -c '%s/8/eight/' -c w -c 'w! copy' -c q numbers
vim -u NONE -es -c 'set backupcopy=yes nobackup' -c '1d' -c 'wq' copy
diff -u --label old --label new kept numbers >change.patch || true
cp kept patched && patch -s -b patched change.patch
patch -s -R patched change.patch
patch -s -o reverted kept change.patch
patch -s --dry-run kept <change.patch
echo garbage >>kept && patch -s -f kept <<'END' || echo "rejected: $?"
--- kept
+++ kept
@@ -1,2 +1,2 @@
-not there
+at all
 2
END
for i in {1..30}; do
    echo "$i" >chain.tmp && mv chain.tmp chain && ln -f chain "chain.$((i % 3))"
done
